/** The WebSocket connection: sends and receives events as objects. Reconnects by itself. */

import { explain } from "./closings.js";
import { Link } from "./link.js";

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 8000;
const CONNECT_TIMEOUT_MS = 8000;
const MOST_QUEUED_BYTES = 256 * 1024; // 4 s of audio; beyond this nothing is sent
const LOOK_EVERY_MS = 500;
const PROTOCOL = "realtime";
const TOKEN_PROTOCOL = "openai-insecure-api-key."; // how OpenAI's browser clients send an API key
const NO_TOKEN = "What was entered can be no token, which has no blanks, quotes, brackets or ,/:;=?@\\ in it: "
  + "paste it alone, without REPARTEE_TOKEN= or Bearer before it.";

/**
 * Events: `event` (detail: a server event), `lost` and `ended` (detail: {trouble, said}; `ended`: no further attempt);
 * while it is open `slow` (detail: whether the network is too slow for what is sent) and `quiet` (nothing was received
 * for long: send something that is answered, otherwise it counts as lost).
 */
export class Wire extends EventTarget {
  /** @param {URL} url of /v1/realtime, http or https */
  constructor(url) {
    super();
    this._url = new URL(url);
    this._url.protocol = this._url.protocol === "https:" ? "wss:" : "ws:";
    this._socket = null;
    this._timer = 0;
    this._waits = 0;
    this._error = null;
    this._link = null;
    this._looking = 0;
    this._sent = 0; // bytes on this connection
    this._slow = false;
    /** The token, for a server that requires one. */
    this.token = "";
    /** @type {() => Record<string, string>} query parameters with which a new connection resumes the conversation */
    this.resume = () => ({});
  }

  get open() {
    return this._socket?.readyState === WebSocket.OPEN;
  }

  /** Whether anything can be sent. */
  get takes() {
    return this.open && this._socket.bufferedAmount <= MOST_QUEUED_BYTES;
  }

  /** Connects now, also while waiting for the next attempt. */
  connect() {
    this.close();
    const url = new URL(this._url);
    for (const [name, value] of Object.entries(this.resume())) url.searchParams.set(name, value);
    const protocols = this.token ? [PROTOCOL, TOKEN_PROTOCOL + this.token] : [PROTOCOL];
    let socket;
    try {
      socket = new WebSocket(url, protocols);
    } catch (error) {
      if (error.name !== "SyntaxError") throw error;
      this.dispatchEvent(new CustomEvent("ended", { detail: { trouble: "token", said: NO_TOKEN } }));
      return;
    }
    this._socket = socket;
    this._error = null;
    let opened = false;
    this._timer = setTimeout(() => this._giveUp(opened), CONNECT_TIMEOUT_MS); // until the server's first event
    socket.onopen = () => (opened = true);
    socket.onmessage = ({ data }) => this._received(data);
    socket.onclose = (closing) => this._closed(closing, opened);
  }

  /** Hangs up; no further events are dispatched. */
  close() {
    const socket = this._socket;
    this._socket = null;
    this._let(socket);
  }

  /**
   * @param {object} event
   * @returns {boolean} false if it could not be sent: no connection, or too much is queued
   */
  send(event) {
    if (!this.takes) return false;
    const text = JSON.stringify(event);
    this._socket.send(text);
    this._sent += text.length;
    return true;
  }

  /** Removes the handlers of a socket. */
  _let(socket) {
    clearTimeout(this._timer);
    clearInterval(this._looking);
    this._link = null;
    this._tellSlow(false);
    if (!socket) return;
    socket.onopen = socket.onmessage = socket.onclose = null;
    socket.close(1000);
  }

  /** Gives up a dead connection, which gets no close event. */
  _giveUp(opened) {
    this._let(this._socket);
    this._closed({ code: 1006, reason: "" }, opened);
  }

  _look() {
    const { dead, slow, ask } = this._link.look(performance.now(), this._sent, this._socket.bufferedAmount);
    if (dead) return this._giveUp(true);
    this._tellSlow(slow);
    if (ask) this.dispatchEvent(new Event("quiet"));
  }

  _tellSlow(slow) {
    if (slow === this._slow) return;
    this._slow = slow;
    this.dispatchEvent(new CustomEvent("slow", { detail: slow }));
  }

  /** Handles the first event of a connection. */
  _begun() {
    clearTimeout(this._timer);
    this._sent = 0;
    this._link = new Link(performance.now());
    this._looking = setInterval(() => this._look(), LOOK_EVERY_MS);
  }

  _received(data) {
    if (!this._link) this._begun();
    this._link.came(performance.now(), this._sent);
    let event;
    try {
      event = JSON.parse(data);
    } catch {
      return; // the server sends JSON only
    }
    if (event.type === "session.created") this._waits = 0;
    if (event.type === "error") this._error = event.error;
    this.dispatchEvent(new CustomEvent("event", { detail: event }));
  }

  async _closed({ code, reason }, opened) {
    const socket = this._socket;
    this._let(socket);
    const answer = opened ? { status: 0, error: this._error } : await this._asked();
    if (this._socket !== socket) return; // closed or replaced in the meantime
    const trouble = explain({ code, reason, ...answer });
    if (!trouble.again) {
      this._socket = null;
      this.dispatchEvent(new CustomEvent("ended", { detail: { trouble: trouble.name, said: trouble.said } }));
      return;
    }
    const waitMs = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** this._waits++) * (0.75 + Math.random() / 2);
    this._timer = setTimeout(() => this.connect(), waitMs);
    this.dispatchEvent(new CustomEvent("lost", { detail: { trouble: trouble.name, said: trouble.said } }));
  }

  /** Finds out why a handshake failed: browsers do not tell, but a plain request of the same address may. */
  async _asked() {
    const url = new URL(this._url);
    url.protocol = url.protocol === "wss:" ? "https:" : "http:";
    const headers = this.token ? { Authorization: `Bearer ${this.token}` } : {};
    try {
      const signal = AbortSignal.timeout(CONNECT_TIMEOUT_MS);
      const answer = await fetch(url, { cache: "no-store", headers, signal });
      const said = await answer.json().catch(() => null); // a proxy's error page is not JSON
      return { status: answer.status, error: said?.error ?? null };
    } catch {
      return { status: 0, error: null };
    }
  }
}
