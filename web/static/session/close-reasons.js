/** Explains why a connection ended, and whether to connect again. Pure. */

/** The server's error codes (web/session_limits.py, web/access_control.py) and their names in problems.js. */
const BY_ERROR_CODE = {
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
const BY_HTTP_STATUS = { 401: "token", 403: "refused", 503: "full" };
const BY_CLOSE_CODE = { 1000: "ended", 1008: "refused", 1009: "ended", 1012: "restarting", 1013: "full" };
const RETRIED = new Set(["lost", "full", "loading", "restarting"]);

/** @param {string} code of an error event @returns {boolean} whether it explains why the connection ends */
export function endsConnection(code) {
  return code in BY_ERROR_CODE;
}

/**
 * @param {object} close
 * @param {number} close.code of the close frame; 1006 for none
 * @param {string} close.reason of the close frame: a code, a colon, a sentence
 * @param {number} [close.status] HTTP status of a plain request of the address, if the handshake failed
 * @param {{code?: string, message?: string} | null} [close.error] the last error event, or the answer to that request
 * @returns {{problem: string, retry: boolean, message: string}} `problem` in problems.js; `message` in the server's words
 */
export function explainClose({ code, reason, status = 0, error = null }) {
  const [reasonCode] = reason.split(":");
  const problem = BY_ERROR_CODE[reasonCode] ?? BY_ERROR_CODE[error?.code] ?? BY_HTTP_STATUS[status] ?? BY_CLOSE_CODE[code] ?? "lost";
  const message = reasonCode in BY_ERROR_CODE || error?.code in BY_ERROR_CODE ? error?.message : null;
  return { problem, retry: RETRIED.has(problem), message: message ?? reason.slice(reason.indexOf(":") + 1).trim() };
}
