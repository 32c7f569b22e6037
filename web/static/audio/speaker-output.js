/** Plays replies on the loudspeaker and reports their playback. */

import { DeviceDelay } from "./device-delay.js";
import { PlaybackTimeline } from "./playback-timeline.js";
import { FULL_SCALE, msOfSamples, WIRE_RATE_HZ } from "./units.js";

const MEASURE_EVERY_MS = 500;
const SOUND_FADE_S = 0.005;

/**
 * Events, each with a detail:
 *   `began` {reply}; `audible` {reply, leaves_s, device_ms}: context time at which the first audible sample leaves the
 *   loudspeaker, and the time since it arrived here; `progress` {reply, level}; `finished` {reply, played_ms};
 *   `flushed` {reply, played_ms}; `dropped` {reply}.
 */
export class SpeakerOutput extends EventTarget {
  /** @param {AudioContext} context with player-worklet.js loaded */
  constructor(context) {
    super();
    this._context = context;
    this._delay = new DeviceDelay(context);
    this._player = new AudioWorkletNode(context, "repartee-player", { numberOfInputs: 0, outputChannelCount: [1] });
    /** The output after player and volume. */
    this.node = new GainNode(context);
    this._player.connect(this.node).connect(context.destination);
    this._player.port.onmessage = ({ data }) => this._handlePlayerEvent(data);
    /** @type {Map<string, {playback: PlaybackTimeline, arrivals: {sample: number, at_s: number}[], received: number, closed: boolean}>} */
    this._replies = new Map();
    /** @type {{source: AudioBufferSourceNode, gain: GainNode} | null} the short sound that plays */
    this._sound = null;
    this._measureTimer = setInterval(() => this._delay.measure(), MEASURE_EVERY_MS);
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
  pushChunk(reply, pcm) {
    this.stopSound();
    const state = this._stateOf(reply);
    state.arrivals.push({ sample: state.received, at_s: this._context.currentTime });
    state.received += pcm.length;
    if (state.closed) return; // it was flushed
    this._player.port.postMessage({ type: "push", reply, pcm }, [pcm.buffer]);
  }

  /** Ends a reply whose audio is complete. */
  end(reply) {
    if (this._replies.has(reply)) this._player.port.postMessage({ type: "end", reply });
  }

  /** @returns {boolean} whether the reply has audio here that was not completely played */
  hasUnplayedAudio(reply) {
    return this._replies.get(reply)?.closed === false;
  }

  /** Stops playback at once and drops further audio of these replies. */
  flush() {
    this.stopSound();
    for (const state of this._replies.values()) state.closed = true;
    this._player.port.postMessage({ type: "flush" });
  }

  /** Stops playback and forgets all replies; called for a new conversation, which uses the same reply ids. */
  reset() {
    this.flush();
    this._player.port.postMessage({ type: "reset" });
    this._replies.clear();
  }

  /**
   * Plays a short sound that is not part of a reply. The audio of a reply replaces it.
   * @param {Int16Array} pcm 24 kHz
   */
  playSound(pcm) {
    this.stopSound();
    if (!pcm.length) return;
    const buffer = this._context.createBuffer(1, pcm.length, WIRE_RATE_HZ);
    buffer.copyToChannel(Float32Array.from(pcm, (sample) => sample / FULL_SCALE), 0);
    const sound = { source: new AudioBufferSourceNode(this._context, { buffer }), gain: new GainNode(this._context) };
    sound.source.connect(sound.gain).connect(this.node);
    sound.source.onended = () => {
      sound.gain.disconnect();
      if (this._sound === sound) this._sound = null;
    };
    sound.source.start();
    this._sound = sound;
  }

  /** Fades the short sound out within 5 ms, if one plays. */
  stopSound() {
    if (!this._sound) return;
    const { source, gain } = this._sound;
    this._sound = null;
    const now_s = this._context.currentTime;
    gain.gain.setValueAtTime(1, now_s);
    gain.gain.linearRampToValueAtTime(0, now_s + SOUND_FADE_S);
    source.stop(now_s + SOUND_FADE_S);
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
  playedMs(reply) {
    const playback = this._replies.get(reply)?.playback;
    if (!playback) return 0;
    return msOfSamples(playback.sampleAt((this._context.currentTime - this._delay.seconds) * this._context.sampleRate));
  }

  close() {
    clearInterval(this._measureTimer);
    this._player.port.postMessage({ type: "close" });
    this._player.disconnect();
    this.node.disconnect();
  }

  _stateOf(reply) {
    if (!this._replies.has(reply)) {
      if (this._replies.size > 8) this._replies.delete(this._replies.keys().next().value);
      this._replies.set(reply, { playback: new PlaybackTimeline(this._context.sampleRate), arrivals: [], received: 0, closed: false });
    }
    return this._replies.get(reply);
  }

  _handlePlayerEvent(event) {
    if (event.type === "flushed") {
      if (event.cut) this._emit("flushed", { reply: event.cut.reply, played_ms: msOfSamples(event.cut.sample) });
      return;
    }
    const state = this._replies.get(event.reply);
    if (!state) return; // sent just before the reply was forgotten
    const { playback, arrivals } = state;
    if (event.type === "run") {
      playback.addRun(event.frame, event.sample);
      if (event.sample === 0) this._emit("began", { reply: event.reply });
    } else if (event.type === "audible") {
      const leaves_s = event.frame / this._context.sampleRate + this._delay.seconds;
      const arrived = arrivals.findLast((one) => one.sample <= event.sample);
      this._emit("audible", { reply: event.reply, leaves_s, device_ms: (leaves_s - arrived.at_s) * 1000 });
    } else if (event.type === "progress") {
      playback.setRendered(event.sample);
      this._emit("progress", { reply: event.reply, level: event.level });
    } else if (event.type === "finished") {
      playback.setRendered(event.sample);
      state.closed = true;
      this._emit("finished", { reply: event.reply, played_ms: msOfSamples(event.sample) });
    } else if (event.type === "dropped") this._emit("dropped", { reply: event.reply });
  }

  _emit(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}
