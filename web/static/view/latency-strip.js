/** The thin strip with the latency of the last turn and its stages. Opens and closes the panels with the details. */

import { text } from "../texts/texts.js";
import { BAND_TEXTS, turnRating } from "../timing/latency-stats.js";
import { stagesOfLatency } from "../timing/stages.js";
import { byId, makeElement } from "./dom.js";
import { preferences, setPreferences } from "./preferences.js";

const FULL_LENGTH_MS = 1000; // the bar's full length; longer latencies fill it

export class LatencyStrip {
  constructor() {
    byId("strip").onclick = () => this._showPanels(byId("panels").hidden);
    this._showPanels(preferences().panelsOpen);
  }

  /** Whether the panels are open. */
  get isOpen() {
    return !byId("panels").hidden;
  }

  /**
   * Shows the running time while a reply is awaited.
   * @param {number} ms since the end of speech
   */
  showWaiting(ms) {
    if (ms >= 0) this._draw(`${Math.round(ms)} ms …`, [{ stage: "", shown_ms: ms }]);
  }

  /** @param {import("../timing/turn-log.js").Turn} turn */
  showTurn(turn) {
    const rating = turnRating(turn);
    if (rating === "untimed" && !turn.trace) return; // it begins
    const ms = turn.latency_ms ?? turn.typed_ms;
    const parts = rating === "failed" || ms === null ? [] : stagesOfLatency(turn.trace, turn.latency_ms);
    const [shown, more] = turnTexts(turn, rating);
    this._draw(shown, parts.length || ms === null ? parts : [{ stage: "", shown_ms: ms }], more);
  }

  /** @param {string} more part of the text for which narrow screens have no room */
  _draw(shown, parts, more = "") {
    const drawn = shown + parts.map(({ stage, shown_ms }) => stage + Math.round(shown_ms)).join();
    if (drawn === byId("strip").dataset.drawn) return;
    byId("strip").dataset.drawn = drawn;
    byId("strip-latency").replaceChildren(shown, makeElement("span", { class: "more", text: more }));
    const total = parts.reduce((sum, { shown_ms }) => sum + shown_ms, 0);
    byId("strip-bar").replaceChildren(...parts.map(({ stage, shown_ms }) => {
      const part = makeElement("span", { class: "part", "data-stage": stage });
      part.style.width = `${(100 * shown_ms) / Math.max(FULL_LENGTH_MS, total)}%`;
      return part;
    }));
  }

  _showPanels(open) {
    byId("panels").hidden = !open;
    byId("strip").setAttribute("aria-expanded", String(open));
    if (open !== preferences().panelsOpen) setPreferences({ panelsOpen: open });
  }
}

/** Returns what the strip says about a turn: the latency, and what narrow screens have no room for. */
function turnTexts(turn, rating) {
  if (rating === "failed") return [text("strip.failed"), ""];
  if (turn.latency_ms !== null) return [`${Math.round(turn.latency_ms)} ms`, `, ${BAND_TEXTS[rating]}`];
  if (turn.typed_ms !== null) return [`${Math.round(turn.typed_ms)} ms`, text(turn.device_ms === null ? "strip.from_enter_to_word" : "strip.from_enter")];
  return [text("strip.not_heard"), ""];
}
