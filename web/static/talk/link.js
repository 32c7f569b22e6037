/** Decides whether the connection is alive and fast enough, from sent, queued and received data. Pure. */

const MUCH_BYTES = 66_000; // one second of audio
const SLOW_AFTER_MS = 2000;
const STUCK_AFTER_MS = 6000;
const QUIET_MS = 5000; // between replies the server sends nothing, so it has to be asked
const ANSWER_WITHIN_MS = 5000;
const ASLEEP_MS = 2500; // the page was suspended: received data is still to be read

export class Link {
  /** @param {number} nowMs */
  constructor(nowMs) {
    this._lookedMs = nowMs;
    this._left = 0; // bytes
    this._leftMs = nowMs;
    this._crowdedMs = Infinity; // time since when too much is queued
        this._came = 0; // bytes sent when the last message was received
    this._cameMs = nowMs;
    this._askedMs = Infinity;
  }

  /**
   * Notes a received message.
   * @param {number} nowMs
   * @param {number} sent bytes so far
   */
  came(nowMs, sent) {
    this._came = sent;
    this._cameMs = nowMs;
    this._askedMs = Infinity;
  }

  /**
   * Called twice a second.
   * @param {number} nowMs
   * @param {number} sent bytes so far, including queued ones
      * @param {number} waiting queued bytes
   * @returns {{dead: boolean, slow: boolean, ask: boolean}} `ask`: send something that is answered
   */
  look(nowMs, sent, waiting) {
    const asleep = nowMs - this._lookedMs > ASLEEP_MS;
    this._lookedMs = nowMs;
    if (asleep && this._askedMs < nowMs) this._askedMs = nowMs;
    if (asleep || waiting === 0 || sent - waiting > this._left) {
      this._left = sent - waiting;
      this._leftMs = nowMs;
    }
    if (waiting < MUCH_BYTES / 2) this._crowdedMs = Infinity;
    else if (waiting > MUCH_BYTES) this._crowdedMs = Math.min(this._crowdedMs, nowMs);
    const crowded = this._crowdedMs < Infinity; // then an answer may be late, because the request is queued too
    const mute = nowMs - this._askedMs > ANSWER_WITHIN_MS && !crowded;
    // A page that sends nothing does not ask, because that would keep an unused session open.
    const ask = this._askedMs === Infinity && !crowded && sent > this._came && nowMs - this._cameMs > QUIET_MS;
    if (ask) this._askedMs = nowMs;
    return { dead: mute || nowMs - this._leftMs > STUCK_AFTER_MS, slow: nowMs - this._crowdedMs > SLOW_AFTER_MS, ask };
  }
}
