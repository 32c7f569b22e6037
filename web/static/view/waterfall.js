/** Draws the spans of one turn relative to the end of speech, including work that was hidden or discarded. */

import { hasText, text } from "../texts/texts.js";
import { BAND_MS } from "../timing/latency-stats.js";
import { modelNotes } from "../timing/model-notes.js";
import { waterfallRows } from "../timing/stages.js";
import { byId, makeElement, formatMs } from "./dom.js";

const MIN_WIDTH_MS = 600;
const MAX_BEFORE_MS = 300; // time before the end of speech that is shown at most

/** @param {import("../timing/turn-log.js").Turn | undefined} turn */
export function drawWaterfall(turn) {
  const box = byId("waterfall");
  box.hidden = !turn;
  if (!turn) return;
  const { trace } = turn;
  byId("waterfall-title").textContent = text("turns.number", { number: turn.number }) + (isCached(turn) ? ` · ${text("turns.cached")}` : "");
  byId("waterfall-note").textContent = turnNote(turn);
  if (!trace?.spans.length) {
    byId("rows").replaceChildren(makeElement("p", { class: "hint", text: text(trace ? "turns.no_work" : "turns.record_later") }));
    return;
  }
  const spans = waterfallRows(trace);
  const from = Math.max(-MAX_BEFORE_MS, Math.min(0, ...spans.map((span) => span.from_ms)));
  const to = Math.max(MIN_WIDTH_MS, ...spans.filter((span) => !span.dropped).map((span) => span.to_ms)) * 1.04;
  const x = (ms) => (100 * (Math.max(from, Math.min(to, ms)) - from)) / (to - from);
  const drawn = spans.map((span) => makeRow(span, x, spans.some((other) => other.attempt !== span.attempt)));
  byId("rows").replaceChildren(...drawn);
}

function makeRow({ name, stage, dropped, attempt, from_ms, to_ms }, x, severalAttempts) {
  const band = makeElement("i", { class: "row-band" });
  band.style.left = `${x(BAND_MS[0])}%`;
  band.style.width = `${x(BAND_MS[1]) - x(BAND_MS[0])}%`;
  const zero = makeElement("i", { class: "row-zero" });
  zero.style.left = `${x(0)}%`;
  const bar = makeElement("i", { class: "row-bar", "data-stage": stage });
  bar.style.left = `${x(from_ms)}%`;
  bar.style.width = `${x(to_ms) - x(from_ms)}%`;
  const label = name.replaceAll("_", " ") + (severalAttempts ? ` · ${attempt}` : "");
  const line = makeElement("div", { class: `row${dropped ? " dropped" : ""}` },
    makeElement("span", { class: "row-name", text: label }), makeElement("span", { class: "row-bars" }, band, zero, bar),
    makeElement("span", { class: "row-ms", text: formatMs(to_ms - from_ms) }));
  line.title = text(dropped ? "turns.span_discarded" : "turns.span", { name, from: formatMs(from_ms), to: formatMs(to_ms) });
  return line;
}

function isCached({ trace }) {
  return trace?.engines?.answered_by === "cache";
}

function turnNote({ trace, latency_ms, device_ms }) {
  const notes = [];
  if (latency_ms !== null) {
    if (device_ms === null) notes.push(text("turns.by_page", { ms: formatMs(latency_ms) }));
    else notes.push(text("turns.by_page_device", { ms: formatMs(latency_ms), device: formatMs(device_ms) }));
  }
  if (trace?.response_latency_ms != null) notes.push(text("turns.by_server", { ms: formatMs(trace.response_latency_ms) }));
  if (trace?.outcome && trace.outcome !== "answered") notes.push(hasText(`outcome.${trace.outcome}`) ? text(`outcome.${trace.outcome}`) : `${trace.outcome}.`);
  if (isCached({ trace })) notes.push(text("turns.answered_by_cache"));
  else if (trace?.engines?.answered_by) notes.push(text("turns.answered_by", { name: trace.engines.answered_by }));
  notes.push(...(trace ? modelNotes(trace) : []));
  if (trace?.error) notes.push(text("turns.error", { error: trace.error }));
  return notes.join(" ");
}
