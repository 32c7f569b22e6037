/** Explains why a connection ended, and whether to try again. Pure. */

/** The server's codes (web/session_limits.py, web/access_control.py) and their names in troubles.js. */
const BY_ERROR = {
  server_full: "full",
  server_loading: "loading",
  server_draining: "restarting",
  session_expired: "too-long",
  session_idle: "idle",
  token_missing: "token",
  token_wrong: "token",
  foreign_host: "refused",
  foreign_origin: "refused",
  foreign_address: "refused",
};
const BY_STATUS = { 401: "token", 403: "refused", 503: "full" };
const BY_CLOSE = { 1000: "ended", 1008: "refused", 1009: "ended", 1012: "restarting", 1013: "full" };
const AGAIN = new Set(["lost", "full", "loading", "restarting"]);

/** @param {string} code of an error event @returns {boolean} whether it explains why the connection ends */
export function isFarewell(code) {
  return code in BY_ERROR;
}

/**
 * @param {object} ending
 * @param {number} ending.code of the close frame; 1006 for none
 * @param {string} ending.reason of the close frame: a code, a colon, a sentence
 * @param {number} [ending.status] HTTP status of a plain request of the address, if the handshake failed
 * @param {{code?: string, message?: string} | null} [ending.error] the last error event, or the answer to that request
 * @returns {{name: string, again: boolean, said: string}} `name` in troubles.js; `said`: the server's own words
 */
export function explain({ code, reason, status = 0, error = null }) {
  const [reasonCode] = reason.split(":");
  const name = BY_ERROR[reasonCode] ?? BY_ERROR[error?.code] ?? BY_STATUS[status] ?? BY_CLOSE[code] ?? "lost";
  const told = reasonCode in BY_ERROR || error?.code in BY_ERROR ? error?.message : null;
  return { name, again: AGAIN.has(name), said: told ?? reason.slice(reason.indexOf(":") + 1).trim() };
}
