/** What was said in a conversation, as it is kept in the browser and exported. Pure. */

import { Conversation, pastReply, showsSpeakers } from "../session/conversation.js";
import { text as translated } from "../texts/texts.js";

export const MAX_MESSAGES = 400;
const MAX_CHARS = 400_000;
export const MAX_TITLE = 80;
const LAST_WORDS = 4; // heard words by which their place in the Markdown is found

/**
 * @typedef {object} Message
 * @property {"user" | "assistant"} role
 * @property {string} text of a reply only what was heard
 * @property {boolean} spoken
 * @property {boolean} complete false for a reply that was not heard to its end
 * @property {string} [markup] the same with its Markdown, where that is known
 * @property {string} [unheard] what was written after it and not heard
 * @property {string} [speaker] label of who spoke, if it is known
 * @property {boolean} [earlier] whether it is of another conversation, which has ended and is still shown
 *
 * @typedef {object} Kept a conversation
 * @property {string} id
 * @property {string} title
 * @property {string} began_at ISO 8601
 * @property {string} changed_at
 * @property {Message[]} messages
 */

/** @param {import("../session/conversation.js").Item[]} items @returns {Message[]} the newest messages that are finished */
export function messagesOf(items) {
  const messages = [];
  let chars = 0;
  for (const item of items.slice(-2 * MAX_MESSAGES).reverse()) {
    const text = (item.role === "assistant" ? item.words.slice(0, item.played).join("") : item.text).trim();
    const unheard = item.role === "assistant" ? unheardOf(item) : "";
    if (!["user", "assistant"].includes(item.role) || item.inProgress || !(text || unheard)) continue;
    const complete = item.role === "user" || (item.played === item.words.length && !item.interrupted);
    const markup = item.heard ?? (complete ? item.markup : "");
    chars += text.length + markup.length + unheard.length;
    if (messages.length >= MAX_MESSAGES || chars > MAX_CHARS) break;
    messages.push({ role: item.role, text, spoken: item.spoken, complete, ...(markup && { markup }), ...(unheard && { unheard }), ...(item.speaker && { speaker: item.speaker }), ...(item.earlier && { earlier: true }) });
  }
  return messages.reverse();
}

/** Returns what was not heard of a reply. If the connection ended before the server told it, it is looked up by the last words heard. */
function unheardOf({ interrupted, heard, unheard, markup, words, played }) {
  if (unheard || !interrupted || heard !== null) return unheard;
  const last = words.slice(Math.max(0, played - LAST_WORDS), played).join("").trim();
  const at = last ? markup.indexOf(last) : 0;
  return markup && at >= 0 ? markup.slice(at + last.length) : words.slice(played).join("");
}

/** @param {Message[]} messages @returns {Conversation} a conversation that shows them */
export function conversationOf(messages) {
  const conversation = new Conversation();
  messages.forEach((message, n) => putMessage(conversation, `past_${n + 1}`, message));
  return conversation;
}

/** Adds a message of the past under an id. */
export function putMessage(conversation, id, { role, text = "", spoken, complete, markup = "", unheard = "", speaker = "", earlier = false }) {
  const item = conversation.setItem(id, { role, spoken, speaker, earlier, ...pastReply(text, markup, unheard) });
  if (role !== "assistant") return;
  item.played = item.words.length;
  item.interrupted = !complete;
}

/** @param {Message[]} messages */
export function titleOf(messages) {
  const title = (messages.find(({ role }) => role === "user")?.text ?? "").replace(/\s+/g, " ");
  return title.length > MAX_TITLE ? `${title.slice(0, MAX_TITLE - 1)}…` : title;
}

/** @returns {string} without case and accents, for comparison */
export function folded(text) {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
}

/** @param {Kept} kept */
export function asMarkdown({ title, began_at, messages }) {
  const named = showsSpeakers(messages);
  const said = messages.map(({ role, text, markup, complete, unheard = "", speaker }) => {
    const written = markup || text;
    const space = written.trim().includes("\n") ? "\n\n" : " ";
    const heard = `**${role === "user" ? (named && speaker) || translated("transcript.you") : "Repartee"}:**${space}${written}${complete ? "" : `${space}*(${translated("export.interrupted")})*`}`;
    return unheard ? `${heard}\n\n*(${translated("export.not_heard")})*\n\n${unheard.trim()}` : heard;
  });
  return [`# ${title || translated("export.conversation")}`, translated("export.began", { date: began_at }), ...said].join("\n\n") + "\n";
}

/** @param {Kept} kept */
export function asJson({ id, title, began_at, changed_at, messages }) {
  return JSON.stringify({ id, title, began_at, changed_at, messages }, null, 2) + "\n";
}
