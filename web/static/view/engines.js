/** What hears, thinks and speaks, and what runs in place of what was asked for. */

import { by, make } from "./page.js";

const DOES = { vad: "notices speech", stt: "hears", llm: "thinks", tts: "speaks" };

const IN_ORDER = Object.keys(DOES);

/** @param {{stage: string, name: string, detail: string, why: string, fallback: boolean}[]} engines */
export function drawEngines(engines = []) {
  const box = by("engines");
  box.hidden = !engines.length;
  engines = [...engines].sort((a, b) => IN_ORDER.indexOf(a.stage) - IN_ORDER.indexOf(b.stage));
  const short = engines.filter(({ stage }) => stage !== "vad").map(({ name }) => name);
  by("engines-short").textContent = short.join(" · ");
  box.classList.toggle("fallback", engines.some((one) => one.fallback));
  by("engines-list").replaceChildren(...engines.flatMap(({ stage, name, detail, why, fallback }) => [
    make("dt", { text: DOES[stage] ?? stage }),
    make("dd", { class: fallback ? "fallback" : "" }, make("b", { text: name }), make("span", { text: detail ?? "" }),
      make("small", { text: fallback && why && !/^fallback/.test(why) ? `fallback: ${why}` : why ?? "" })),
  ]));
}
