/** Runs in the audio thread: plays replies and reports their playback. */

import { Player } from "./player.js";

const TELL_EVERY = 8; // blocks of 128 frames: 21 ms at 48 kHz

class PlayerProcessor extends AudioWorkletProcessor {
  constructor() {
    super();
    this._player = new Player(sampleRate);
    this._blocks = 0;
    this._goesOn = true;
    this.port.onmessage = ({ data }) => this._do(data);
  }

  process(_inputs, [[out]]) {
    for (const told of this._player.render(out, currentFrame)) this.port.postMessage(told);
    const position = this._player.position;
    if (position && ++this._blocks % TELL_EVERY === 0) {
      this.port.postMessage({ type: "progress", ...position, level: this._player.level });
    }
    return this._goesOn;
  }

  _do(order) {
    if (order.type === "push" && !this._player.push(order.reply, order.pcm)) {
      this.port.postMessage({ type: "dropped", reply: order.reply });
    } else if (order.type === "end") this._player.end(order.reply);
    else if (order.type === "forget") this._player.forget();
    else if (order.type === "close") this._goesOn = false;
    else if (order.type === "duck") this._player.duck(order.on);
    else if (order.type === "flush") this.port.postMessage({ type: "flushed", cut: this._player.flush() });
  }
}

registerProcessor("repartee-player", PlayerProcessor);
