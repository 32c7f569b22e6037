/** Finds where sound becomes audible, with the server's rule (audio/level.py), so that both agree. Pure. */

import { FULL_SCALE } from "./units.js";

const AUDIBLE_RMS = 0.005; // -46 dBFS
const WINDOWS_PER_S = 100;
const ONSET_WINDOWS = 15;
const SUSTAINED_WINDOWS = 8;

/**
 * Finds the first sample of sustained sound: the start of the first 10 ms window from which 8 of 15 windows are loud.
 * The result does not depend on how the stream is divided into blocks.
 */
export class AudibleOnsetDetector {
  /** @param {number} rateHz sample rate of the stream */
  constructor(rateHz) {
    this._window = Math.floor(rateHz / WINDOWS_PER_S);
    this._loudEnergy = this._window * (AUDIBLE_RMS * FULL_SCALE) ** 2;
    this._recent = [];
    this._windows = 0;
    this._energy = 0;
    this._samples = 0;
    /** @type {number | null} position of the onset in samples, once it is known */
    this.onset = null;
  }

  /**
   * @param {Int16Array} pcm the next samples
   * @returns {number | null} the onset, which is known at the earliest 80 ms later
   */
  feed(pcm) {
    for (let n = 0; n < pcm.length && this.onset === null; n++) {
      this._energy += pcm[n] * pcm[n];
      if (++this._samples === this._window) {
        this._addWindow(this._energy > this._loudEnergy);
        this._energy = this._samples = 0;
      }
    }
    return this.onset;
  }

  _addWindow(loud) {
    this._recent.push(loud);
    if (this._recent.length > ONSET_WINDOWS) this._recent.shift();
    this._windows++;
    if (!loud || this._recent.filter(Boolean).length < SUSTAINED_WINDOWS) return;
    this.onset = (this._windows - this._recent.length + this._recent.indexOf(true)) * this._window;
  }
}
