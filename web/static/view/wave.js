/** Draws the level of a voice as bars that move towards the gap or away from it. */

import { still } from "./page.js";

const BAR_PX = 3;
const PITCH_PX = 5;
const QUIET_DBFS = -54; // height 0
const LOUD_DBFS = -14; // full height
const MOST_BARS = 400;
const BAR_MS = 40; // two levels
const ONSET_BARS = 15; // speech is detected some time after its start

export class Wave {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {"left" | "right"} growing direction in which older bars move
   */
  constructor(canvas, growing) {
    this._canvas = canvas;
    this._growing = growing;
    this._bars = [];
    this._part = null;
    this._drawn = "";
    /** Pixels left free beside the gap. */
    this.offset = 0;
    /** @type {number[] | null} frozen bars, drawn instead of the current ones */
    this._kept = null;
    new ResizeObserver(() => this.draw()).observe(canvas);
  }

  /** @param {number} level dBFS of about 20 ms */
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

  /** Freezes the bars of `agoMs` ago, so that the silence after an utterance is not shown. */
  keep(agoMs) {
    this._kept = this._bars.slice(0, Math.max(0, this._bars.length - Math.round(agoMs / BAR_MS)));
  }

  /** Continues, starting slightly before now. */
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

  /** Draws bar n, counted from the gap outwards. */
  _heightAt(bars, n, room) {
    if (this._growing === "left") return bars[bars.length - 1 - n] ?? 0;
    return bars[Math.max(0, bars.length - room) + n] ?? 0;
  }

  /** Draws one level instead of moving bars, for reduced motion. */
  _steady() {
    const level = (this._kept ?? this._bars).at(-1) ?? 0;
    return [Math.round(level * 4) / 4];
  }
}

/** Draws one bar; it is fainter the further `away` (0..1) it is from the gap. */
function bar(pen, x, height, tall, away) {
  const long = Math.max(BAR_PX, tall * (height - 4));
  pen.globalAlpha = (tall > 0.02 ? 1 : 0.28) * Math.min(1, 1.5 * (1 - away) + 0.02);
  pen.beginPath();
  pen.roundRect(x, (height - long) / 2, BAR_PX, long, BAR_PX / 2);
  pen.fill();
}
