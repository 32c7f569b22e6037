/** Draws the response latency by stage, from the end of the user's speech to the first audible sample of the reply. */

import { text } from "../texts/texts.js";
import { BAND_MS, BAND_TEXTS, turnRating } from "../timing/latency-stats.js";
import { stagesOfLatency, STAGES } from "../timing/stages.js";
import { byId, formatMs, makeElement } from "./dom.js";

const MIN_LENGTH_MS = 700; // the timeline shows at least this length
const TICK_MS = 100;
const RATING_TEXTS = { ...BAND_TEXTS, failed: text("latency.failed"), typed: text("latency.from_enter") };

export class LatencyTimeline {
  constructor() {
    this._cells = new Map();
    for (const { stage, name, meaning } of STAGES) {
      const ms = makeElement("span", { class: "ms", text: "–" });
      const cell = makeElement("li", { class: "stage", "data-stage": stage, title: meaning }, makeElement("span", { class: "name", text: name }), ms);
      byId("stages").append(cell);
      byId("stage-meanings").append(makeElement("dt", { text: name }), makeElement("dd", { text: meaning }));
      this._cells.set(stage, { cell, ms });
    }
    this._length = Infinity; // before the first reply nothing fits on the timeline
    this._setScale(0);
  }

  /**
   * Shows the running time while a reply is awaited.
   * @param {number} ms
   * @param {boolean} typed whether it is counted from Enter, not from the end of speech
   */
  showWaiting(ms, typed) {
    if (ms < 0) return;
    this._setScale(ms);
    this._length = ms;
    byId("latency").className = "";
    byId("latency").textContent = String(Math.round(ms));
    byId("rating").textContent = text(typed ? "latency.since_enter" : "latency.since_speech");
    byId("gap").classList.add("running");
    this._moveTo(byId("cursor"), ms);
    if (byId("bar").dataset.content !== "running") this._drawBar("running", []);
    if (!this._stagesCleared) this._drawStages([]);
    this._stagesCleared = true;
  }

  /** @param {import("../timing/turn-log.js").Turn} turn */
  showTurn(turn) {
    this._stagesCleared = false;
    byId("gap").classList.remove("running");
    const ms = turn.latency_ms ?? turn.typed_ms;
    const timed = ms !== null;
    byId("latency").className = timed ? "" : "none text-value";
    byId("latency").textContent = timed ? String(Math.round(ms)) : this._noLatencyLabel(turn);
    byId("rating").textContent = RATING_TEXTS[turnRating(turn)] ?? this._noLatencyReason(turn);
    document.body.dataset.rating = RATING_TEXTS[turnRating(turn)] ? turnRating(turn) : "";
    const stages = stagesOfLatency(turn.trace, turn.latency_ms);
    const total = stages.reduce((sum, { shown_ms }) => sum + shown_ms, 0);
    const length = ms ?? total;
    this._setScale(Math.max(length, total));
    this._length = length || Infinity;
    this._moveTo(byId("cursor"), length);
    byId("cursor").hidden = !length;
    const parts = stages.length ? stages : [{ stage: "", name: "", ms: length, shown_ms: length }];
    this._drawBar(`${turn.response} ${stages.length}`, length ? parts : []);
    this._drawStages(stages);
  }

  _noLatencyLabel({ speech_end_ms }) {
    return text(speech_end_ms === null ? "latency.typed" : "latency.not_heard");
  }

  _noLatencyReason({ speech_end_ms }) {
    return text(speech_end_ms === null ? "latency.no_speech" : "latency.not_audible");
  }

  /**
   * Returns the position on the timeline where the reply begins.
   * @param {HTMLElement} canvas the reply's level bars, which span timeline and margin
   * @returns {number} pixels from its left edge
   */
  replyOffset(canvas) {
    const gap = byId("gap");
    return gap.offsetLeft - canvas.offsetLeft + (gap.offsetWidth * Math.min(this._end, this._length)) / this._end;
  }

  /** Sets the scale so that `ms` fits. */
  _setScale(ms) {
    const end = Math.max(MIN_LENGTH_MS, Math.ceil((ms * 1.08) / TICK_MS) * TICK_MS);
    if (end === this._end) return;
    this._end = end;
    const band = byId("band");
    band.style.left = `${(100 * BAND_MS[0]) / end}%`;
    band.style.width = `${(100 * (BAND_MS[1] - BAND_MS[0])) / end}%`;
    const every = end <= 1000 ? TICK_MS : end <= 3000 ? 500 : 1000;
    byId("ticks").replaceChildren();
    for (let at = 0; at <= end; at += every) {
      const tick = makeElement("span", { text: String(at) });
      tick.style.left = `${(100 * at) / end}%`;
      byId("ticks").append(tick);
    }
  }

  _moveTo(element, ms) {
    element.style.left = `${(100 * ms) / this._end}%`;
  }

  _drawBar(content, parts) {
    const bar = byId("bar");
    if (bar.dataset.content === content) {
      parts.forEach(({ shown_ms }, n) => (bar.children[n].style.width = `${(100 * shown_ms) / this._end}%`));
      return;
    }
    bar.dataset.content = content;
    bar.replaceChildren();
    for (const { stage, name, ms, shown_ms } of parts) {
      const part = makeElement("div", { class: "part", "data-stage": stage, title: `${name} ${formatMs(ms)} ms` });
      part.style.width = `${(100 * shown_ms) / this._end}%`;
      bar.append(part);
    }
  }

  _drawStages(stages) {
    for (const { stage } of STAGES) {
      const { cell, ms } = this._cells.get(stage);
      const share = stages.find((one) => one.stage === stage)?.ms ?? 0;
      ms.textContent = stages.length ? formatMs(share) : "–";
      cell.classList.toggle("none", !(share > 0));
    }
  }
}
