/** Says in words what state the page is in, and what the user can do now. Pure. */

import { text } from "../texts/texts.js";

/**
 * @typedef {object} PageState
 * @property {string} phase of the session; "idle" without one
 * @property {boolean} muted
 * @property {boolean} microphoneOpen whether the browser records
 * @property {boolean} typed whether the conversation was started by typing: no microphone was asked for
 * @property {boolean} [textOnly] whether the page neither records nor plays
 * @property {boolean} pushToTalk
 * @property {boolean} held whether the push-to-talk key is down
 * @property {boolean} [continues] whether the next start continues the conversation that is shown
 * @property {boolean} [ended] whether a conversation that has ended is shown
 * @property {string} [awaitedPhrase] words without which speech is not answered now
 */

/** Phases in which the state of the microphone matters. */
const WAITING = new Set(["listening", "hearing"]);

/** @param {PageState} state @returns {string} the state in a few words */
export function phaseText({ phase, muted, microphoneOpen, typed, textOnly, pushToTalk, held, awaitedPhrase, continues, ended }) {
  if (phase === "idle") return text(continues ? "phase.paused" : ended ? "phase.ended" : "phase.idle");
  if (!WAITING.has(phase)) return text(`phase.${phase}`);
  if (textOnly) return text("phase.text_only");
  if (typed && !microphoneOpen) return text("phase.typed");
  if (muted) return text("phase.muted");
  if (!microphoneOpen) return text("phase.no_microphone");
  if (!pushToTalk) return phase === "listening" && awaitedPhrase ? text("phase.waiting", { phrase: awaitedPhrase }) : text(`phase.${phase}`);
  return text(held ? "phase.key_down" : "phase.key_up");
}

/** @param {PageState} state @returns {string} what to do in a conversation without a word yet; "" while it connects */
export function hintText({ phase, muted, microphoneOpen, textOnly, pushToTalk, awaitedPhrase }) {
  if (textOnly) return phase === "idle" || WAITING.has(phase) ? text("hint.type") : "";
  const kind = awaitedPhrase ? "_wake" : pushToTalk ? "_hold" : "";
  if (phase === "idle") return text(`hint.start${kind}`, { phrase: awaitedPhrase });
  if (!WAITING.has(phase)) return "";
  if (muted || !microphoneOpen) return text("hint.type");
  return text(`hint.speak${kind}`, { phrase: awaitedPhrase });
}
