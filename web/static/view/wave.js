/** The level of a voice as bars: yours runs up to the gap, the reply's out of it. */

import { still } from "./page.js";

const BAR_PX = 3;
const PITCH_PX = 5;
const QUIET_DBFS = -54; // a bar of no height
const LOUD_DBFS = -14; // a bar of full height
const MOST_BARS = 400;
const BAR_MS = 40; // two levels
const ONSET_BARS = 15; // speech is noticed after it began

export class Wave {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {"left" | "right"} growing towards which side older bars move
   */
  constructor(canvas, growing) {
    this._canvas = canvas;
    this._growing = growing;
    this._bars = [];
    this._part = null;
    this._drawn = "";
    /** Pixels that are left free beside the gap. */
    this.offset = 0;
    /** @type {number[] | null} bars that stay as they are, whatever comes */
    this._kept = null;
    new ResizeObserver(() => this.draw()).observe(canvas);
  }

  /** @param {number} level dBFS, of about 20 ms */
  add(level) {
    const height = Math.max(0, Math.min(1, (level - QUIET_DBFS) / (LOUD_DBFS - QUIET_DBFS)));
    if (this._part === null) {
      this._part = height;
      return;
    }
    this._bars.push(Math.max(height, this._part));
    this._part = null;
    if (this._bars.length > MOST_BARS) this._bars.shift();
  }

  clear() {
    this._bars = [];
    this._part = this._kept = null;
  }

  /** Stay as it was so many ms ago: an utterance, without the silence after it. */
  keep(agoMs) {
    this._kept = this._bars.slice(0, Math.max(0, this._bars.length - Math.round(agoMs / BAR_MS)));
  }

  /** Go on, from a little before now. */
  goOn() {
    if (!this._kept) return;
    this._kept = null;
    this._bars = this._bars.slice(-ONSET_BARS);
  }

  draw() {
    const { clientWidth, clientHeight: height } = this._canvas;
    const width = clientWidth - this.offset;
    const scale = devicePixelRatio || 1;
    const { color } = getComputedStyle(this._canvas);
    const bars = still() ? this._steady() : (this._kept ?? this._bars);
    const drawn = [width, height, scale, color, bars.length, bars.at(-1), bars[0]].join();
    if (drawn === this._drawn) return;
    this._drawn = drawn;
    this._canvas.width = Math.round(clientWidth * scale);
    this._canvas.height = Math.round(height * scale);
    const pen = this._canvas.getContext("2d");
    pen.scale(scale, scale);
    pen.fillStyle = color;
    const room = Math.max(0, Math.floor(width / PITCH_PX));
    for (let n = 0; n < room; n++) {
      const x = this._growing === "left" ? width - (n + 1) * PITCH_PX : this.offset + n * PITCH_PX + 1;
      bar(pen, x, height, this._heightAt(bars, n, room), n / room);
    }
  }

  /** Bar n counts from the gap outwards. */
  _heightAt(bars, n, room) {
    if (this._growing === "left") return bars[bars.length - 1 - n] ?? 0;
    return bars[Math.max(0, bars.length - room) + n] ?? 0;
  }

  /** For people who want no motion: one level, not a wave that runs. */
  _steady() {
    const level = (this._kept ?? this._bars).at(-1) ?? 0;
    return [Math.round(level * 4) / 4];
  }
}

/** One bar, the fainter the further `away` (0..1) from the gap. */
function bar(pen, x, height, tall, away) {
  const long = Math.max(BAR_PX, tall * (height - 4));
  pen.globalAlpha = (tall > 0.02 ? 1 : 0.28) * Math.min(1, 1.5 * (1 - away) + 0.02);
  pen.beginPath();
  pen.roundRect(x, (height - long) / 2, BAR_PX, long, BAR_PX / 2);
  pen.fill();
}
