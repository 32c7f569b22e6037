/** Shows the engines in use, and which of them are fallbacks. */

import { byId, makeElement } from "./dom.js";

const TASKS = {
  vad: "detects speech",
  turn: "detects the end of a turn",
  stt: "recognizes speech",
  llm: "writes the reply",
  tools: "runs tools",
  tts: "speaks the reply",
};
const STAGE_ORDER = Object.keys(TASKS);
const IN_SUMMARY = new Set(["stt", "llm", "tts"]); // shown in the line at the top; the others only in the list

/** @param {{stage: string, name: string, detail: string, why: string, fallback: boolean}[]} engines */
export function drawEngines(engines = []) {
  engines = [...engines].sort((a, b) => STAGE_ORDER.indexOf(a.stage) - STAGE_ORDER.indexOf(b.stage));
  const fallbacks = engines.filter(({ fallback }) => fallback).map(({ name }) => name);
  byId("engines").hidden = !engines.length;
  byId("engines").classList.toggle("fallback", fallbacks.length > 0);
  byId("engines-short").textContent = engines.filter(({ stage }) => IN_SUMMARY.has(stage)).map(({ name }) => name).join(" · ");
  byId("fallback-engines").hidden = !fallbacks.length;
  byId("fallback-engines").textContent = `Fallback: ${fallbacks.join(", ")}`;
  byId("engines-list").replaceChildren(...engines.flatMap(({ stage, name, detail, why, fallback }) => [
    makeElement("dt", { text: TASKS[stage] ?? stage }),
    makeElement("dd", { class: fallback ? "fallback" : "" }, makeElement("b", { text: name }), makeElement("span", { text: detail ?? "" }),
      makeElement("small", { text: why ?? "" })),
  ]));
}
