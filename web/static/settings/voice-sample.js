/** The button that lets the user hear the chosen voice. */

import { text } from "../texts/texts.js";
import { fetchVoiceSample } from "./server-settings.js";

export class VoiceSample {
  /**
   * @param {HTMLButtonElement} button
   * @param {HTMLElement} status where a problem is shown
   * @param {() => {choices: object, token: string, volume: number}} current
   */
  constructor(button, status, current) {
    this._button = button;
    this._status = status;
    this._current = current;
    this._playing = null; // {abort, context} while it loads or plays
    button.onclick = () => (this._playing ? this.stop() : this._play());
    this._draw("idle");
  }

  stop() {
    const playing = this._playing;
    this._playing = null;
    playing?.abort.abort();
    playing?.context.close().catch(() => {});
    this._draw("idle");
  }

  async _play() {
    const playing = (this._playing = { abort: new AbortController(), context: new AudioContext() });
    this._status.textContent = "";
    this._draw("loading");
    try {
      const { choices, token, volume } = this._current();
      const file = await fetchVoiceSample(choices, token, playing.abort.signal);
      const sound = await playing.context.decodeAudioData(file);
      if (this._playing !== playing) return;
      const source = new AudioBufferSourceNode(playing.context, { buffer: sound });
      source.connect(new GainNode(playing.context, { gain: volume })).connect(playing.context.destination);
      source.onended = () => this._playing === playing && this.stop();
      this._draw("playing");
      source.start();
    } catch (error) {
      if (this._playing !== playing) return;
      this._status.textContent = error.name === "TimeoutError" || error instanceof TypeError ? text("server.unreachable") : error.message;
      this.stop();
    }
  }

  /** @param {"idle" | "loading" | "playing"} state */
  _draw(state) {
    this._button.textContent = text({ idle: "settings.listen", loading: "settings.loading", playing: "settings.stop" }[state]);
    this._button.dataset.state = state;
  }
}
