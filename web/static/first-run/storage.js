/** What the first steps leave in this browser. The page also works if storage is blocked. */

const DONE_KEY = "repartee.first-run";
const KEEP_KEY = "repartee.keep";

/** @returns {boolean} whether the first steps were shown in this browser */
export function wasShown() {
  return read(DONE_KEY) !== "";
}

export function rememberShown() {
  write(DONE_KEY, "done");
}

/** @returns {"server" | "browser" | "no" | ""} where conversations are kept; "" if nobody was asked */
export function keptWhere() {
  return read(KEEP_KEY);
}

/** @param {"server" | "browser" | "no"} where */
export function keepConversations(where) {
  write(KEEP_KEY, where);
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
