/**
 * Maps positions in the audio sent to the server to the context frames at which it was captured. Pure.
 *
 * The server's line is longer: it includes silence that the server inserted while nothing arrived (muted, push-to-talk,
  * lost connection). The server tells how much silence lies before a position; the rest was sent.
 */

import { WIRE_RATE_HZ } from "./units.js";

const MOST_STRETCHES = 256;

/**
 * @typedef {object} Stretch audio that was captured and sent without a break
  * @property {number} sent_ms audio sent before it
 * @property {number} frame context frame of its first sample
 * @property {number} samples its length at the wire's sample rate
 */

export class Line {
  /** @param {number} rateHz sample rate of the context */
  constructor(rateHz) {
    this._framesPerSample = rateHz / WIRE_RATE_HZ;
    this._framesPerMs = rateHz / 1000;
    this.begin();
  }

  /** Starts another conversation. */
  begin() {
    /** @type {Stretch[]} */
    this._stretches = [];
  }

  /**
   * Adds a chunk that was sent.
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
   * Removes audio that was lost with a connection.
      * @param {number} heardMs length of the audio that the server received
   */
  lost(heardMs) {
    while (this._stretches.length > 1 && this._stretches.at(-1).sent_ms >= heardMs) this._stretches.pop();
    const last = this._stretches.at(-1);
    if (last) last.samples = Math.min(last.samples, Math.max(0, Math.round(((heardMs - last.sent_ms) * WIRE_RATE_HZ) / 1000)));
  }

  /**
   * Returns when a position in the sent audio was captured.
      * @param {number} sentMs length of the audio before it
      * @returns {number | null} context frame; null if nothing was sent before it
   */
  captured(sentMs) {
    const stretch = this._stretches.findLast((one) => one.sent_ms < sentMs);
    return stretch ? stretch.frame + (sentMs - stretch.sent_ms) * this._framesPerMs : null;
  }
}

function endMs(stretch) {
  return stretch.sent_ms + (stretch.samples * 1000) / WIRE_RATE_HZ;
}
