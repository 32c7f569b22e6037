/** Draws all turns: percentiles, a dot plot, the list, and the waterfall of the selected turn. */

import { countText, text } from "../texts/texts.js";
import { BAND_MS, BAND_TEXTS, rateLatency, turnRating } from "../timing/latency-stats.js";
import { turnRecord } from "../timing/turn-log.js";
import { byId, makeElement, makeSvgElement } from "./dom.js";
import { drawWaterfall } from "./waterfall.js";

const MIN_WIDTH_MS = 800; // the dot plot shows at least this latency
const MAX_LISTED = 12;

/** Returns text for screen readers only. */
function screenReaderText(words) {
  return makeElement("span", { class: "visually-hidden", text: words });
}

export class TurnPanel {
  /**
   * @param {import("../timing/turn-log.js").TurnLog} turns
   * @param {() => object} pageInfo returns data about this page, for the JSON
   * @param {(turn: import("../timing/turn-log.js").Turn) => void} onSelect called when a turn is selected
   */
  constructor(turns, pageInfo, onSelect) {
    this._turns = turns;
    this._pageInfo = pageInfo;
    this._onSelect = onSelect;
    this._selected = null; // the selected turn; null: the newest
    byId("copy").onclick = () => this._copy();
    byId("download").onclick = () => this._download();
    this._drawDotPlot(null);
  }

  /** @returns {import("../timing/turn-log.js").Turn | undefined} */
  get selected() {
    return this._selected ?? this._turns.all.findLast((turn) => turn.trace) ?? this._turns.all.at(-1);
  }

  /** Selects the newest turn; called when a turn begins. */
  selectNewest() {
    this._selected = null;
  }

  draw() {
    const summary = this._turns.summary;
    byId("p50").textContent = summary ? `${Math.round(summary.p50_ms)} ms` : "–";
    byId("p95").textContent = summary ? `${Math.round(summary.p95_ms)} ms` : "–";
    byId("within").textContent = summary ? text("turns.part", { part: summary.within, count: summary.count }) : "–";
    byId("failed-turns").hidden = !this._turns.failedCount;
    byId("failed").textContent = countText("turns.count", this._turns.failedCount);
    byId("download").disabled = !this._turns.all.length;
    this._drawDotPlot(summary);
    this._drawList();
    drawWaterfall(this.selected);
  }

  _drawDotPlot(summary) {
    const timed = this._turns.all.filter((turn) => !turn.failed && turn.latency_ms !== null);
    const longest = Math.max(MIN_WIDTH_MS, ...timed.map((turn) => turn.latency_ms * 1.05));
    const x = (ms) => `${3 + (92 * ms) / longest}%`;
    const width = `${(92 * (BAND_MS[1] - BAND_MS[0])) / longest}%`;
    const parts = [makeSvgElement("rect", { class: "dot-plot-band", x: x(BAND_MS[0]), width, y: 8, height: 44, rx: 6 })];
    parts.push(makeSvgElement("line", { class: "dot-plot-axis", x1: x(0), x2: x(longest), y1: 60, y2: 60 }));
    const every = longest <= 1000 ? 200 : longest <= 3000 ? 500 : 1000;
    for (let at = 0; at <= longest; at += every) parts.push(makeSvgElement("text", { class: "dot-plot-tick", x: x(at), y: 74, text: at }));
    timed.forEach((turn, n) => {
      const y = 30 + 13 * Math.sin(n * 2.4); // spread, so that equal latencies do not overlap
      const newest = turn === timed.at(-1) ? " newest" : "";
      parts.push(makeSvgElement("circle", { class: `dot ${rateLatency(turn.latency_ms)}${newest}`, cx: x(turn.latency_ms), cy: y, r: newest ? 5 : 4 },
        makeSvgElement("title", { text: text("turns.dot", { number: turn.number, ms: Math.round(turn.latency_ms) }) })));
    });
    for (const name of summary && summary.count > 1 ? ["p50", "p95"] : []) {
      const at = x(summary[`${name}_ms`]);
      parts.push(makeSvgElement("line", { class: "dot-plot-percentile", x1: at, x2: at, y1: 6, y2: 60 }));
    }
    byId("dot-plot").replaceChildren(...parts);
    byId("dot-plot").setAttribute("aria-label", summary
      ? text("turns.summary", { turns: countText("turns.count", summary.count), median: Math.round(summary.p50_ms), percentile: Math.round(summary.p95_ms), within: summary.within })
      : text("turns.none"));
  }

  _drawList() {
    const shown = this._turns.all.slice(-MAX_LISTED).reverse();
    const list = byId("turn-list");
    const focused = list.contains(document.activeElement) ? document.activeElement.dataset.number : null;
    list.replaceChildren(...shown.map((turn) => this._makeButton(turn)));
    if (focused) list.querySelector(`[data-number="${focused}"]`)?.focus();
  }

  _makeButton(turn) {
    const rating = turnRating(turn);
    const ms = Math.round(turn.latency_ms ?? turn.typed_ms);
    const shown = { failed: text("turns.button_failed"), untimed: "–", typed: text("turns.button_typed", { ms }) }[rating] ?? String(ms);
    // The accessible name contains the visible text in its order, because users of voice control say what they see.
    const spoken = { failed: "", untimed: text("turns.no_latency"), typed: text("turns.ms_from_enter") }[rating] ?? ` ms, ${BAND_TEXTS[rating]}`;
    const button = makeElement("button", {
      type: "button", class: `turn ${rating}`, "data-number": String(turn.number), "aria-pressed": String(turn === this.selected),
    }, screenReaderText(`${text("turns.turn")} `), makeElement("span", { class: "turn-number", text: String(turn.number) }), screenReaderText(" "), makeElement("span", { text: shown }), screenReaderText(spoken));
    button.onclick = () => {
      this._selected = turn;
      this._onSelect(turn);
      this.draw();
    };
    return button;
  }

  _jsonLines(turns) {
    return turns.map((turn) => JSON.stringify(turnRecord(turn, this._pageInfo()))).join("\n") + "\n";
  }

  async _copy() {
    const record = JSON.stringify(turnRecord(this.selected, this._pageInfo()), null, 2);
    let done = true;
    try {
      await navigator.clipboard.writeText(record);
    } catch {
      done = false; // not a secure page, or not allowed; "Download all turns" still works
    }
    byId("copy").textContent = text(done ? "turns.copied" : "turns.not_copied");
    setTimeout(() => (byId("copy").textContent = text("turns.copy")), 2000);
  }

  _download() {
    const url = URL.createObjectURL(new Blob([this._jsonLines(this._turns.all)], { type: "application/jsonl" }));
    makeElement("a", { href: url, download: "repartee-turns.jsonl" }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
  }
}
