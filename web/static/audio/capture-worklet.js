/** Runs in the audio thread: converts the microphone's blocks to chunks. */

import { Capture } from "./capture.js";

const QUANTUM = 128;

class CaptureProcessor extends AudioWorkletProcessor {
  constructor() {
    super();
    this._capture = new Capture(sampleRate);
    this._mono = new Float32Array(QUANTUM);
    this._active = true;
    this.port.onmessage = () => (this._active = false);
  }

  process([channels]) {
    if (!channels.length) return this._active; // nothing connected: the next block begins a new stream
    for (const chunk of this._capture.process(currentFrame, this._mixToMono(channels))) {
      this.port.postMessage(chunk, [chunk.pcm.buffer]);
    }
    return this._active;
  }

  _mixToMono(channels) {
    if (channels.length === 1) return channels[0];
    if (this._mono.length !== channels[0].length) this._mono = new Float32Array(channels[0].length);
    this._mono.fill(0);
    for (const channel of channels) {
      for (let n = 0; n < channel.length; n++) this._mono[n] += channel[n] / channels.length;
    }
    return this._mono;
  }
}

registerProcessor("repartee-capture", CaptureProcessor);
