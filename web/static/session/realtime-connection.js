/** The WebSocket connection: sends and receives events as objects. Reconnects by itself. */

import { toBase64 } from "../audio/pcm.js";
import { text } from "../texts/texts.js";
import { explainClose, retryDelayMs } from "./close-reasons.js";
import { ConnectionMonitor } from "./connection-monitor.js";

const CONNECT_TIMEOUT_MS = 8000;
const MAX_QUEUED_BYTES = 256 * 1024; // 4 s of audio; beyond this nothing is sent
const CHECK_EVERY_MS = 500;
const PROTOCOL = "realtime";
const TOKEN_PROTOCOL = "openai-insecure-api-key."; // how OpenAI's browser clients send an API key

/**
 * Events: `event` (detail: a server event), `lost` and `ended` (detail: {problem, message}; after `ended` it does not
 * connect again); while it is open `slow` (detail: whether the network is too slow for what is sent) and `probe` (the
 * server was silent for long: send an event that it answers, otherwise the connection counts as lost).
 */
export class RealtimeConnection extends EventTarget {
  /** @param {URL} url of /v1/realtime, http or https */
  constructor(url) {
    super();
    this._url = new URL(url);
    this._url.protocol = this._url.protocol === "https:" ? "wss:" : "ws:";
    this._socket = null;
    this._timer = 0;
    this._retries = 0;
    this._error = null; // the last error event
    this._monitor = null;
    this._checkTimer = 0;
    this._sent = 0; // bytes on this connection
    this._slow = false;
    /** The token, for a server that requires one. */
    this.token = "";
    /** @type {() => Record<string, string>} query parameters with which a new connection resumes the conversation */
    this.resumeQuery = () => ({});
  }

  get isOpen() {
    return this._socket?.readyState === WebSocket.OPEN;
  }

  /** Whether an event can be sent. */
  get canSend() {
    return this.isOpen && this._socket.bufferedAmount <= MAX_QUEUED_BYTES;
  }

  /** Connects now, also while waiting for the next attempt. */
  connect() {
    this.close();
    const url = new URL(this._url);
    for (const [name, value] of Object.entries(this.resumeQuery())) url.searchParams.set(name, value);
    const protocols = this.token ? [PROTOCOL, TOKEN_PROTOCOL + this.token] : [PROTOCOL];
    let socket;
    try {
      socket = new WebSocket(url, protocols);
    } catch (error) {
      if (error.name !== "SyntaxError") throw error;
      this.dispatchEvent(new CustomEvent("ended", { detail: { problem: "token", message: text("token.malformed") } }));
      return;
    }
    this._socket = socket;
    this._error = null;
    let opened = false;
    this._timer = setTimeout(() => this._abandon(opened), CONNECT_TIMEOUT_MS); // until the server's first event
    socket.onopen = () => (opened = true);
    socket.onmessage = ({ data }) => this._handleMessage(data);
    socket.onclose = (close) => this._handleClose(close, opened);
  }

  /** Closes the connection; no further events are dispatched. */
  close() {
    const socket = this._socket;
    this._socket = null;
    this._detach(socket);
  }

  /**
   * @param {object} event
   * @returns {boolean} false if it could not be sent: no connection, or too much is queued
   */
  send(event) {
    if (!this.canSend) return false;
    const text = JSON.stringify(event);
    this._socket.send(text);
    this._sent += text.length;
    return true;
  }

  /** @param {Int16Array} pcm of the microphone @returns {boolean} false if it could not be sent */
  sendSound(pcm) {
    return this.send({ type: "input_audio_buffer.append", audio: toBase64(pcm) });
  }

  /** While no sound is sent, the server inserts silence. */
  holdSound() {}

  /** Closes a socket and removes its handlers. */
  _detach(socket) {
    clearTimeout(this._timer);
    clearInterval(this._checkTimer);
    this._monitor = null;
    this._setSlow(false);
    if (!socket) return;
    socket.onopen = socket.onmessage = socket.onclose = null;
    socket.close(1000);
  }

  /** Abandons a dead connection, which gets no close event. */
  _abandon(opened) {
    this._detach(this._socket);
    this._handleClose({ code: 1006, reason: "" }, opened);
  }

  _check() {
    const { dead, slow, probe } = this._monitor.check(performance.now(), this._sent, this._socket.bufferedAmount);
    if (dead) return this._abandon(true);
    this._setSlow(slow);
    if (probe) this.dispatchEvent(new Event("probe"));
  }

  _setSlow(slow) {
    if (slow === this._slow) return;
    this._slow = slow;
    this.dispatchEvent(new CustomEvent("slow", { detail: slow }));
  }

  /** Starts to monitor the connection; called at its first event. */
  _startMonitor() {
    clearTimeout(this._timer);
    this._sent = 0;
    this._monitor = new ConnectionMonitor(performance.now());
    this._checkTimer = setInterval(() => this._check(), CHECK_EVERY_MS);
  }

  _handleMessage(data) {
    if (!this._monitor) this._startMonitor();
    this._monitor.messageReceived(performance.now(), this._sent);
    let event;
    try {
      event = JSON.parse(data);
    } catch {
      return; // the server sends JSON only
    }
    if (event.type === "session.created") this._retries = 0;
    if (event.type === "error") this._error = event.error;
    this.dispatchEvent(new CustomEvent("event", { detail: event }));
  }

  async _handleClose({ code, reason }, opened) {
    const socket = this._socket;
    this._detach(socket);
    const cause = opened ? { status: 0, error: this._error } : await this._fetchHandshakeError();
    if (this._socket !== socket) return; // closed or replaced in the meantime
    const { problem, retry, message } = explainClose({ code, reason, ...cause });
    if (!retry) {
      this._socket = null;
      this.dispatchEvent(new CustomEvent("ended", { detail: { problem, message } }));
      return;
    }
    const delayMs = retryDelayMs(this._retries++, cause.error);
    this._timer = setTimeout(() => this.connect(), delayMs);
    this.dispatchEvent(new CustomEvent("lost", { detail: { problem, message } }));
  }

  /** Finds out why a handshake failed: the browser does not report it, but a plain request of the same address may. */
  async _fetchHandshakeError() {
    const url = new URL(this._url);
    url.protocol = url.protocol === "wss:" ? "https:" : "http:";
    const headers = this.token ? { Authorization: `Bearer ${this.token}` } : {};
    try {
      const signal = AbortSignal.timeout(CONNECT_TIMEOUT_MS);
      const response = await fetch(url, { cache: "no-store", headers, signal });
      const body = await response.json().catch(() => null); // a proxy's error page is not JSON
      return { status: response.status, error: body?.error ?? null };
    } catch {
      return { status: 0, error: null };
    }
  }
}
