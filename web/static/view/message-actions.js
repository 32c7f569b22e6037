/** The buttons of a message: copy it, edit it and ask again, try again, and the remedy of a failed reply. */

import { text } from "../texts/texts.js";
import { makeElement } from "./dom.js";

const SHOWN_MS = 2500;

/**
 * @typedef {object} MessageRequests
 * @property {(id: string, words: string) => boolean} ask asks again with other words; what follows the message is deleted
 * @property {(id: string) => boolean} retry makes a reply again
 * @property {() => void} answers opens the choice of who answers
 */
export class MessageActions {
  /** @param {MessageRequests} requests @param {HTMLElement} shown the element with the message's words */
  constructor(requests, shown) {
    this._requests = requests;
    this._shown = shown;
    this._item = null;
    this._copy = this._button("message.copy", "copy", () => this._copyText());
    this._edit = this._button("message.edit", "edit needs-session", () => this._startEdit());
    this._retry = this._button("message.retry", "retry needs-session", () => requests.retry(this._item.id));
    this._answers = this._button("message.answers", "who-answers", () => requests.answers());
    this.element = makeElement("div", { class: "message-actions" }, this._answers, this._retry, this._edit, this._copy);
  }

  /** @param {import("../session/conversation.js").Item} item as it is now */
  draw(item) {
    this._item = item;
    const finished = !item.inProgress && Boolean(item.text);
    this._copy.hidden = !finished || item.role === "call";
    this._edit.hidden = !finished || item.role !== "user" || !item.id;
    this._retry.hidden = item.inProgress || item.role !== "assistant" || !item.id;
    this._answers.hidden = !item.failure;
  }

  _button(key, kind, onclick) {
    const button = makeElement("button", { type: "button", class: `quiet small ${kind}`, text: text(key) });
    button.onclick = onclick;
    return button;
  }

  /** Copies the written form of the message, a reply with its Markdown. */
  async _copyText() {
    let done = "rich.copied";
    try {
      await navigator.clipboard.writeText(this._item.markup || this._item.text);
    } catch { // no permission, or the page is not secure: the user can copy what is selected
      getSelection().selectAllChildren(this._shown);
      done = "rich.selected";
    }
    this._copy.textContent = text(done);
    this._copy.setAttribute("aria-live", "polite");
    setTimeout(() => (this._copy.textContent = text("message.copy")), SHOWN_MS);
  }

  _startEdit() {
    const field = makeElement("textarea", { class: "edit-text", dir: "auto", rows: "2", "aria-label": text("message.edit_label") });
    field.value = this._item.text;
    const ask = makeElement("button", { type: "submit", class: "small primary", text: text("message.ask_again") });
    const cancel = makeElement("button", { type: "button", class: "quiet small", text: text("token.cancel") });
    const form = makeElement("form", { class: "edit-form" }, field, makeElement("div", { class: "row" }, cancel, ask));
    const close = () => {
      form.remove();
      this._shown.hidden = this.element.hidden = false;
      this._edit.focus();
    };
    cancel.onclick = close;
    form.onsubmit = (event) => {
      event.preventDefault();
      const words = field.value.trim();
      if (words && this._requests.ask(this._item.id, words)) form.remove();
    };
    form.onkeydown = (event) => {
      event.stopPropagation(); // no shortcuts of the page
      if (event.key === "Escape") close();
      else if (event.key === "Enter" && !event.shiftKey && event.target === field) form.requestSubmit();
      else return;
      event.preventDefault();
    };
    this._shown.hidden = this.element.hidden = true;
    this._shown.after(form);
    field.focus();
  }
}
