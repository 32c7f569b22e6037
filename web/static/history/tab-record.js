/** The conversation of this tab, so that a reload loses nothing. The browser forgets it when the tab is closed. */

const KEY = "repartee.tab";

/**
 * @typedef {object} TabRecord
 * @property {string} key unique for each conversation
 * @property {boolean} running whether it has not ended
 * @property {string} token resumes the session at the server; "" if there is none
 * @property {string} id under which it is kept; "" if it is not
 * @property {"server" | "browser" | ""} place where it is kept
 * @property {boolean} deleted whether the user has deleted it, so that it is not kept again
 * @property {string} began_at ISO 8601
 * @property {import("./messages.js").Message[]} messages
 * @property {import("./messages.js").Message[]} [earlier] of conversations that ended before it and are still shown
 */

/** @returns {TabRecord} of a new conversation */
export function newRecord() {
  return { key: crypto.getRandomValues(new Uint32Array(4)).join("-"), running: true, token: "", id: "", place: "", deleted: false, began_at: new Date().toISOString(), messages: [] };
}

/** @returns {TabRecord | null} */
export function readRecord() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY));
  } catch {
    return null;
  }
}

/** @param {TabRecord | null} record null to forget it */
export function writeRecord(record) {
  try {
    if (record) sessionStorage.setItem(KEY, JSON.stringify(record));
    else sessionStorage.removeItem(KEY);
  } catch {
    // Storage is blocked or full: only a reload loses the conversation.
  }
}

let release = () => {};

/**
 * Claims the conversation for this tab. A duplicated tab has a copy of the record, and two tabs must not resume one session.
 * @param {string} key
 * @returns {Promise<boolean>} false if another tab has it
 */
export function claim(key) {
  release();
  if (!navigator.locks) return Promise.resolve(true);
  return new Promise((resolve) => {
    navigator.locks.request(`repartee ${key}`, { ifAvailable: true }, (lock) => {
      resolve(lock !== null);
      return lock && new Promise((end) => (release = end));
    });
  });
}
