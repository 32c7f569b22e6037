/** Converts audio from one sample rate to another, block by block. Pure. */

import { Kernel } from "./kernel.js";

/** Output sample k is the sound k / toHz after the first input sample: the filter's delay is compensated. */
export class StreamResampler {
  /**
   * @param {number} fromHz an integer
   * @param {number} toHz an integer
   */
  constructor(fromHz, toHz) {
    this._kernel = new Kernel(fromHz, toHz);
    this._phase = 0;
    this._held = new Float32Array(4096);
    this._count = this._kernel.half - 1; // silence before the first sample
    this._at = this._count; // position of the next output sample in `_held`
  }

  /**
   * @param {Float32Array} block the next samples, without a gap
      * @returns {Float32Array} the samples that are ready, possibly none
   */
  push(block) {
    this._hold(block);
    const { half, taps, phases, step, weights } = this._kernel;
    const out = new Float32Array(Math.ceil((block.length * phases) / step) + 1);
    let given = 0;
    while (this._at + half < this._count) {
      const row = this._phase * taps;
      const from = this._at - half + 1;
      let sum = 0;
      for (let j = 0; j < taps; j++) sum += weights[row + j] * this._held[from + j];
      out[given++] = sum;
      this._phase += step;
      this._at += Math.floor(this._phase / phases);
      this._phase %= phases;
    }
    this._forget();
    return out.subarray(0, given);
  }

  _hold(block) {
    if (this._count + block.length > this._held.length) {
      const wider = new Float32Array(2 * (this._count + block.length));
      wider.set(this._held.subarray(0, this._count));
      this._held = wider;
    }
    this._held.set(block, this._count);
    this._count += block.length;
  }

  _forget() {
    const gone = Math.min(this._at - this._kernel.half + 1, this._count);
    if (gone <= 0) return;
    this._held.copyWithin(0, gone, this._count);
    this._count -= gone;
    this._at -= gone;
  }
}
