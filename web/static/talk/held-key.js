/** Push-to-talk: which sound goes out, and when what was said is a turn. Pure. */

import { msOfSamples } from "../sound/units.js";

const SHORTEST_MS = 100; // the server calls less than that an empty buffer

export class HeldKey {
  constructor() {
    /** Turns are taken with the key; false: all sound goes out. */
    this.wanted = false;
    /** It is down. */
    this.down = false;
    this._closing = false;
    this._samples = 0;
  }

  /** @returns {boolean} false where that means nothing: not wanted, or down already (keys repeat) */
  press() {
    if (!this.wanted || this.down) return false;
    this.down = true;
    this._closing = false;
    this._samples = 0;
    return true;
  }

  /** The chunk that is being captured still goes out: the last syllable is in it. */
  release() {
    this._closing = this.down;
    this.down = false;
  }

  /**
   * @param {number} samples of a chunk, at the wire's rate
   * @returns {boolean} does it go out?
   */
  lets(samples) {
    if (!this.wanted && !this._closing) return true;
    if (!this.down && !this._closing) return false;
    this._samples += samples;
    return true;
  }

  /** Asked after every chunk: is what was said complete? @returns {"turn" | "nothing" | null} */
  closing() {
    if (!this._closing) return null;
    this._closing = false;
    return msOfSamples(this._samples) < SHORTEST_MS ? "nothing" : "turn";
  }
}
