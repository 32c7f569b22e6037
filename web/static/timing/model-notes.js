/** Says in sentences what the trace of a turn tells about the answer and its language model. Pure. */

import { text } from "../texts/texts.js";

/**
 * Returns the size of model that was chosen and why, another one that answered, and how much of the prompt was cached;
 * of a refusal, that it is one.
 * @param {object} trace the server's record
 * @returns {string[]} sentences
 */
export function modelNotes({ events = [], answers = [] }) {
  const heard = answers.findLast((answer) => !answer.dropped);
  if (!heard) return [];
  if (heard.reason === "refused") return [text("turns.refusal")];
  const prefix = `attempt ${heard.attempt}: `;
  const details = (name) => events.filter((event) => event.name === name && event.detail.startsWith(prefix)).map((event) => event.detail.slice(prefix.length));
  const notes = details("size").slice(-1).map((detail) => text("turns.model_size", { detail }));
  notes.push(...details("other_size").map((detail) => `${detail}.`), ...details("escalated").map((detail) => text("turns.asked_large", { detail })));
  if (heard.prompt_tokens && heard.cached_tokens != null) {
    notes.push(text("turns.prompt_cached", { percent: Math.round((100 * heard.cached_tokens) / heard.prompt_tokens), count: heard.prompt_tokens }));
  }
  return notes;
}
