/** Runs in the audio thread: plays replies and reports their playback. */

import { Player } from "./player.js";

const REPORT_EVERY = 8; // blocks of 128 frames: 21 ms at 48 kHz

class PlayerProcessor extends AudioWorkletProcessor {
  constructor() {
    super();
    this._player = new Player(sampleRate);
    this._blocks = 0;
    this._active = true;
    this.port.onmessage = ({ data }) => this._handle(data);
  }

  process(_inputs, [[out]]) {
    for (const event of this._player.render(out, currentFrame)) this.port.postMessage(event);
    const position = this._player.position;
    if (position && ++this._blocks % REPORT_EVERY === 0) {
      this.port.postMessage({ type: "progress", ...position, level: this._player.level });
    }
    return this._active;
  }

  _handle(command) {
    if (command.type === "push" && !this._player.pushChunk(command.reply, command.pcm)) {
      this.port.postMessage({ type: "dropped", reply: command.reply });
    } else if (command.type === "end") this._player.end(command.reply);
    else if (command.type === "reset") this._player.reset();
    else if (command.type === "close") this._active = false;
    else if (command.type === "duck") this._player.duck(command.on);
    else if (command.type === "flush") this.port.postMessage({ type: "flushed", cut: this._player.flush() });
  }
}

registerProcessor("repartee-player", PlayerProcessor);
