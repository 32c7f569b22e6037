/** Shows the engines, and which of them are fallbacks. */

import { by, make } from "./page.js";

const DOES = {
  vad: "notices speech",
  turn: "notices its end",
  stt: "hears",
  llm: "thinks",
  tools: "looks things up",
  tts: "speaks",
};
const IN_ORDER = Object.keys(DOES);
const NAMED = new Set(["stt", "llm", "tts"]); // shown in the line at the top; the others only in the list

/** @param {{stage: string, name: string, detail: string, why: string, fallback: boolean}[]} engines */
export function drawEngines(engines = []) {
  engines = [...engines].sort((a, b) => IN_ORDER.indexOf(a.stage) - IN_ORDER.indexOf(b.stage));
  const standIns = engines.filter(({ fallback }) => fallback).map(({ name }) => name);
  by("engines").hidden = !engines.length;
  by("engines").classList.toggle("fallback", standIns.length > 0);
  by("engines-short").textContent = engines.filter(({ stage }) => NAMED.has(stage)).map(({ name }) => name).join(" · ");
  by("stand-ins").hidden = !standIns.length;
  by("stand-ins").textContent = `Standing in: ${standIns.join(", ")}`;
  by("engines-list").replaceChildren(...engines.flatMap(({ stage, name, detail, why, fallback }) => [
    make("dt", { text: DOES[stage] ?? stage }),
    make("dd", { class: fallback ? "fallback" : "" }, make("b", { text: name }), make("span", { text: detail ?? "" }),
      make("small", { text: why ?? "" })),
  ]));
}
