/** Shows the engines in use, and which of them are fallbacks. */

import { text } from "../texts/texts.js";
import { byId, makeElement } from "./dom.js";

const NARROW = matchMedia("(max-width: 699.9px)"); // as in layout.css: the engines are in the panels

const STAGE_ORDER = ["vad", "turn", "stt", "llm", "tools", "tts"];
const IN_SUMMARY = new Set(["stt", "tts"]); // shown in the header, beside who answers; the others only in the list

/** Puts the engines into the header if there is room, otherwise into the panels. */
export function placeEngines() {
  const place = () => (NARROW.matches ? byId("panels").append(byId("engines")) : byId("theme").before(byId("engines")));
  NARROW.onchange = place;
  place();
  byId("engines").ontoggle = () => NARROW.matches && byId("engines").open && byId("engines").scrollIntoView();
  byId("fallback-engines").onclick = () => {
    if (NARROW.matches && byId("panels").hidden) byId("strip").click();
    byId("engines").open = true;
    byId("engines").querySelector("summary").focus();
  };
}

/**
 * Stand-ins of the server, by the name that it gives them; other engines have names of their own.
 * @type {Record<string, () => string>}
 */
const STAND_INS = {
  "no recognizer": () => text("engines.name.no_recognizer"),
  estimate: () => text("engines.name.estimate"),
};

/**
 * @param {{stage: string, name: string, detail: string, why: string, fallback: boolean}[]} engines
 * @param {{skillsAnswer?: boolean, onlyVoice?: string}} expected what is no fallback. `skillsAnswer`: built-in skills answer because no
 *   language model is configured; `onlyVoice`: the only voice to choose from; "" if there are several
 */
export function drawEngines(engines = [], { skillsAnswer = false, onlyVoice = "" } = {}) {
  const expected = ({ stage, name }) => (skillsAnswer && stage === "llm") || (stage === "tts" && name === onlyVoice);
  engines = engines.map((one) => ({ ...one, name: STAND_INS[one.name]?.() ?? one.name, fallback: one.fallback && !expected(one) }));
  engines.sort((a, b) => STAGE_ORDER.indexOf(a.stage) - STAGE_ORDER.indexOf(b.stage));
  const fallbacks = engines.filter(({ fallback }) => fallback).map(({ name }) => name);
  byId("engines").hidden = !engines.length;
  byId("engines").classList.toggle("fallback", fallbacks.length > 0);
  const short = engines.filter(({ stage }) => IN_SUMMARY.has(stage)).map(({ name }) => name).join(" · ");
  byId("engines-short").replaceChildren(makeElement("span", { class: "label", text: text("engines.label") }), short);
  byId("fallback-engines").hidden = !fallbacks.length;
  byId("fallback-engines").textContent = text("engines.fallback", { names: fallbacks.join(", ") });
  byId("engines-list").replaceChildren(...engines.flatMap(({ stage, name, detail, why, fallback }) => [
    makeElement("dt", { text: STAGE_ORDER.includes(stage) ? text(`engines.${stage}`) : stage }),
    makeElement("dd", { class: fallback ? "fallback" : "" }, makeElement("b", { text: name }), makeElement("span", { text: detail ?? "" }),
      makeElement("small", { text: why ?? "" })),
  ]));
}
