/**
 * What was sent to the server, and which context frame each part of it was captured at. Pure.
 *
 * The server's line of sound is longer: it also holds the silence that was put in while nothing came (muted,
 * push-to-talk, a lost connection). The server says how much of that lies before a position; the rest was sent.
 */

import { WIRE_RATE_HZ } from "./units.js";

const MOST_STRETCHES = 256;

/**
 * @typedef {object} Stretch sound that was captured and sent without a break
 * @property {number} sent_ms sound sent before it
 * @property {number} frame context frame of its first sample
 * @property {number} samples its length at the wire's rate
 */

export class Line {
  /** @param {number} rateHz of the context */
  constructor(rateHz) {
    this._framesPerSample = rateHz / WIRE_RATE_HZ;
    this._framesPerMs = rateHz / 1000;
    this.begin();
  }

  /** Nothing was sent yet. */
  begin() {
    /** @type {Stretch[]} */
    this._stretches = [];
  }

  /**
   * A chunk was sent.
   * @param {number} frame context frame of its first sample
   * @param {number} samples
   */
  sent(frame, samples) {
    const last = this._stretches.at(-1);
    if (last && Math.abs(frame - last.frame - last.samples * this._framesPerSample) < 1) {
      last.samples += samples;
      return;
    }
    this._stretches.push({ sent_ms: last ? endMs(last) : 0, frame, samples });
    if (this._stretches.length > MOST_STRETCHES) this._stretches.shift();
  }

  /**
   * The connection was lost, and the last of what was sent with it.
   * @param {number} heardMs of sound that the server got
   */
  lost(heardMs) {
    while (this._stretches.length > 1 && this._stretches.at(-1).sent_ms >= heardMs) this._stretches.pop();
    const last = this._stretches.at(-1);
    if (last) last.samples = Math.min(last.samples, Math.max(0, Math.round(((heardMs - last.sent_ms) * WIRE_RATE_HZ) / 1000)));
  }

  /**
   * When a position in what was sent was captured.
   * @param {number} sentMs of sound before it
   * @returns {number | null} context frame; null where nothing was sent before it
   */
  captured(sentMs) {
    const stretch = this._stretches.findLast((one) => one.sent_ms < sentMs);
    return stretch ? stretch.frame + (sentMs - stretch.sent_ms) * this._framesPerMs : null;
  }
}

function endMs(stretch) {
  return stretch.sent_ms + (stretch.samples * 1000) / WIRE_RATE_HZ;
}
