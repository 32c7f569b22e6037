/** Shows the conversation: one line per item, and each word of a reply as its own element. */

import { by, make } from "./page.js";

export class Transcript {
  constructor() {
    this._follows = true; // whether the end is visible; if the user has scrolled up, the position stays
    this._height = 0; // pixels
    const list = by("transcript");
    list.onscroll = () => {
      if (list.clientHeight !== this._height) return; // the window was resized
      this._follows = list.scrollHeight - list.scrollTop - list.clientHeight < 80;
    };
    new ResizeObserver(() => {
      this._height = list.clientHeight;
      this._follow();
    }).observe(list);
  }

  /** @param {import("../talk/conversation.js").Conversation} conversation */
  begin(conversation) {
    this._conversation = conversation;
    /** @type {Map<import("../talk/conversation.js").Item, {line: HTMLElement, text: HTMLElement, note: HTMLElement, told: boolean}>} */
    this._lines = new Map();
    by("transcript").replaceChildren();
    by("empty").hidden = false;
  }

  /** Draws what has changed. */
  draw() {
    for (const item of this._conversation.changed) {
      if (this._conversation.items.includes(item)) this._item(item);
      else {
        this._lines.get(item)?.line.remove();
        this._lines.delete(item);
      }
    }
    this._conversation.changed.clear();
    by("empty").hidden = this._conversation.items.length > 0;
    this._follow();
  }

  _follow() {
    if (this._follows) by("transcript").scrollTop = by("transcript").scrollHeight;
  }

  _item(item) {
    const { line, text, note } = this._lines.get(item) ?? this._new(item);
    this._place(item, line);
    line.className = `item ${item.role}${item.partial ? " partial" : ""}${item.rough ? " rough" : ""}${item.cut ? " cut" : ""}`;
    if (item.role === "assistant") this._words(item, text);
    else text.textContent = item.text || (item.role === "user" ? "…" : "");
    note.textContent = noteOf(item);
    this._aloud(item);
  }

  _new(item) {
    const who = make("span", { class: "who", lang: "en", text: { user: "You", assistant: "Repartee", call: "Called" }[item.role] });
    const parts = { line: make("li"), text: make("p", { class: "text", dir: "auto" }), note: make("span", { class: "note", lang: "en" }), told: false };
    parts.line.append(who, parts.text, parts.note);
    this._lines.set(item, parts);
    return parts;
  }

  /** Moves the line to the place of its item. */
  _place(item, line) {
    const at = this._conversation.items.indexOf(item);
    const after = this._conversation.items.slice(at + 1).map((one) => this._lines.get(one)?.line).find((one) => one?.isConnected) ?? null;
    if (!line.isConnected || line.nextElementSibling !== after) by("transcript").insertBefore(line, after);
  }

  _words(item, text) {
    while (text.childElementCount > item.words.length) text.lastElementChild.remove();
    item.words.forEach((word, n) => {
      const shown = text.children[n] ?? text.appendChild(make("span", { class: "word" }));
      if (shown.textContent !== word) shown.textContent = word;
      shown.classList.toggle("heard", n < item.heard);
      shown.classList.toggle("now", n === item.heard - 1 && item.heard < item.words.length && !item.cut);
    });
  }

  /** Announces a final text to screen readers, once, and no interim texts. */
  _aloud(item) {
    const parts = this._lines.get(item);
    if (parts.told || item.partial || !item.text) return;
    parts.told = true;
    const who = { user: item.spoken ? "You said: " : "You wrote: ", assistant: "Repartee: ", call: "Called: " }[item.role];
    by("aloud").replaceChildren(who, make("span", { lang: by("transcript").lang, text: item.text }));
  }
}

function noteOf(item) {
  if (item.unfinished) return "not finished";
  if (item.cut) return "interrupted";
  if (item.role === "user" && item.rough && !item.partial) return "a guess";
  return item.role === "user" && !item.spoken ? "typed" : "";
}
