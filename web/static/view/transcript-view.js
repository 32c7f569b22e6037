/** Shows the conversation: one line per item, and replies as rich text whose words light up. */

import { RichText } from "../rich-text/rich-text.js";
import { pageLanguage, text } from "../texts/texts.js";
import { byId, makeElement } from "./dom.js";
import { MessageActions } from "./message-actions.js";

export class TranscriptView {
  /** @param {import("./message-actions.js").MessageRequests} requests of the buttons at each message */
  constructor(requests) {
    this._requests = requests;
    this._atEnd = true; // whether the end is visible; if the user has scrolled up, the position stays
    this._size = ""; // of the list, in pixels
    const list = byId("transcript");
    const size = () => `${list.clientWidth} ${list.clientHeight}`;
    list.onscroll = () => {
      if (size() !== this._size) return; // the window was resized, or something beside the list opened
      this._atEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 80;
    };
    new ResizeObserver(() => {
      this._size = size();
      this._scrollToEnd();
    }).observe(list);
  }

  /** @param {import("../session/conversation.js").Conversation} conversation */
  start(conversation) {
    this._conversation = conversation;
    /** @type {Map<import("../session/conversation.js").Item, {line: HTMLElement, text: HTMLElement, note: HTMLElement, actions: MessageActions, rich?: RichText, announced: boolean}>} */
    this._lines = new Map();
    byId("transcript").replaceChildren();
    byId("empty").hidden = false;
  }

  /** Draws what has changed. */
  draw() {
    for (const item of this._conversation.changed) {
      if (this._conversation.items.includes(item)) this._drawItem(item);
      else {
        this._lines.get(item)?.line.remove();
        this._lines.delete(item);
      }
    }
    this._conversation.changed.clear();
    this._drawSpeakers();
    byId("empty").hidden = this._conversation.items.length > 0;
    this._scrollToEnd();
  }

  /** The items that are shown. */
  get items() {
    return this._conversation?.items ?? [];
  }

  get hasLines() {
    return this._conversation !== undefined && this._conversation.items.length > 0;
  }

  _scrollToEnd() {
    if (this._atEnd) byId("transcript").scrollTop = byId("transcript").scrollHeight;
  }

  _drawItem(item) {
    const { line, text: shown, note, actions, rich } = this._lines.get(item) ?? this._makeLine(item);
    this._moveLine(item, line);
    line.className = `item ${item.role}${item.inProgress ? " in-progress" : ""}${item.lowConfidence ? " low-confidence" : ""}${item.interrupted ? " interrupted" : ""}${item.failure ? " failed" : ""}`;
    if (item.role === "assistant") rich.draw({ ...item, source: item.markup || item.text, open: item.inProgress && !item.cut, interrupted: item.interrupted || item.cut });
    else if (item.language) line.lang = item.language;
    if (item.role !== "assistant") shown.textContent = item.text || (item.role === "user" ? "…" : "");
    note.textContent = itemNote(item);
    actions.draw(item);
    this._announce(item);
  }

  /** Writes who spoke beside each message, also beside earlier ones when a second person speaks. */
  _drawSpeakers() {
    const shown = this._conversation.showsSpeakers;
    for (const [item, { who }] of this._lines) {
      if (item.role !== "user") continue;
      const name = (shown && item.speaker) || text("transcript.you");
      if (who.textContent !== name) who.textContent = name;
    }
  }

  _makeLine(item) {
    const who = makeElement("span", { class: "who", lang: pageLanguage, text: { user: text("transcript.you"), assistant: "Repartee", call: text("transcript.tool") }[item.role] });
    const parts = { who, line: makeElement("li"), text: makeElement(item.role === "assistant" ? "div" : "p", { class: "text", dir: "auto" }), note: makeElement("span", { class: "note", lang: pageLanguage }), announced: false };
    if (item.role === "assistant") parts.rich = new RichText(parts.text);
    parts.actions = new MessageActions(this._requests, parts.text);
    if (this.language) parts.line.lang = this.language;
    parts.line.append(who, parts.text, parts.note, parts.actions.element);
    this._lines.set(item, parts);
    return parts;
  }

  /** Moves the line to the place of its item. */
  _moveLine(item, line) {
    const at = this._conversation.items.indexOf(item);
    const after = this._conversation.items.slice(at + 1).map((one) => this._lines.get(one)?.line).find((one) => one?.isConnected) ?? null;
    if (!line.isConnected || line.nextElementSibling !== after) byId("transcript").insertBefore(line, after);
  }

  /** Announces a final text to screen readers, once, and no interim texts. */
  _announce(item) {
    const parts = this._lines.get(item);
    if (parts.announced || item.inProgress || !item.text) return;
    parts.announced = true;
    const who = text({ user: item.spoken ? "transcript.you_said" : "transcript.you_wrote", assistant: "transcript.reply_said", call: "transcript.tool_call" }[item.role]);
    byId("announcements").replaceChildren(who, makeElement("span", { lang: byId("transcript").lang, text: item.text }));
  }
}

function hasUnheard({ unheard, played, words }) {
  return Boolean(unheard) || played < words.length;
}

function itemNote(item) {
  if (item.failure) return text("transcript.failed", { cause: item.failure });
  if (item.incomplete) return text("transcript.not_finished");
  if (item.interrupted && hasUnheard(item)) return `${text("transcript.interrupted")} · ${text("transcript.not_heard")}`;
  if (item.interrupted) return text("transcript.interrupted");
  if (item.role === "user" && item.lowConfidence && !item.inProgress) return text("transcript.low_confidence");
  return item.role === "user" && !item.spoken ? text("transcript.typed") : "";
}
