/**
 * Maps positions in the audio sent to the server to the context frames at which it was captured. Pure.
 *
 * Positions on the server's sample clock include silence that the server inserted while nothing arrived (muted,
 * push-to-talk, lost connection). The server says how much silence lies before a position; the rest was sent.
 */

import { WIRE_RATE_HZ } from "./units.js";

const MAX_RUNS = 256;

/**
 * @typedef {object} Run audio that was captured and sent without a break
 * @property {number} sent_ms audio sent before it
 * @property {number} frame context frame of its first sample
 * @property {number} samples its length at the wire's sample rate
 */

export class CaptureTimeline {
  /** @param {number} rateHz sample rate of the context */
  constructor(rateHz) {
    this._framesPerSample = rateHz / WIRE_RATE_HZ;
    this._framesPerMs = rateHz / 1000;
    this.reset();
  }

  /** Starts another conversation. */
  reset() {
    /** @type {Run[]} */
    this._runs = [];
    this._before_ms = 0; // audio before the first run: sent before this page was reloaded
  }

  /**
   * Adds a chunk that was sent.
   * @param {number} frame context frame of its first sample
   * @param {number} samples
   */
  addSent(frame, samples) {
    const last = this._runs.at(-1);
    if (last && Math.abs(frame - last.frame - last.samples * this._framesPerSample) < 1) {
      last.samples += samples;
      return;
    }
    this._runs.push({ sent_ms: last ? endMs(last) : this._before_ms, frame, samples });
    if (this._runs.length > MAX_RUNS) this._runs.shift();
  }

  /**
   * Removes audio that was lost with a connection.
   * @param {number} receivedMs length of the audio that the server received; another server, which continues the
   *   conversation, counts from 0
   */
  dropAfter(receivedMs) {
    while (this._runs.length && this._runs.at(-1).sent_ms >= receivedMs) this._runs.pop();
    const last = this._runs.at(-1);
    if (!last) this._before_ms = receivedMs;
    else last.samples = Math.min(last.samples, Math.max(0, Math.round(((receivedMs - last.sent_ms) * WIRE_RATE_HZ) / 1000)));
  }

  /**
   * Returns when a position in the sent audio was captured.
   * @param {number} sentMs length of the audio before it
   * @returns {number | null} context frame; null if nothing was sent before it
   */
  frameAt(sentMs) {
    const run = this._runs.findLast((one) => one.sent_ms < sentMs);
    return run ? run.frame + (sentMs - run.sent_ms) * this._framesPerMs : null;
  }
}

function endMs(run) {
  return run.sent_ms + (run.samples * 1000) / WIRE_RATE_HZ;
}
