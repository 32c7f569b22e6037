/** Push-to-talk: decides which audio is sent, and when a turn is complete. Pure. */

import { msOfSamples } from "../sound/units.js";

const SHORTEST_MS = 100; // the server refuses shorter turns as an empty buffer

export class HeldKey {
  constructor() {
    /** Whether push-to-talk is on; if not, all audio is sent. */
    this.wanted = false;
    /** Whether the key is down. */
    this.down = false;
    this._closing = false;
    this._samples = 0;
  }

  /** @returns {boolean} false if it has no effect: push-to-talk is off, or the key is down already (keys repeat) */
  press() {
    if (!this.wanted || this.down) return false;
    this.down = true;
    this._closing = false;
    this._samples = 0;
    return true;
  }

  /** Releases the key. The chunk that is being captured is still sent, because it has the last syllable. */
  release() {
    this._closing = this.down;
    this.down = false;
  }

  /**
   * @param {number} samples length of a chunk, at the wire's sample rate
      * @returns {boolean} whether it is sent
   */
  lets(samples) {
    if (!this.wanted && !this._closing) return true;
    if (!this.down && !this._closing) return false;
    this._samples += samples;
    return true;
  }

  /** Called after every chunk: returns whether the turn is complete. @returns {"turn" | "nothing" | null} */
  closing() {
    if (!this._closing) return null;
    this._closing = false;
    return msOfSamples(this._samples) < SHORTEST_MS ? "nothing" : "turn";
  }
}
