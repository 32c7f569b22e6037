/** Explains why a connection ended, and whether to connect again. Pure. */

import { serverText } from "../texts/texts.js";

/** The server's error codes (web/limits/session_limits.py, web/access/access_control.py) and their names in problems.js. */
const BY_ERROR_CODE = {
  server_full: "full",
  server_busy: "overloaded",
  too_few_descriptors: "full",
  server_loading: "loading",
  server_draining: "restarting",
  session_resuming: "lost",
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
const RETRIED = new Set(["lost", "full", "overloaded", "loading", "restarting"]);

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
  const known = reasonCode in BY_ERROR_CODE || error?.code in BY_ERROR_CODE;
  const message = known ? serverText({ code: error?.code ?? reasonCode, message: error?.message }, null) : null;
  return { problem, retry: RETRIED.has(problem), message: message ?? reason.slice(reason.indexOf(":") + 1).trim() };
}

const FIRST_RETRY_MS = 250;
const MAX_RETRY_MS = 8000;
const MAX_RETRY_AFTER_MS = 60_000;

/**
 * @param {number} retries attempts since the last conversation
 * @param {{retry_after_s?: number} | null} error the last error event
 * @returns {number} how long to wait before the next attempt: at least as long as the server asks for
 */
export function retryDelayMs(retries, error = null) {
  const delayMs = Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** retries) * (0.75 + Math.random() / 2);
  const askedMs = Number(error?.retry_after_s) * 1000 || 0;
  return Math.max(delayMs, Math.min(askedMs, MAX_RETRY_AFTER_MS) * (1 + Math.random() / 4));
}
