/** Converts audio from one sample rate to another, block by block. Pure. */

import { ResamplingFilter } from "./resampling-filter.js";

/** Output sample k is the sound k / toHz after the first input sample: the filter's delay is compensated. */
export class StreamResampler {
  /**
   * @param {number} fromHz an integer
   * @param {number} toHz an integer
   */
  constructor(fromHz, toHz) {
    this._filter = new ResamplingFilter(fromHz, toHz);
    this._phase = 0;
    this._buffer = new Float32Array(4096);
    this._count = this._filter.half - 1; // silence before the first sample
    this._position = this._count; // position of the next output sample in `_buffer`
  }

  /**
   * @param {Float32Array} block the next samples, without a gap
   * @returns {Float32Array} the samples that are ready, possibly none
   */
  pushBlock(block) {
    this._append(block);
    const { half, taps, phases, step, weights } = this._filter;
    const out = new Float32Array(Math.ceil((block.length * phases) / step) + 1);
    let written = 0;
    while (this._position + half < this._count) {
      const row = this._phase * taps;
      const from = this._position - half + 1;
      let sum = 0;
      for (let j = 0; j < taps; j++) sum += weights[row + j] * this._buffer[from + j];
      out[written++] = sum;
      this._phase += step;
      this._position += Math.floor(this._phase / phases);
      this._phase %= phases;
    }
    this._discardUsed();
    return out.subarray(0, written);
  }

  _append(block) {
    if (this._count + block.length > this._buffer.length) {
      const larger = new Float32Array(2 * (this._count + block.length));
      larger.set(this._buffer.subarray(0, this._count));
      this._buffer = larger;
    }
    this._buffer.set(block, this._count);
    this._count += block.length;
  }

  _discardUsed() {
    const used = Math.min(this._position - this._filter.half + 1, this._count);
    if (used <= 0) return;
    this._buffer.copyWithin(0, used, this._count);
    this._count -= used;
    this._position -= used;
  }
}
