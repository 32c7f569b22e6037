/** What the first steps leave in this browser. The page also works if storage is blocked. */

const DONE_KEY = "repartee.first-run";
const KEEP_KEY = "repartee.keep";
const CHOICES_KEY = "repartee.settings";

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

/** What this browser has chosen in place of the server's settings. */
export class StoredChoices {
  get(name) {
    return parsed(read(CHOICES_KEY))[name];
  }

  set(name, value) {
    write(CHOICES_KEY, JSON.stringify({ ...parsed(read(CHOICES_KEY)), [name]: value }));
  }
}

function parsed(text) {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
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
