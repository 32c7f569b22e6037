/** All turns: percentiles, the strip of dots, the list, and the waterfall of the selected turn. */

import { BAND_MS, verdict, verdictOn } from "../timing/stats.js";
import { record } from "../timing/turns.js";
import { by, draw, make } from "./page.js";
import { drawWaterfall } from "./waterfall.js";

const SHORTEST_MS = 800; // the strip shows at least this length
const LISTED = 12;

/** Returns text for screen readers only. */
function unseen(text) {
  return make("span", { class: "unseen", text });
}

export class TurnPanel {
  /**
   * @param {import("../timing/turns.js").Turns} turns
   * @param {() => object} facts returns facts about this page, for the JSON
      * @param {(turn: import("../timing/turns.js").Turn) => void} chosen called when a turn is selected
   */
  constructor(turns, facts, chosen) {
    this._turns = turns;
    this._facts = facts;
    this._chosen = chosen;
    this._choice = null; // the selected turn; null: the newest
    by("copy").onclick = () => this._copy();
    by("download").onclick = () => this._download();
    this._strip(null);
  }

  /** @returns {import("../timing/turns.js").Turn | undefined} */
  get choice() {
    return this._choice ?? this._turns.all.findLast((turn) => turn.trace) ?? this._turns.all.at(-1);
  }

  /** Selects the newest turn, because a new turn has begun. */
  follow() {
    this._choice = null;
  }

  draw() {
    const summary = this._turns.summary;
    by("p50").textContent = summary ? `${Math.round(summary.p50_ms)} ms` : "–";
    by("p95").textContent = summary ? `${Math.round(summary.p95_ms)} ms` : "–";
    by("within").textContent = summary ? `${summary.within} of ${summary.count}` : "–";
    by("download").disabled = !this._turns.all.length;
    this._strip(summary);
    this._list();
    drawWaterfall(this.choice);
  }

  _strip(summary) {
    const timed = this._turns.all.filter((turn) => !turn.failed && turn.latency_ms !== null);
    const longest = Math.max(SHORTEST_MS, ...timed.map((turn) => turn.latency_ms * 1.05));
    const x = (ms) => `${3 + (92 * ms) / longest}%`;
    const width = `${(92 * (BAND_MS[1] - BAND_MS[0])) / longest}%`;
    const parts = [draw("rect", { class: "strip-band", x: x(BAND_MS[0]), width, y: 8, height: 44, rx: 6 })];
    parts.push(draw("line", { class: "strip-axis", x1: x(0), x2: x(longest), y1: 60, y2: 60 }));
    const every = longest <= 1000 ? 200 : longest <= 3000 ? 500 : 1000;
    for (let at = 0; at <= longest; at += every) parts.push(draw("text", { class: "strip-tick", x: x(at), y: 74, text: at }));
    timed.forEach((turn, n) => {
      const y = 30 + 13 * Math.sin(n * 2.4); // spread, so that equal latencies do not overlap
      const newest = turn === timed.at(-1) ? " newest" : "";
      parts.push(draw("circle", { class: `dot ${verdict(turn.latency_ms)}${newest}`, cx: x(turn.latency_ms), cy: y, r: newest ? 5 : 4 },
        draw("title", { text: `turn ${turn.number}: ${Math.round(turn.latency_ms)} ms` })));
    });
    for (const name of summary && summary.count > 1 ? ["p50", "p95"] : []) {
      const at = x(summary[`${name}_ms`]);
      parts.push(draw("line", { class: "strip-mark", x1: at, x2: at, y1: 6, y2: 60 }));
    }
    by("strip").replaceChildren(...parts);
    by("strip").setAttribute("aria-label", summary
      ? `${summary.count} turns: p50 ${Math.round(summary.p50_ms)} ms, p95 ${Math.round(summary.p95_ms)} ms, ${summary.within} within 200 to 500 ms`
      : "No turns yet");
  }

  _list() {
    const shown = this._turns.all.slice(-LISTED).reverse();
    const list = by("turn-list");
    const focused = list.contains(document.activeElement) ? document.activeElement.dataset.number : null;
    list.replaceChildren(...shown.map((turn) => this._button(turn)));
    if (focused) list.querySelector(`[data-number="${focused}"]`)?.focus();
  }

  _button(turn) {
    const about = verdictOn(turn);
    const shown = about === "failed" ? "failed" : about === "untimed" ? "–" : String(Math.round(turn.latency_ms));
    // The accessible name contains the visible text in its order, because users of voice control say what they see.
    const spoken = about === "failed" ? "" : about === "untimed" ? " not timed" : ` ms, ${about === "within" ? "in the band" : about}`;
    const button = make("button", {
      type: "button", class: `turn ${about}`, "data-number": String(turn.number), "aria-pressed": String(turn === this.choice),
    }, unseen("Turn "), make("span", { class: "turn-number", text: String(turn.number) }), unseen(" "), make("span", { text: shown }), unseen(spoken));
    button.onclick = () => {
      this._choice = turn;
      this._chosen(turn);
      this.draw();
    };
    return button;
  }

  _lines(turns) {
    return turns.map((turn) => JSON.stringify(record(turn, this._facts()))).join("\n") + "\n";
  }

  async _copy() {
    const text = JSON.stringify(record(this.choice, this._facts()), null, 2);
    let done = true;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      done = false; // not a secure page, or not allowed; the download still works
    }
    by("copy").textContent = done ? "Copied" : "Not allowed: download it";
    setTimeout(() => (by("copy").textContent = "Copy JSON"), 2000);
  }

  _download() {
    const url = URL.createObjectURL(new Blob([this._lines(this._turns.all)], { type: "application/jsonl" }));
    make("a", { href: url, download: "repartee-turns.jsonl" }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
  }
}
