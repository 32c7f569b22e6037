/** Runs in the audio thread: finds where the sound of a received track becomes audible. */

import { AudibleOnsetDetector } from "./audible-onset.js";
import { levelDbfs, toInt16 } from "./pcm.js";

const REPORT_EVERY = 8; // blocks of 128 frames: 21 ms at 48 kHz

class ListenerProcessor extends AudioWorkletProcessor {
  constructor() {
    super();
    this._active = true;
    this._blocks = 0;
    this._restart();
    this.port.onmessage = ({ data }) => (data === "close" ? (this._active = false) : this._restart());
  }

  process([channels], [[out]]) {
    const [block] = channels;
    if (block) {
      out.set(block);
      this._listen(block);
    }
    return this._active;
  }

  _listen(block) {
    this._first ??= currentFrame;
    const found = this._detector.onset !== null;
    const onset = this._detector.feed(toInt16(block));
    if (onset !== null && !found) this.port.postMessage({ type: "audible", frame: this._first + onset });
    if (++this._blocks % REPORT_EVERY === 0) this.port.postMessage({ type: "progress", level: levelDbfs(block) });
  }

  /** Listens for the next onset. */
  _restart() {
    this._detector = new AudibleOnsetDetector(sampleRate);
    this._first = null;
  }
}

registerProcessor("repartee-listener", ListenerProcessor);
