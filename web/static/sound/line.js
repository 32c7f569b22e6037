/**
 * The server's line of sound, seen from here: which context frame was captured at which of its milliseconds. Pure.
 *
 * The server counts what it receives and, where nothing came for 100 ms (muted, push-to-talk, a slow network), the
 * silence it puts in. Where it says how much that was before a position, the mapping is exact. Else the silence is
 * estimated: none at the start, as long as a break in what was sent, within one or two frames of 20 ms; until a turn's
 * trace tells how many frames there have been. From then on it is exact while sound is sent without a break.
 */

import { WIRE_RATE_HZ } from "./units.js";

const FRAME_MS = 20;
const PATIENCE_MS = 100; // a shorter break is not filled
const SURELY_SHORT_MS = 60; // as seen from here, with what the network may add
const SETTLED_MS = 1000; // a trace that came sooner after a break may have been written before it
const MOST_STRETCHES = 256;

/**
 * @typedef {object} Stretch
 * @property {number} line_ms where it begins on the server's line
 * @property {number} frame context frame of its first sample
 * @property {number} samples its length at the wire's rate
 * @property {number} sent_ms sound sent before it
 * @property {boolean} exact its place is known, not estimated
 */

export class Line {
  /** @param {number} rateHz of the context */
  constructor(rateHz) {
    this._framesPerSample = rateHz / WIRE_RATE_HZ;
    this._framesPerMs = rateHz / 1000;
    /** @type {Stretch[]} */
    this._stretches = [];
  }

  /** The server's line begins about now, whether or not sound is sent. @param {number} frame */
  begin(frame) {
    this._stretches = [{ line_ms: 0, frame, samples: 0, sent_ms: 0, exact: false }];
  }

  /**
   * A chunk was sent.
   * @param {number} frame context frame of its first sample
   * @param {number} samples
   */
  sent(frame, samples) {
    const last = this._stretches.at(-1);
    if (last && Math.abs(frame - this._endFrame(last)) < 1) {
      last.samples += samples;
      return;
    }
    this._stretches.push(last ? this._after(last, frame, samples) : {
      line_ms: 0, frame, samples, sent_ms: 0, exact: false,
    });
    if (this._stretches.length > MOST_STRETCHES) this._stretches.shift();
  }

  /**
   * A trace told how much silence the server has put in so far.
   * @param {number} inventedMs
   */
  anchor(inventedMs) {
    const last = this._stretches.at(-1);
    if (!last || (last.samples * 1000) / WIRE_RATE_HZ < SETTLED_MS) return;
    last.line_ms = last.sent_ms + inventedMs;
    last.exact = true;
  }

  /**
   * When a position was captured.
   * @param {number} lineMs on the server's line
   * @returns {{frame: number, exact: boolean} | null} null where nothing was ever sent
   */
  captured(lineMs) {
    const stretch = this._stretches.findLast((one) => one.line_ms <= lineMs) ?? this._stretches[0];
    if (!stretch) return null;
    const frame = stretch.frame + (lineMs - stretch.line_ms) * this._framesPerMs;
    // Silence that the server put in was never captured: the last sample before it was.
    return { frame: Math.min(frame, this._endFrame(stretch)), exact: stretch.exact };
  }

  /**
   * When a position in what was sent was captured: what the server put in does not count.
   * @param {number} sentMs of sound before it
   * @returns {{frame: number, exact: boolean} | null} null where nothing was ever sent
   */
  capturedSent(sentMs) {
    const stretch = this._stretches.findLast((one) => one.samples > 0 && one.sent_ms < sentMs);
    return stretch ? { frame: stretch.frame + (sentMs - stretch.sent_ms) * this._framesPerMs, exact: true } : null;
  }

  _after(last, frame, samples) {
    const lengthMs = (last.samples * 1000) / WIRE_RATE_HZ;
    const breakMs = (frame - this._endFrame(last)) / this._framesPerMs;
    // The server stays one frame behind real time, so that sound which comes back finds its place.
    const filled = breakMs < PATIENCE_MS ? 0 : Math.floor((breakMs - FRAME_MS) / FRAME_MS) * FRAME_MS;
    const exact = last.exact && breakMs < SURELY_SHORT_MS;
    return { line_ms: last.line_ms + lengthMs + filled, frame, samples, sent_ms: last.sent_ms + lengthMs, exact };
  }

  _endFrame(stretch) {
    return stretch.frame + stretch.samples * this._framesPerSample;
  }
}
