/**
 * What sits between replies and the loudspeaker: a queue, the rate, the fade, the duck, the count. Pure: no clock,
 * time is the context frame that `render` is asked for.
 *
 * The first sample is played at once. Only where the queue once ran dry in the midst of a reply, 60 ms are gathered
 * before it goes on, and twice that after the next time; a reply that came through whole halves it again.
 */

import { Kernel } from "./kernel.js";
import { levelDbfs } from "./pcm.js";
import { OnsetFinder } from "./onset.js";
import { FULL_SCALE, samplesOfMs, WIRE_RATE_HZ } from "./units.js";

const CAPACITY = 1 << 21; // 87 s at 24 kHz: what a server may send ahead
const FIRST_CUSHION_MS = 60;
const MOST_CUSHION_MS = 480;
const FADE_MS = 4;
const RAMP_MS = 20;
const DUCKED = 10 ** (-18 / 20);

/**
 * @typedef {object} Told something that happened in a block
 * @property {"run" | "audible" | "underrun" | "finished"} type
 * @property {string} reply
 * @property {number} frame context frame at which it happened
 * @property {number} sample of the reply, at the wire's rate
 */

export class Player {
  /** @param {number} rateHz of the context, whole */
  constructor(rateHz) {
    this._kernel = new Kernel(WIRE_RATE_HZ, rateHz);
    this._rateHz = rateHz;
    this._ring = new Float32Array(CAPACITY);
    this._written = 0; // samples ever put into the ring
    this._replies = [];
    this._closed = null; // the reply that was flushed last: what still comes of it is dropped
    this._cushionMs = 0;
    this._fade = Math.round((FADE_MS * rateHz) / 1000);
    this._last = 0; // sample that was rendered last, before any duck
    this._tail = new Float32Array(0);
    this._gain = 1;
    this._gainTarget = 1;
    /** Level of the block rendered last, dBFS. */
    this.level = levelDbfs(this._tail);
  }

  /** @returns {{reply: string, sample: number} | null} the reply at hand and how much of it was rendered */
  get position() {
    const reply = this._replies[0];
    return reply ? { reply: reply.id, sample: this._sampleOf(reply) } : null;
  }

  /**
   * Queue sound of a reply; the first opens it.
   * @param {string} id
   * @param {Int16Array} pcm 24 kHz
   * @returns {boolean} false where it was dropped: of a reply that was flushed, or more than fits
   */
  push(id, pcm) {
    if (id === this._closed) return false;
    let reply = this._replies.at(-1);
    if (reply?.id !== id) {
      reply = this._open(id);
      this._replies.push(reply);
    }
    const oldest = this._replies[0];
    if (reply.ended || this._written + pcm.length - Math.max(oldest.start, oldest.at - this._kernel.taps) > CAPACITY) {
      return false;
    }
    for (let n = 0; n < pcm.length; n++) this._ring[(this._written + n) % CAPACITY] = pcm[n] / FULL_SCALE;
    this._written += pcm.length;
    reply.end = this._written;
    reply.onset.feed(pcm);
    return true;
  }

  /** No more will come of a reply. */
  end(id) {
    const reply = this._replies.find((one) => one.id === id);
    if (reply) reply.ended = true;
  }

  /**
   * Silence, from the next block on but for a fade of 4 ms.
   * @returns {{reply: string, sample: number} | null} what was playing and how much of it was rendered
   */
  flush() {
    const cut = this.position;
    const reply = this._replies[0];
    if (reply?.playing) {
      const tail = new Float32Array(this._fade);
      const n = this._produce(reply, tail, 0);
      for (let k = 0; k < n; k++) tail[k] *= 1 - k / n;
      this._tail = tail.subarray(0, n);
    }
    this._closed = this._replies.at(-1)?.id ?? this._closed;
    this._replies = [];
    this._gainTarget = 1; // a duck was about what is gone now
    return cut;
  }

  /** Names may be used again. */
  forget() {
    this._closed = null;
  }

  /** Lower the reply at hand by 18 dB, or raise it again, within 20 ms. */
  duck(on) {
    this._gainTarget = on && this._replies.length ? DUCKED : 1;
  }

  /**
   * Fill the next block.
   * @param {Float32Array} out all zeros
   * @param {number} frame context frame of its first sample
   * @returns {Told[]}
   */
  render(out, frame) {
    const told = [];
    let at = Math.min(this._tail.length, out.length);
    out.set(this._tail.subarray(0, at));
    this._tail = this._tail.subarray(at);
    while (at < out.length && this._replies.length) {
      const reply = this._replies[0];
      if (!reply.playing && !this._begin(reply, frame + at, told)) break;
      const rendered = this._produce(reply, out, at);
      this._fadeIn(reply, out, at, rendered);
      at += rendered;
      this._tellAudible(reply, told);
      if (reply.ended && reply.at >= reply.end) this._finish(reply, frame + at, told);
      else if (at < out.length) {
        reply.playing = false; // dry
        at += this._fadeOut(out, at);
      }
    }
    this._ramp(out);
    this.level = levelDbfs(out);
    return told;
  }

  _open(id) {
    return {
      id, start: this._written, end: this._written, at: this._written, phase: 0, ended: false, playing: false,
      onset: new OnsetFinder(WIRE_RATE_HZ), audible: false, runs: [], underruns: 0, faded: this._fade,
    };
  }

  /** Begin or go on, if there is enough to do so. */
  _begin(reply, frame, told) {
    const again = reply.runs.length > 0;
    const cushionMs = again ? Math.min(MOST_CUSHION_MS, 2 * this._cushionMs || FIRST_CUSHION_MS) : this._cushionMs;
    const enough = Math.max(samplesOfMs(cushionMs), this._kernel.half + 1);
    if (!reply.ended && reply.end - reply.at < enough) return false;
    const sample = this._sampleOf(reply);
    if (again && reply.end - reply.at > this._kernel.half) { // else only its last bit was held back
      reply.underruns++;
      reply.faded = 0;
      this._cushionMs = cushionMs;
      told.push({ type: "underrun", reply: reply.id, frame, sample });
    }
    reply.playing = true;
    reply.runs.push({ frame, sample });
    told.push({ type: "run", reply: reply.id, frame, sample });
    return true;
  }

  _finish(reply, frame, told) {
    this._replies.shift();
    this._gainTarget = 1; // as after a flush
    if (!reply.underruns) this._cushionMs = this._cushionMs <= FIRST_CUSHION_MS ? 0 : this._cushionMs / 2;
    told.push({ type: "finished", reply: reply.id, frame, sample: reply.end - reply.start });
  }

  /** The onset is known 80 ms after it at the earliest: its frame is looked up in the runs. */
  _tellAudible(reply, told) {
    const onset = reply.onset.onset;
    if (reply.audible || onset === null || this._sampleOf(reply) < onset) return;
    reply.audible = true;
    const run = reply.runs.findLast((one) => one.sample <= onset) ?? reply.runs[0];
    const frame = run.frame + ((onset - run.sample) * this._rateHz) / WIRE_RATE_HZ;
    told.push({ type: "audible", reply: reply.id, frame, sample: onset });
  }

  _sampleOf(reply) {
    return Math.min(reply.at, reply.end) - reply.start;
  }

  /** Resample what is there into `out` from `at` on; returns how many samples that were. */
  _produce(reply, out, at) {
    const { half, taps, phases, step, weights } = this._kernel;
    const last = reply.ended ? reply.end : reply.end - half;
    let k = at;
    for (; k < out.length && reply.at < last; k++) {
      const row = reply.phase * taps;
      const from = reply.at - half + 1;
      const first = Math.max(0, reply.start - from); // before and after the reply there is silence
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

  /** The sound broke off: from its last sample to silence without a click. */
  _fadeOut(out, at) {
    const tail = Float32Array.from({ length: this._fade }, (_, k) => this._last * (1 - (k + 1) / this._fade));
    const n = Math.min(tail.length, out.length - at);
    out.set(tail.subarray(0, n), at);
    this._tail = tail.subarray(n);
    return n;
  }

  /** It goes on after it broke off. */
  _fadeIn(reply, out, at, rendered) {
    if (rendered) this._last = out[at + rendered - 1];
    for (let k = at; k < at + rendered && reply.faded < this._fade; k++) out[k] *= reply.faded++ / this._fade;
  }

  _ramp(out) {
    if (this._gain === 1 && this._gainTarget === 1) return;
    const step = (1 - DUCKED) / ((RAMP_MS * this._rateHz) / 1000);
    for (let n = 0; n < out.length; n++) {
      const way = this._gainTarget - this._gain;
      this._gain = Math.abs(way) <= step ? this._gainTarget : this._gain + Math.sign(way) * step;
      out[n] *= this._gain;
    }
  }
}
