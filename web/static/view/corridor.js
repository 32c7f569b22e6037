/** Draws the response latency by stage, from the user's last sound to the first sound of the reply. */

import { BAND_MS, verdictOn } from "../timing/stats.js";
import { accounted, STAGES } from "../timing/stages.js";
import { by, make, said } from "./page.js";

const SHORTEST_MS = 700; // the line shows at least this length
const STEP_MS = 100;
const WORDS = { sooner: "sooner than 200–500 ms", within: "within 200–500 ms", later: "later than 200–500 ms", failed: "the turn failed: not counted" };

export class Corridor {
  constructor() {
    this._cells = new Map();
    for (const { stage, name, is } of STAGES) {
      const ms = make("span", { class: "ms", text: "–" });
      const cell = make("li", { class: "stage", "data-stage": stage, title: is }, make("span", { class: "name", text: name }), ms);
      by("stages").append(cell);
      this._cells.set(stage, { cell, ms });
    }
    this._long = Infinity; // before the first reply nothing fits on the line
    this._rule(0);
  }

  /**
   * Shows the running time while a reply is awaited.
   * @param {number} ms since the end of speech
   */
  run(ms) {
    if (ms < 0) return;
    this._rule(ms);
    this._long = ms;
    by("latency").className = "";
    by("latency").textContent = String(Math.round(ms));
    by("verdict").textContent = "since your last sound";
    by("gap").classList.add("running");
    this._place(by("cursor"), ms);
    if (by("bar").dataset.of !== "running") this._fill("running", []);
    if (!this._cleared) this._spell([]);
    this._cleared = true;
  }

  /** @param {import("../timing/turns.js").Turn} turn */
  show(turn) {
    this._cleared = false;
    by("gap").classList.remove("running");
    const timed = turn.latency_ms !== null;
    by("latency").className = timed ? "" : "none wordy";
    by("latency").textContent = timed ? String(Math.round(turn.latency_ms)) : this._what(turn);
    by("verdict").textContent = WORDS[verdictOn(turn)] ?? this._why(turn);
    document.body.dataset.verdict = WORDS[verdictOn(turn)] ? verdictOn(turn) : "";
    const stages = accounted(turn.trace, turn.latency_ms);
    const total = stages.reduce((sum, { shown_ms }) => sum + shown_ms, 0);
    const long = turn.latency_ms ?? total;
    this._rule(Math.max(long, total));
    this._long = long || Infinity;
    this._place(by("cursor"), long);
    by("cursor").hidden = !long;
    const parts = stages.length ? stages : [{ stage: "", name: "", ms: long, shown_ms: long }];
    this._fill(`${turn.response} ${stages.length}`, long ? parts : []);
    this._spell(stages);
  }

  _what({ speech_end_ms }) {
    return speech_end_ms === null ? "typed" : "unheard";
  }

  _why({ speech_end_ms }) {
    return speech_end_ms === null ? "there was no last sound to count from" : "the reply was over before it was heard";
  }

  /**
   * Returns the position on the line where the reply begins.
      * @param {HTMLElement} canvas the reply's wave, which spans line and margin
   * @returns {number} pixels from its left edge
   */
  replyAt(canvas) {
    const gap = by("gap");
    return gap.offsetLeft - canvas.offsetLeft + (gap.offsetWidth * Math.min(this._end, this._long)) / this._end;
  }

  /** Makes the line as long as the longest part on it. */
  _rule(ms) {
    const end = Math.max(SHORTEST_MS, Math.ceil((ms * 1.08) / STEP_MS) * STEP_MS);
    if (end === this._end) return;
    this._end = end;
    const band = by("band");
    band.style.left = `${(100 * BAND_MS[0]) / end}%`;
    band.style.width = `${(100 * (BAND_MS[1] - BAND_MS[0])) / end}%`;
    const every = end <= 1000 ? STEP_MS : end <= 3000 ? 500 : 1000;
    by("ticks").replaceChildren();
    for (let at = 0; at <= end; at += every) {
      const tick = make("span", { text: String(at) });
      tick.style.left = `${(100 * at) / end}%`;
      by("ticks").append(tick);
    }
  }

  _place(element, ms) {
    element.style.left = `${(100 * ms) / this._end}%`;
  }

  _fill(of, parts) {
    const bar = by("bar");
    if (bar.dataset.of === of) {
      parts.forEach(({ shown_ms }, n) => (bar.children[n].style.width = `${(100 * shown_ms) / this._end}%`));
      return;
    }
    bar.dataset.of = of;
    bar.replaceChildren();
    for (const { stage, name, ms, shown_ms } of parts) {
      const part = make("div", { class: "part", "data-stage": stage, title: `${name} ${said(ms)} ms` });
      part.style.width = `${(100 * shown_ms) / this._end}%`;
      bar.append(part);
    }
  }

  _spell(stages) {
    for (const { stage } of STAGES) {
      const { cell, ms } = this._cells.get(stage);
      const share = stages.find((one) => one.stage === stage)?.ms ?? 0;
      ms.textContent = stages.length ? said(share) : "–";
      cell.classList.toggle("none", !(share > 0));
    }
  }
}
