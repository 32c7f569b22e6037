/** What was said in a conversation, as it is kept in the browser and exported. Pure. */

import { Conversation } from "../session/conversation.js";
import { splitWords } from "../session/word-timing.js";
import { text as translated } from "../texts/texts.js";

export const MAX_MESSAGES = 400;
const MAX_CHARS = 400_000;
export const MAX_TITLE = 80;

/**
 * @typedef {object} Message
 * @property {"user" | "assistant"} role
 * @property {string} text of a reply only what was heard
 * @property {boolean} spoken
 * @property {boolean} complete false for a reply that was not heard to its end
 * @property {string} [markup] the same with its Markdown, where that is known
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
    if (!["user", "assistant"].includes(item.role) || item.inProgress || !text) continue;
    const complete = item.role === "user" || (item.played === item.words.length && !item.interrupted);
    const markup = item.heard ?? (complete ? item.markup : "");
    chars += text.length + markup.length;
    if (messages.length >= MAX_MESSAGES || chars > MAX_CHARS) break;
    messages.push({ role: item.role, text, spoken: item.spoken, complete, ...(markup && { markup }) });
  }
  return messages.reverse();
}

/** @param {Message[]} messages @returns {Conversation} a conversation that shows them */
export function conversationOf(messages) {
  const conversation = new Conversation();
  messages.forEach((message, n) => putMessage(conversation, `past_${n + 1}`, message));
  return conversation;
}

/** Adds a message of the past under an id. */
export function putMessage(conversation, id, { role, text, spoken, complete, markup = "" }) {
  const item = conversation.put(id, { role, text, spoken, markup, heard: markup });
  if (role !== "assistant") return;
  item.words = splitWords(text);
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
  const said = messages.map(({ role, text, markup, complete }) => {
    const written = markup || text;
    const space = written.trim().includes("\n") ? "\n\n" : " ";
    return `**${role === "user" ? translated("transcript.you") : "Repartee"}:**${space}${written}${complete ? "" : `${space}*(${translated("export.interrupted")})*`}`;
  });
  return [`# ${title || translated("export.conversation")}`, translated("export.began", { date: began_at }), ...said].join("\n\n") + "\n";
}

/** @param {Kept} kept */
export function asJson({ id, title, began_at, changed_at, messages }) {
  return JSON.stringify({ id, title, began_at, changed_at, messages }, null, 2) + "\n";
}
