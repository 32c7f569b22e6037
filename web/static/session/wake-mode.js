/** The wake phrase: which words are sent as one, and whether the user has to agree first. Pure. */

export const DEFAULT_PHRASE = "hey computer";

const FORM = /^[\p{L}\p{N}][\p{L}\p{N}\p{M}'’-]*(?: [\p{L}\p{N}\p{M}'’-]+){0,4}$/u; // as the server checks it
const MAX_CHARS = 60;

/** @param {string} text @returns {string | null} the phrase with single spaces; null if it is none */
export function wakePhrase(text) {
  const phrase = text.trim().split(/\s+/).join(" ");
  return phrase.length <= MAX_CHARS && FORM.test(phrase) ? phrase : null;
}

/**
 * Returns whether the user has to agree that all speech is sent: the server is not this machine.
 * @param {string} hostname of the page
 * @param {string} agreedTo host for which the user has agreed
 */
export function needsConsent(hostname, agreedTo) {
  return !["localhost", "127.0.0.1", "[::1]", "::1"].includes(hostname) && agreedTo !== hostname;
}
