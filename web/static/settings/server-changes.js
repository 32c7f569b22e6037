/** Requests that change the server, for pages on its own machine: download a model, start again, keep voices. */

import { noticeText, serverText, text } from "../texts/texts.js";
import { storedToken } from "../view/preferences.js";

const TIMEOUT_MS = 10_000;
const ASK_EVERY_MS = 500;
const RESTART_WITHIN_MS = 90_000;

/** An answer that is no success; `message` is for the user. */
export class ChangeError extends Error {
  constructor(message, code = "") {
    super(message);
    this.code = code;
  }
}

/** @returns {Promise<object[] | null>} the models; null if the server does not answer */
export async function fetchModels() {
  try {
    return (await (await ask("v1/repartee/models")).json()).models;
  } catch {
    return null;
  }
}

/**
 * Downloads a model; aborting the signal ends that, and what has arrived stays.
 * @param {(progress: {done_bytes: number, total_bytes: number}) => void} onProgress
 * @returns {Promise<{ready: string, restart: boolean, note: string}>}
 * @throws {ChangeError}
 */
export async function pullModel(name, signal, onProgress) {
  const answer = await ask("v1/repartee/models/pull", { name }, signal);
  const lines = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await lines.read();
    if (done) throw new ChangeError(text("models.ended"));
    const parts = (rest + value).split("\n");
    rest = parts.pop();
    for (const line of parts.map((part) => JSON.parse(part))) {
      if (line.problem) throw new ChangeError(noticeText({ text: line.problem, code: "download_failed", values: { reason: line.problem } }));
      if (line.ready) return line;
      onProgress(line);
    }
  }
}

/**
 * Lets the server start again, and waits until it has.
 * @param {{own: boolean, anyway: boolean}} how `own`: this page has a conversation; `anyway`: also end those of others
 * @throws {ChangeError} with the code "others_talk" if others talk
 */
export async function restartServer(how) {
  const before = await processOf();
  await ask("v1/repartee/restart", how);
  const until = performance.now() + RESTART_WITHIN_MS;
  while (performance.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS));
    const now = await processOf();
    if (now && now !== before) return;
  }
  throw new ChangeError(text("restart.late"));
}

/**
 * @typedef {object} KnownVoices
 * @property {{name: string, speech_s: number, added_at: string, usable: boolean}[]} voices
 * @property {boolean} has_model whether the model that compares voices is there
 */

/** @returns {Promise<KnownVoices | null>} null if the server does not answer */
export async function fetchVoices() {
  try {
    return await (await ask("v1/repartee/voices")).json();
  } catch {
    return null;
  }
}

/**
 * Keeps the voice of a recording.
 * @param {{name: string, agreed: boolean, audio: string}} voice `audio`: base64 at the wire's sample rate
 * @returns {Promise<KnownVoices>} what is kept now
 * @throws {ChangeError}
 */
export async function addVoice(voice) {
  return (await ask("v1/repartee/voices/add", voice)).json();
}

/** @returns {Promise<KnownVoices>} what is kept now @throws {ChangeError} */
export async function removeVoice(name) {
  return (await ask("v1/repartee/voices/remove", { name })).json();
}

async function processOf() {
  try {
    return (await (await ask("v1/repartee/setup")).json()).process ?? "";
  } catch {
    return "";
  }
}

async function ask(path, body = null, signal = AbortSignal.timeout(TIMEOUT_MS)) {
  const headers = { ...(storedToken() && { Authorization: `Bearer ${storedToken()}` }), ...(body && { "Content-Type": "application/json" }) };
  let answer;
  try {
    answer = await fetch(new URL(path, document.baseURI), { method: body ? "POST" : "GET", headers, body: body && JSON.stringify(body), signal, cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ChangeError(text("server.unreachable"));
  }
  if (answer.ok) return answer;
  const { error } = await answer.json().catch(() => ({}));
  throw new ChangeError(serverText(error, text("server.refuses", { status: answer.status })), error?.code);
}
