/** Draws the recent levels of a voice as bars that move towards the timeline or away from it. */

import { prefersReducedMotion } from "./dom.js";

const BAR_PX = 3;
const PITCH_PX = 5;
const QUIET_DBFS = -54; // height 0
const LOUD_DBFS = -14; // full height
const MAX_BARS = 400;
const BAR_MS = 40; // two levels
const ONSET_BARS = 15; // speech is detected some time after its start

export class LevelBars {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {"left" | "right"} direction in which older bars move
   */
  constructor(canvas, direction) {
    this._canvas = canvas;
    this._direction = direction;
    this._bars = [];
    this._halfBar = null;
    this._drawn = "";
    /** Pixels left free beside the timeline. */
    this.offset = 0;
    /** @type {number[] | null} frozen bars, drawn instead of the current ones */
    this._frozen = null;
    new ResizeObserver(() => this.draw()).observe(canvas);
  }

  /** @param {number} level dBFS of about 20 ms */
  addLevel(level) {
    const height = Math.max(0, Math.min(1, (level - QUIET_DBFS) / (LOUD_DBFS - QUIET_DBFS)));
    if (this._halfBar === null) {
      this._halfBar = height;
      return;
    }
    this._bars.push(Math.max(height, this._halfBar));
    this._halfBar = null;
    if (this._bars.length > MAX_BARS) this._bars.shift();
  }

  clear() {
    this._bars = [];
    this._halfBar = this._frozen = null;
  }

  /** Freezes the bars of `ageMs` ago, so that the silence after an utterance is not shown. */
  freeze(ageMs) {
    this._frozen = this._bars.slice(0, Math.max(0, this._bars.length - Math.round(ageMs / BAR_MS)));
  }

  /** Shows current bars again, starting slightly before now. */
  unfreeze() {
    if (!this._frozen) return;
    this._frozen = null;
    this._bars = this._bars.slice(-ONSET_BARS);
  }

  draw() {
    const { clientWidth, clientHeight: height } = this._canvas;
    const width = clientWidth - this.offset;
    const scale = devicePixelRatio || 1;
    const { color } = getComputedStyle(this._canvas);
    const bars = prefersReducedMotion() ? this._singleBar() : (this._frozen ?? this._bars);
    const drawn = [width, height, scale, color, bars.length, bars.at(-1), bars[0]].join();
    if (drawn === this._drawn) return;
    this._drawn = drawn;
    this._canvas.width = Math.round(clientWidth * scale);
    this._canvas.height = Math.round(height * scale);
    const context = this._canvas.getContext("2d");
    context.scale(scale, scale);
    context.fillStyle = color;
    const room = Math.max(0, Math.floor(width / PITCH_PX));
    for (let n = 0; n < room; n++) {
      const x = this._direction === "left" ? width - (n + 1) * PITCH_PX : this.offset + n * PITCH_PX + 1;
      drawBar(context, x, height, this._heightAt(bars, n, room), n / room);
    }
  }

  /** Draws bar n, counted from the timeline outwards. */
  _heightAt(bars, n, room) {
    if (this._direction === "left") return bars[bars.length - 1 - n] ?? 0;
    return bars[Math.max(0, bars.length - room) + n] ?? 0;
  }

  /** Draws one level instead of moving bars, for reduced motion. */
  _singleBar() {
    const level = (this._frozen ?? this._bars).at(-1) ?? 0;
    return [Math.round(level * 4) / 4];
  }
}

/** Draws one bar; it is fainter the further `away` (0..1) it is from the timeline. */
function drawBar(context, x, height, level, away) {
  const long = Math.max(BAR_PX, level * (height - 4));
  context.globalAlpha = (level > 0.02 ? 1 : 0.28) * Math.min(1, 1.5 * (1 - away) + 0.02);
  context.beginPath();
  context.roundRect(x, (height - long) / 2, BAR_PX, long, BAR_PX / 2);
  context.fill();
}
