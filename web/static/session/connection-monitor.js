/** Decides whether the connection is alive and fast enough, from sent, queued and received data. Pure. */

const CONGESTED_BYTES = 66_000; // one second of audio
const SLOW_AFTER_MS = 2000;
const STUCK_AFTER_MS = 6000;
const PROBE_AFTER_MS = 5000; // between replies the server sends nothing, so the page sends a probe
const ANSWER_WITHIN_MS = 5000;
const SUSPENDED_MS = 2500; // a longer time between checks: the page was suspended and has received data to read

export class ConnectionMonitor {
  /** @param {number} nowMs */
  constructor(nowMs) {
    this._checkedMs = nowMs;
    this._delivered = 0; // bytes that have left the queue
    this._deliveredMs = nowMs; // when that number last grew
    this._congestedSinceMs = Infinity;
    this._sentAtLastMessage = 0; // bytes
    this._lastMessageMs = nowMs;
    this._probedMs = Infinity; // when the unanswered probe was sent
  }

  /**
   * Notes a received message.
   * @param {number} nowMs
   * @param {number} sent bytes so far
   */
  messageReceived(nowMs, sent) {
    this._sentAtLastMessage = sent;
    this._lastMessageMs = nowMs;
    this._probedMs = Infinity;
  }

  /**
   * Checks the connection; called twice a second.
   * @param {number} nowMs
   * @param {number} sent bytes so far, including queued ones
   * @param {number} queued bytes
   * @returns {{dead: boolean, slow: boolean, probe: boolean}} `probe`: send an event that the server answers
   */
  check(nowMs, sent, queued) {
    const suspended = nowMs - this._checkedMs > SUSPENDED_MS;
    this._checkedMs = nowMs;
    if (suspended && this._probedMs < nowMs) this._probedMs = nowMs;
    if (suspended || queued === 0 || sent - queued > this._delivered) {
      this._delivered = sent - queued;
      this._deliveredMs = nowMs;
    }
    if (queued < CONGESTED_BYTES / 2) this._congestedSinceMs = Infinity;
    else if (queued > CONGESTED_BYTES) this._congestedSinceMs = Math.min(this._congestedSinceMs, nowMs);
    const congested = this._congestedSinceMs < Infinity; // then an answer may be late, because the probe is queued too
    const unanswered = nowMs - this._probedMs > ANSWER_WITHIN_MS && !congested;
    // A page that sends nothing sends no probe either, because that would keep an unused session open.
    const probe = this._probedMs === Infinity && !congested && sent > this._sentAtLastMessage && nowMs - this._lastMessageMs > PROBE_AFTER_MS;
    if (probe) this._probedMs = nowMs;
    return { dead: unanswered || nowMs - this._deliveredMs > STUCK_AFTER_MS, slow: nowMs - this._congestedSinceMs > SLOW_AFTER_MS, probe };
  }
}
