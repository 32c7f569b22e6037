/** Push-to-talk: decides which audio is sent, and when a turn is complete. Pure. */

import { msOfSamples } from "../audio/units.js";

const MIN_TURN_MS = 100; // the server rejects shorter turns as an empty buffer

export class PushToTalk {
  constructor() {
    /** Whether push-to-talk is on; if not, all audio is sent. */
    this.enabled = false;
    /** Whether the key is down. */
    this.keyDown = false;
    this._released = false; // the last chunk of the turn is still to be sent
    this._samples = 0; // length of the turn
  }

  /** @returns {boolean} false if it has no effect: push-to-talk is off, or the key is down already (keys repeat) */
  press() {
    if (!this.enabled || this.keyDown) return false;
    this.keyDown = true;
    this._released = false;
    this._samples = 0;
    return true;
  }

  /** Releases the key. The chunk that is being captured is still sent, because it has the last syllable. */
  release() {
    this._released = this.keyDown;
    this.keyDown = false;
  }

  /**
   * Counts a chunk as part of the turn if it is to be sent.
   * @param {number} samples length of the chunk, at the wire's sample rate
   * @returns {boolean} whether the chunk is to be sent
   */
  accepts(samples) {
    if (!this.enabled && !this._released) return true;
    if (!this.keyDown && !this._released) return false;
    this._samples += samples;
    return true;
  }

  /**
   * Returns what to do with the turn; called after every chunk.
   * @returns {"commit" | "clear" | null} null while the turn is not complete; "clear" if it is too short
   */
  nextAction() {
    if (!this._released) return null;
    this._released = false;
    return msOfSamples(this._samples) < MIN_TURN_MS ? "clear" : "commit";
  }
}
