/** Whether the first steps were shown in this browser. The page also works if storage is blocked. */

const DONE_KEY = "repartee.first-run";

/** @returns {boolean} whether the first steps were shown in this browser */
export function wasShown() {
  return read(DONE_KEY) !== "";
}

export function rememberShown() {
  write(DONE_KEY, "done");
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
