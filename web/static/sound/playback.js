/** What of a reply was rendered when: context frames and the reply's samples, each from the other. Pure. */

import { WIRE_RATE_HZ } from "./units.js";

export class Playback {
  /** @param {number} rateHz of the context */
  constructor(rateHz) {
    this._samplesPerFrame = WIRE_RATE_HZ / rateHz;
    this._runs = [];
    /** Samples rendered so far. */
    this.rendered = 0;
  }

  /** Playing began or went on: `sample` is rendered at `frame`. */
  run(frame, sample) {
    this._runs.push({ frame, sample });
    this.rendered = Math.max(this.rendered, sample);
  }

  /** Everything before `sample` was rendered. */
  upTo(sample) {
    this.rendered = Math.max(this.rendered, sample);
  }

  /**
   * @param {number} frame
   * @returns {number} how many samples were rendered before that frame
   */
  sampleAt(frame) {
    const n = this._runs.findLastIndex((run) => run.frame <= frame);
    if (n < 0) return 0;
    const most = this._runs[n + 1]?.sample ?? this.rendered;
    return Math.min(most, this._runs[n].sample + (frame - this._runs[n].frame) * this._samplesPerFrame);
  }
}
