/** Draws the spans of one turn relative to the user's last sound, including hidden and dropped work. */

import { BAND_MS } from "../timing/stats.js";
import { rows } from "../timing/stages.js";
import { by, make, said } from "./page.js";

const SHORTEST_MS = 600;
const BEFORE_MS = 300; // most of the time before the end of speech that is shown

/** @param {import("../timing/turns.js").Turn | undefined} turn */
export function drawWaterfall(turn) {
  const box = by("waterfall");
  box.hidden = !turn;
  if (!turn) return;
  const { trace } = turn;
  by("waterfall-title").textContent = `Turn ${turn.number}`;
  by("waterfall-note").textContent = noteOf(turn);
  if (!trace?.spans.length) {
    by("rows").replaceChildren(make("p", { class: "fine", text: trace ? "Nothing was worked on." : "Its record comes when the reply is over." }));
    return;
  }
  const spans = rows(trace);
  const from = Math.max(-BEFORE_MS, Math.min(0, ...spans.map((span) => span.from_ms)));
  const to = Math.max(SHORTEST_MS, ...spans.filter((span) => !span.dropped).map((span) => span.to_ms)) * 1.04;
  const x = (ms) => (100 * (Math.max(from, Math.min(to, ms)) - from)) / (to - from);
  const drawn = spans.map((span) => row(span, x, spans.some((other) => other.attempt !== span.attempt)));
  by("rows").replaceChildren(...drawn);
}

function row({ name, stage, dropped, attempt, from_ms, to_ms }, x, many) {
  const band = make("i", { class: "row-band" });
  band.style.left = `${x(BAND_MS[0])}%`;
  band.style.width = `${x(BAND_MS[1]) - x(BAND_MS[0])}%`;
  const zero = make("i", { class: "row-zero" });
  zero.style.left = `${x(0)}%`;
  const bar = make("i", { class: "row-bar", "data-stage": stage });
  bar.style.left = `${x(from_ms)}%`;
  bar.style.width = `${x(to_ms) - x(from_ms)}%`;
  const label = name.replaceAll("_", " ") + (many ? ` · ${attempt}` : "");
  const line = make("div", { class: `row${dropped ? " dropped" : ""}` },
    make("span", { class: "row-name", text: label }), make("span", { class: "row-line" }, band, zero, bar),
    make("span", { class: "row-ms", text: said(to_ms - from_ms) }));
  line.title = `${name}: from ${said(from_ms)} to ${said(to_ms)} ms after your last sound${dropped ? ", abandoned" : ""}`;
  return line;
}

function noteOf({ trace, latency_ms, device_ms }) {
  const notes = [];
  if (latency_ms !== null) notes.push(`measured in this page ${said(latency_ms)} ms`);
  if (device_ms !== null && latency_ms !== null) notes.push(`${said(device_ms)} of it in buffer and device`);
  if (trace?.response_latency_ms != null) notes.push(`in the server’s record ${said(trace.response_latency_ms)}`);
  if (trace?.outcome && trace.outcome !== "answered") notes.push(trace.outcome);
  if (trace?.engines?.answered_by) notes.push(`answered by ${trace.engines.answered_by}`);
  if (trace?.error) notes.push(trace.error);
  return notes.join(" · ");
}
