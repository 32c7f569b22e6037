/** Maps context frames to the samples of a reply that were rendered at them. Pure. */

import { WIRE_RATE_HZ } from "./units.js";

export class PlaybackTimeline {
  /** @param {number} rateHz sample rate of the context */
  constructor(rateHz) {
    this._samplesPerFrame = WIRE_RATE_HZ / rateHz;
    this._runs = [];
    /** Samples rendered so far. */
    this.rendered = 0;
  }

  /** Notes that playback started or continued: `sample` is rendered at `frame`. */
  addRun(frame, sample) {
    this._runs.push({ frame, sample });
    this.rendered = Math.max(this.rendered, sample);
  }

  /** Notes that everything before `sample` was rendered. */
  setRendered(sample) {
    this.rendered = Math.max(this.rendered, sample);
  }

  /**
   * @param {number} frame
   * @returns {number} number of samples rendered before that frame
   */
  sampleAt(frame) {
    const n = this._runs.findLastIndex((run) => run.frame <= frame);
    if (n < 0) return 0;
    const most = this._runs[n + 1]?.sample ?? this.rendered;
    return Math.min(most, this._runs[n].sample + (frame - this._runs[n].frame) * this._samplesPerFrame);
  }
}
