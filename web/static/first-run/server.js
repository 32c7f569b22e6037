/** Requests to the server that the first steps need. */

import { capitalized, serverText, text } from "../texts/texts.js";
import { storedToken } from "../view/preferences.js";

const LOADING_RETRY_MS = 1500;
const LOADING_TRIES = 40;
const TIMEOUT_MS = 40_000;

/** An answer that is no success; `message` is for the user. */
export class ServerError extends Error {}

/** @returns {Promise<object | null>} what the set-up offers; null if this server has none, or is not reached */
export async function setupOffer() {
  try {
    const offer = await (await request("v1/repartee/setup")).json();
    return offer.offered ? offer : null;
  } catch {
    return null;
  }
}

/** @returns {Promise<object>} languages, voices, and who answers. Waits while the server loads. @throws {ServerError} */
export async function serverSettings() {
  for (let left = LOADING_TRIES; ; left--) {
    const response = await request("v1/repartee/settings");
    if (response.ok) return response.json();
    if (response.status !== 503 || left === 0) throw new ServerError(await messageOf(response));
    await new Promise((resolve) => setTimeout(resolve, LOADING_RETRY_MS));
  }
}

/** @returns {Promise<ArrayBuffer>} a sentence in a voice, as WAV @throws {ServerError} */
export async function voiceSample(voice, language) {
  const response = await request(`v1/repartee/voice-sample?${new URLSearchParams({ voice, language })}`);
  if (!response.ok) throw new ServerError(await messageOf(response));
  return response.arrayBuffer();
}

/** @param {"test" | "save"} what @returns {Promise<object>} @throws {ServerError} */
export async function setup(what, body) {
  const response = await request(`v1/repartee/setup/${what}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new ServerError(await messageOf(response));
  return response.json();
}

async function request(path, { headers, ...options } = {}) {
  const token = storedToken();
  try {
    return await fetch(new URL(path, document.baseURI), {
      ...options,
      headers: { ...headers, ...(token && { Authorization: `Bearer ${token}` }) },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
  } catch {
    throw new ServerError(text("server.unreachable"));
  }
}

async function messageOf(response) {
  try {
    const { error } = await response.json();
    return sentence(serverText(error));
  } catch {
    return text("server.refuses", { status: response.status });
  }
}

/** @returns {string} a text that begins with a capital letter and ends with a full stop */
export function sentence(words) {
  return capitalized(words) + (/[.…]$/.test(words) ? "" : ".");
}
