/**
 * Plays replies: queues, resamples, fades and ducks them, and counts what was rendered. Pure: it has no clock; time is
 * the context frame passed to `render`.
 *
 * The first sample is played at once. After an underrun within a reply, 60 ms are buffered before it continues, and twice
 * as much after each further underrun. A reply without an underrun halves the buffer again.
 */

import { ResamplingFilter } from "./resampling-filter.js";
import { levelDbfs } from "./pcm.js";
import { AudibleOnsetDetector } from "./audible-onset.js";
import { FULL_SCALE, samplesOfMs, WIRE_RATE_HZ } from "./units.js";

const CAPACITY = 1 << 21; // samples, 87 s at 24 kHz: what a server may send ahead
const FIRST_BUFFER_MS = 60;
const MAX_BUFFER_MS = 480;
const FADE_MS = 4;
const RAMP_MS = 20;
const DUCKED_GAIN = 10 ** (-18 / 20);

/**
 * @typedef {object} PlayerEvent
 * @property {"run" | "audible" | "underrun" | "finished"} type
 * @property {string} reply
 * @property {number} frame context frame at which it happened
 * @property {number} sample position in the reply, at the wire's sample rate
 */

export class Player {
  /** @param {number} rateHz sample rate of the context, an integer */
  constructor(rateHz) {
    this._filter = new ResamplingFilter(WIRE_RATE_HZ, rateHz);
    this._rateHz = rateHz;
    this._ring = new Float32Array(CAPACITY);
    this._written = 0; // samples ever put into the ring
    this._replies = [];
    this._flushedId = null; // the reply that was flushed last: its further audio is dropped
    this._bufferMs = 0;
    this._fade = Math.round((FADE_MS * rateHz) / 1000);
    this._last = 0; // the last rendered sample, before ducking
    this._tail = new Float32Array(0);
    this._gain = 1;
    this._gainTarget = 1;
    /** Level of the last rendered block, dBFS. */
    this.level = levelDbfs(this._tail);
  }

  /** @returns {{reply: string, sample: number} | null} the current reply and how much of it was rendered */
  get position() {
    const reply = this._replies[0];
    return reply ? { reply: reply.id, sample: this._sampleOf(reply) } : null;
  }

  /**
   * Queues audio of a reply; the first piece opens it.
   * @param {string} id
   * @param {Int16Array} pcm 24 kHz
   * @returns {boolean} false if it was dropped: the reply was flushed, or the queue is full
   */
  pushChunk(id, pcm) {
    if (id === this._flushedId) return false;
    let reply = this._replies.at(-1);
    if (reply?.id !== id) {
      reply = this._open(id);
      this._replies.push(reply);
    }
    const oldest = this._replies[0];
    if (reply.ended || this._written + pcm.length - Math.max(oldest.start, oldest.at - this._filter.taps) > CAPACITY) {
      return false;
    }
    for (let n = 0; n < pcm.length; n++) this._ring[(this._written + n) % CAPACITY] = pcm[n] / FULL_SCALE;
    this._written += pcm.length;
    reply.end = this._written;
    reply.onset.feed(pcm);
    return true;
  }

  /** Ends a reply whose audio is complete. */
  end(id) {
    const reply = this._replies.find((one) => one.id === id);
    if (reply) reply.ended = true;
  }

  /**
   * Stops playback at the next block, with a fade of 4 ms.
   * @returns {{reply: string, sample: number} | null} the reply that was playing and how much of it was rendered
   */
  flush() {
    const cut = this.position;
    const reply = this._replies[0];
    if (reply?.playing) {
      const tail = new Float32Array(this._fade);
      const n = this._resample(reply, tail, 0);
      for (let k = 0; k < n; k++) tail[k] *= 1 - k / n;
      this._tail = tail.subarray(0, n);
    }
    this._flushedId = this._replies.at(-1)?.id ?? this._flushedId;
    this._replies = [];
    this._gainTarget = 1; // the ducked reply is gone
    return cut;
  }

  /** Allows reply ids to be used again. */
  reset() {
    this._flushedId = null;
  }

  /** Lowers the current reply by 18 dB, or restores it, within 20 ms. */
  duck(on) {
    this._gainTarget = on && this._replies.length ? DUCKED_GAIN : 1;
  }

  /**
   * Renders the next block.
   * @param {Float32Array} out all zeros
   * @param {number} frame context frame of its first sample
   * @returns {PlayerEvent[]}
   */
  render(out, frame) {
    const events = [];
    let at = Math.min(this._tail.length, out.length);
    out.set(this._tail.subarray(0, at));
    this._tail = this._tail.subarray(at);
    while (at < out.length && this._replies.length) {
      const reply = this._replies[0];
      if (!reply.playing && !this._startOrResume(reply, frame + at, events)) break;
      const rendered = this._resample(reply, out, at);
      this._fadeIn(reply, out, at, rendered);
      at += rendered;
      this._reportOnset(reply, events);
      if (reply.ended && reply.at >= reply.end) this._finish(reply, frame + at, events);
      else if (at < out.length) {
        reply.playing = false; // underrun
        at += this._fadeOut(out, at);
      }
    }
    this._applyGain(out);
    this.level = levelDbfs(out);
    return events;
  }

  _open(id) {
    return {
      id, start: this._written, end: this._written, at: this._written, phase: 0, ended: false, playing: false,
      onset: new AudibleOnsetDetector(WIRE_RATE_HZ), audible: false, runs: [], underruns: 0, faded: this._fade,
    };
  }

  /** Starts or continues the reply if enough audio is buffered. */
  _startOrResume(reply, frame, events) {
    const resumed = reply.runs.length > 0;
    const bufferMs = resumed ? Math.min(MAX_BUFFER_MS, 2 * this._bufferMs || FIRST_BUFFER_MS) : this._bufferMs;
    const enough = Math.max(samplesOfMs(bufferMs), this._filter.half + 1);
    if (!reply.ended && reply.end - reply.at < enough) return false;
    const sample = this._sampleOf(reply);
    if (resumed && reply.end - reply.at > this._filter.half) { // otherwise only its last samples were held back
      reply.underruns++;
      reply.faded = 0;
      this._bufferMs = bufferMs;
      events.push({ type: "underrun", reply: reply.id, frame, sample });
    }
    reply.playing = true;
    reply.runs.push({ frame, sample });
    events.push({ type: "run", reply: reply.id, frame, sample });
    return true;
  }

  _finish(reply, frame, events) {
    this._replies.shift();
    this._gainTarget = 1; // as after a flush
    if (!reply.underruns) this._bufferMs = this._bufferMs <= FIRST_BUFFER_MS ? 0 : this._bufferMs / 2;
    events.push({ type: "finished", reply: reply.id, frame, sample: reply.end - reply.start });
  }

  /** Reports the onset. It is known at the earliest 80 ms later, so its frame is looked up in the runs. */
  _reportOnset(reply, events) {
    const onset = reply.onset.onset;
    if (reply.audible || onset === null || this._sampleOf(reply) < onset) return;
    reply.audible = true;
    const run = reply.runs.findLast((one) => one.sample <= onset) ?? reply.runs[0];
    const frame = run.frame + ((onset - run.sample) * this._rateHz) / WIRE_RATE_HZ;
    events.push({ type: "audible", reply: reply.id, frame, sample: onset });
  }

  _sampleOf(reply) {
    return Math.min(reply.at, reply.end) - reply.start;
  }

  /** Resamples the queued audio into `out` from `at` on; returns the number of samples written. */
  _resample(reply, out, at) {
    const { half, taps, phases, step, weights } = this._filter;
    const last = reply.ended ? reply.end : reply.end - half;
    let k = at;
    for (; k < out.length && reply.at < last; k++) {
      const row = reply.phase * taps;
      const from = reply.at - half + 1;
      const first = Math.max(0, reply.start - from); // silence before and after the reply
      const beyond = Math.min(taps, reply.end - from);
      let sum = 0;
      for (let j = first; j < beyond; j++) sum += weights[row + j] * this._ring[(from + j) % CAPACITY];
      out[k] = sum;
      reply.phase += step;
      reply.at += Math.floor(reply.phase / phases);
      reply.phase %= phases;
    }
    return k - at;
  }

  /** Fades from the last sample to silence after an underrun, to avoid a click. */
  _fadeOut(out, at) {
    const tail = Float32Array.from({ length: this._fade }, (_, k) => this._last * (1 - (k + 1) / this._fade));
    const n = Math.min(tail.length, out.length - at);
    out.set(tail.subarray(0, n), at);
    this._tail = tail.subarray(n);
    return n;
  }

  /** Fades in after an underrun. */
  _fadeIn(reply, out, at, rendered) {
    if (rendered) this._last = out[at + rendered - 1];
    for (let k = at; k < at + rendered && reply.faded < this._fade; k++) out[k] *= reply.faded++ / this._fade;
  }

  _applyGain(out) {
    if (this._gain === 1 && this._gainTarget === 1) return;
    const step = (1 - DUCKED_GAIN) / ((RAMP_MS * this._rateHz) / 1000);
    for (let n = 0; n < out.length; n++) {
      const difference = this._gainTarget - this._gain;
      this._gain = Math.abs(difference) <= step ? this._gainTarget : this._gain + Math.sign(difference) * step;
      out[n] *= this._gain;
    }
  }
}
