/** One AudioContext for ear and mouth: one clock for both, which is what makes a latency measurable. */

import { AudioIn } from "./audio-in.js";
import { AudioOut } from "./audio-out.js";

const LAST_BLOCK_MS = 200; // a processor that has not ended by itself keeps its closed context in Chromium's memory

/** What runs in the audio thread could not be fetched. */
export class Unreachable extends Error {}

/** Events: `state` (detail: the context's state, when it changes). */
export class Sound extends EventTarget {
  /**
   * Open it in a user's gesture, or it stays suspended.
   * @returns {Promise<Sound>}
   * @throws {Unreachable} where the server is
   */
  static async open() {
    const context = new AudioContext({ latencyHint: "interactive" });
    context.resume(); // not awaited: a browser that wants another gesture first answers when it has it
    const modules = ["capture-worklet.js", "player-worklet.js"];
    try {
      await Promise.all(modules.map((name) => context.audioWorklet.addModule(new URL(name, import.meta.url))));
    } catch (error) {
      await context.close(); // it would hold the sound card until the page is closed
      throw error.name === "AbortError" ? new Unreachable(error.message) : error;
    }
    return new Sound(context);
  }

  /** @param {AudioContext} context with both worklets loaded */
  constructor(context) {
    super();
    this.context = context;
    this.input = new AudioIn(context);
    this.output = new AudioOut(context);
    context.onstatechange = () => this.dispatchEvent(new CustomEvent("state", { detail: context.state }));
  }

  resume() {
    return this.context.resume();
  }

  async close() {
    this.context.onstatechange = null;
    this.input.end();
    this.output.close();
    await new Promise((done) => setTimeout(done, LAST_BLOCK_MS));
    await this.context.close();
  }
}
