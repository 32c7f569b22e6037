/** Plays replies on the loudspeaker and reports their playback. */

import { DeviceDelay } from "./device-delay.js";
import { Playback } from "./playback.js";
import { msOfSamples } from "./units.js";

const LOOK_EVERY_MS = 500;

/**
 * Events, each with a detail:
 *   `began` {reply}; `audible` {reply, leaves_s, device_ms}: context time at which the first audible sample leaves the
 *   loudspeaker, and the time since it arrived here; `progress` {reply, level}; `finished` {reply, played_ms};
 *   `flushed` {reply, played_ms}; `dropped` {reply}.
 */
export class AudioOut extends EventTarget {
  /** @param {AudioContext} context with player-worklet.js loaded */
  constructor(context) {
    super();
    this._context = context;
    this._delay = new DeviceDelay(context);
    this._player = new AudioWorkletNode(context, "repartee-player", { numberOfInputs: 0, outputChannelCount: [1] });
    /** The output after player and volume. */
    this.node = new GainNode(context);
    this._player.connect(this.node).connect(context.destination);
    this._player.port.onmessage = ({ data }) => this._told(data);
    /** @type {Map<string, {playback: Playback, arrivals: {sample: number, at_s: number}[], received: number, over: boolean}>} */
    this._replies = new Map();
    this._looking = setInterval(() => this._delay.look(), LOOK_EVERY_MS);
  }

  /** @returns {number} ms from rendering to leaving the loudspeaker */
  get deviceDelayMs() {
    return this._delay.seconds * 1000;
  }

  /** @param {number} loudness 0..1 */
  set volume(loudness) {
    // A power law, so that the middle of the slider sounds half as loud.
    this.node.gain.setTargetAtTime(loudness ** 2, this._context.currentTime, 0.01);
  }

  /**
   * @param {string} reply
   * @param {Int16Array} pcm 24 kHz; its buffer is transferred
   */
  push(reply, pcm) {
    const known = this._of(reply);
    known.arrivals.push({ sample: known.received, at_s: this._context.currentTime });
    known.received += pcm.length;
    if (known.over) return; // it was flushed
    this._player.port.postMessage({ type: "push", reply, pcm }, [pcm.buffer]);
  }

  /** Ends a reply whose audio is complete. */
  end(reply) {
    if (this._replies.has(reply)) this._player.port.postMessage({ type: "end", reply });
  }

  /** @returns {boolean} whether the reply has audio here that was not completely played */
  holds(reply) {
    return this._replies.get(reply)?.over === false;
  }

  /** Stops playback at once and drops further audio of the current replies. */
  flush() {
    for (const known of this._replies.values()) known.over = true;
    this._player.port.postMessage({ type: "flush" });
  }

  /** Stops playback and forgets all replies, because another conversation uses the same reply ids. */
  forget() {
    this.flush();
    this._player.port.postMessage({ type: "forget" });
    this._replies.clear();
  }

  /** @param {boolean} on whether to lower the volume by 18 dB */
  duck(on) {
    this._player.port.postMessage({ type: "duck", on });
  }

  /** @returns {number} ms of the reply's audio that have arrived */
  receivedMs(reply) {
    return msOfSamples(this._replies.get(reply)?.received ?? 0);
  }

  /** @returns {number} ms of the reply that have left the loudspeaker by now */
  heardMs(reply) {
    const playback = this._replies.get(reply)?.playback;
    if (!playback) return 0;
    return msOfSamples(playback.sampleAt((this._context.currentTime - this._delay.seconds) * this._context.sampleRate));
  }

  close() {
    clearInterval(this._looking);
    this._player.port.postMessage({ type: "close" });
    this._player.disconnect();
    this.node.disconnect();
  }

  _of(reply) {
    if (!this._replies.has(reply)) {
      if (this._replies.size > 8) this._replies.delete(this._replies.keys().next().value);
      this._replies.set(reply, { playback: new Playback(this._context.sampleRate), arrivals: [], received: 0, over: false });
    }
    return this._replies.get(reply);
  }

  _told(told) {
    if (told.type === "flushed") {
      if (told.cut) this._tell("flushed", { reply: told.cut.reply, played_ms: msOfSamples(told.cut.sample) });
      return;
    }
    const known = this._replies.get(told.reply);
    if (!known) return; // sent just before the reply was forgotten
    const { playback, arrivals } = known;
    if (told.type === "run") {
      playback.run(told.frame, told.sample);
      if (told.sample === 0) this._tell("began", { reply: told.reply });
    } else if (told.type === "audible") {
      const leaves_s = told.frame / this._context.sampleRate + this._delay.seconds;
      const arrived = arrivals.findLast((one) => one.sample <= told.sample);
      this._tell("audible", { reply: told.reply, leaves_s, device_ms: (leaves_s - arrived.at_s) * 1000 });
    } else if (told.type === "progress") {
      playback.upTo(told.sample);
      this._tell("progress", { reply: told.reply, level: told.level });
    } else if (told.type === "finished") {
      playback.upTo(told.sample);
      known.over = true;
      this._tell("finished", { reply: told.reply, played_ms: msOfSamples(told.sample) });
    } else if (told.type === "dropped") this._tell("dropped", { reply: told.reply });
  }

  _tell(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}
