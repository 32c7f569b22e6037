/** Converts the microphone's blocks to chunks for the wire, each with the context frame of its first sample. Pure. */

import { levelDbfs, toInt16 } from "./pcm.js";
import { StreamResampler } from "./resampler.js";
import { CHUNK_SAMPLES, WIRE_RATE_HZ } from "./units.js";

/**
 * @typedef {object} Chunk
 * @property {Int16Array} pcm 20 ms at 24 kHz
 * @property {number} frame context frame (fractional) at which its first sample was captured
 * @property {number} level RMS, dBFS
 */

export class Capture {
  /** @param {number} rateHz sample rate of the context, an integer */
  constructor(rateHz) {
    this._rateHz = rateHz;
    this._restart(0);
  }

  /**
   * @param {number} frame context frame of the block's first sample; a jump starts a new stream
   * @param {Float32Array} block mono
   * @returns {Chunk[]} the chunks that the block completes
   */
  process(frame, block) {
    if (frame !== this._expectedFrame) this._restart(frame);
    this._expectedFrame = frame + block.length;
    const samples = this._resampler.pushBlock(block);
    const chunks = [];
    for (let at = 0; at < samples.length; ) {
      const n = Math.min(samples.length - at, CHUNK_SAMPLES - this._filled);
      this._chunk.set(samples.subarray(at, at + n), this._filled);
      this._filled += n;
      at += n;
      if (this._filled === CHUNK_SAMPLES) chunks.push(this._emitChunk());
    }
    return chunks;
  }

  _emitChunk() {
    const frame = this._firstFrame + (this._emitted * this._rateHz) / WIRE_RATE_HZ;
    this._emitted += CHUNK_SAMPLES;
    this._filled = 0;
    return { pcm: toInt16(this._chunk), frame, level: levelDbfs(this._chunk) };
  }

  _restart(frame) {
    this._resampler = new StreamResampler(this._rateHz, WIRE_RATE_HZ);
    this._chunk = new Float32Array(CHUNK_SAMPLES);
    this._filled = 0;
    this._emitted = 0;
    this._firstFrame = frame;
    this._expectedFrame = frame;
  }
}
