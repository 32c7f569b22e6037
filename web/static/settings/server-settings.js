/** Asks the server which settings a browser may choose, and which values are its own. */

import { serverText, text } from "../texts/texts.js";

const TIMEOUT_MS = 10_000;

/**
 * @param {string} token the server's token; "" for none
 * @returns {Promise<object | null>} null if the server does not tell, for example because it wants a token
 */
export async function fetchSettings(token) {
  try {
    const answer = await ask("v1/repartee/settings", token);
    return answer.ok ? await answer.json() : null;
  } catch {
    return null;
  }
}

/**
 * Returns the sound of a sentence.
 * @param {{voice?: string, language?: string, speed?: number}} choices
 * @param {AbortSignal} signal
 * @returns {Promise<ArrayBuffer>} rejects with an Error whose message is for the user
 */
export async function fetchVoiceSample(choices, token, signal) {
  const query = new URLSearchParams(Object.entries(choices).filter(([, value]) => value !== undefined));
  const answer = await ask(`v1/repartee/voice-sample?${query}`, token, AbortSignal.any([signal, AbortSignal.timeout(4 * TIMEOUT_MS)]));
  if (answer.ok) return answer.arrayBuffer();
  const body = await answer.json().catch(() => ({}));
  throw new Error(serverText(body.error, text("server.no_voice")));
}

function ask(path, token, signal = AbortSignal.timeout(TIMEOUT_MS)) {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  return fetch(new URL(path, document.baseURI), { headers, signal, cache: "no-store" });
}
