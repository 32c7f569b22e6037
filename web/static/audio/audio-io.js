/** One AudioContext for input and output. Their shared clock makes the latency measurable. */

import { MicrophoneInput } from "./microphone-input.js";
import { SpeakerOutput } from "./speaker-output.js";
import { TrackOutput } from "./track-output.js";

const LAST_BLOCK_MS = 200; // time for the processors to end; otherwise Chromium keeps the closed context in memory

/** The worklet modules could not be fetched. */
export class WorkletLoadError extends Error {}

/** Events: `state` (detail: the new state of the context). */
export class AudioIO extends EventTarget {
  /**
   * Creates the context. Must be called in a user gesture; otherwise the context stays suspended.
   * @returns {Promise<AudioIO>}
   * @throws {WorkletLoadError} if the server cannot be reached
   */
  static async open() {
    const context = new AudioContext({ latencyHint: "interactive" });
    context.resume(); // not awaited: it may wait for another user gesture
    const modules = ["capture-worklet.js", "player-worklet.js", "listener-worklet.js"];
    try {
      await Promise.all(modules.map((name) => context.audioWorklet.addModule(new URL(name, import.meta.url))));
    } catch (error) {
      await context.close(); // otherwise it holds the sound card until the page is closed
      throw error.name === "AbortError" ? new WorkletLoadError(error.message) : error;
    }
    return new AudioIO(context);
  }

  /** @param {AudioContext} context with all worklets loaded */
  constructor(context) {
    super();
    this.context = context;
    this.input = new MicrophoneInput(context);
    this._speaker = new SpeakerOutput(context);
    /** @type {SpeakerOutput | TrackOutput} */
    this.output = this._speaker;
    context.onstatechange = () => this.dispatchEvent(new CustomEvent("state", { detail: context.state }));
  }

  /** @param {"websocket" | "webrtc"} transport how replies arrive: their sound as events, or as a track */
  setTransport(transport) {
    if (this.output !== this._speaker) this.output.close();
    this.output = transport === "webrtc" ? new TrackOutput(this.context, this._speaker) : this._speaker;
  }

  resume() {
    return this.context.resume();
  }

  async close() {
    this.context.onstatechange = null;
    this.input.end();
    this.setTransport("websocket");
    this._speaker.close();
    await new Promise((done) => setTimeout(done, LAST_BLOCK_MS));
    await this.context.close();
  }
}
