/** Where the conversations of this browser are kept, and the secret with which the server knows this browser. */

const CHOICE_KEY = "repartee.keep";
const SECRET_KEY = "repartee.browser";

/** @typedef {"server" | "browser" | "no"} KeepChoice on the server, in this browser only, or nowhere */

/** The choices in their order. @type {KeepChoice[]} */
export const PLACES = ["server", "browser", "no"];

/** Event on window when the user has chosen, here, in the settings or in the first steps. */
export const KEEP_CHANGED = "repartee:keep";

let secret = ""; // for this page, if the browser stores nothing

/** @returns {KeepChoice} "no" until the user has chosen */
export function keepChoice() {
  const choice = read(CHOICE_KEY);
  return PLACES.includes(choice) ? choice : "no";
}

/** @returns {boolean} whether the user was asked */
export function keepChosen() {
  return PLACES.includes(read(CHOICE_KEY));
}

/** @param {KeepChoice} choice takes effect at once, also for a running conversation */
export function setKeepChoice(choice) {
  write(CHOICE_KEY, choice);
  window.dispatchEvent(new CustomEvent(KEEP_CHANGED, { detail: choice }));
}

/** @returns {boolean} whether the server may have conversations of this browser */
export function hasSecret() {
  return Boolean(secret || read(SECRET_KEY));
}

/** @returns {string} the secret with which this browser gets its conversations from the server; made at the first use */
export function browserSecret() {
  secret ||= read(SECRET_KEY);
  if (!/^[\w-]{32,128}$/.test(secret)) {
    secret = [...crypto.getRandomValues(new Uint8Array(24))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    write(SECRET_KEY, secret);
  }
  return secret;
}

function read(key) {
  try {
    return localStorage.getItem(key) ?? "";
  } catch {
    return ""; // storage is blocked
  }
}

function write(key, text) {
  try {
    localStorage.setItem(key, text);
  } catch {
    // Storage is blocked or full.
  }
}
