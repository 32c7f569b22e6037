/** What is remembered of the user of this browser: shown, edited, deleted, switched off. A part of the panel of conversations. */

import { formatDate, text } from "../texts/texts.js";
import { confirmed } from "../view/confirmed.js";
import { makeElement } from "../view/dom.js";

const MAX_CHARS = 240; // as the server allows

export class MemorySection {
  /** @param {import("./server-store.js").MemoryStore} store */
  constructor(store) {
    this._store = store;
    this._request = {}; // a unique object for each request: answers of earlier ones are dropped
    this._summary = makeElement("summary", { text: text("memory.title") });
    this._enabled = makeElement("input", { type: "checkbox" });
    this._enabled.onchange = () => this._do(() => this._store.enable(this._enabled.checked));
    const label = makeElement("label", { class: "choice" }, this._enabled,
      makeElement("span", { text: text("memory.enabled") }, makeElement("small", { text: text("memory.enabled_meaning") })));
    this._status = makeElement("p", { class: "hint", role: "status" });
    this._list = makeElement("ul", { class: "facts" });
    this._deleteAll = makeElement("button", { type: "button", class: "small danger" });
    confirmed(this._deleteAll, text("memory.delete_all"), text("memory.delete_all_really"), () => this._do(() => this._store.deleteAll()));
    /** The element to show. */
    this.element = makeElement("details", { class: "memory" }, this._summary, label, this._status, this._list, this._deleteAll);
    this.element.hidden = true;
  }

  /** Shows what is remembered. @param {boolean} wanted whether the server may have something of this browser */
  async load(wanted) {
    const request = (this._request = {});
    if (!wanted) {
      this.element.hidden = true;
      return;
    }
    try {
      const memory = await this._store.list();
      if (request === this._request) this._draw(memory);
    } catch (error) {
      if (request !== this._request) return;
      this.element.hidden = false; // what is remembered is not known: nothing is shown as if there were nothing
      this._list.replaceChildren();
      this._deleteAll.hidden = true;
      this._status.textContent = error.message;
      this._status.classList.add("error");
    }
  }

  _draw({ data, enabled, offered }) {
    this.element.hidden = !offered && !data.length; // what was remembered before can be deleted
    this._enabled.checked = enabled;
    this._enabled.disabled = !offered;
    this._summary.textContent = data.length ? `${text("memory.title")} (${data.length})` : text("memory.title");
    this._status.textContent = data.length ? "" : text("memory.none");
    this._status.classList.remove("error");
    this._deleteAll.hidden = !data.length;
    this._list.replaceChildren(...data.map((fact) => this._row(fact)));
  }

  _row(fact) {
    const words = makeElement("span", { class: "fact", dir: "auto", text: fact.text });
    const edit = makeElement("button", { type: "button", class: "small", text: text("memory.edit"), "aria-label": `${text("memory.edit")}: ${fact.text}` });
    const remove = makeElement("button", { type: "button", class: "small danger" });
    confirmed(remove, text("memory.delete"), text("memory.delete_really"), () => this._do(() => this._store.delete(fact.key)));
    edit.onclick = () => this._edit(fact, words, edit);
    const buttons = makeElement("span", { class: "actions", role: "group", "aria-label": fact.text }, edit, remove);
    return makeElement("li", {}, words, makeElement("small", { text: formatDate(fact.said_at) }), buttons);
  }

  /** Puts a field in place of the words. Enter keeps them, Escape the former ones. */
  _edit(fact, words, button) {
    const field = makeElement("input", { type: "text", dir: "auto", maxlength: String(MAX_CHARS), "aria-label": text("memory.words") });
    field.value = fact.text;
    let open = true;
    const close = (keep) => {
      if (!open) return;
      open = false;
      field.replaceWith(words);
      button.focus();
      const said = field.value.trim();
      if (keep && said && said !== fact.text) this._do(() => this._store.edit(fact.key, said));
    };
    field.onblur = () => close(true);
    field.onkeydown = (event) => {
      if (event.key !== "Enter" && event.key !== "Escape") return;
      event.preventDefault();
      event.stopPropagation(); // Escape must not close the panel
      close(event.key === "Enter");
    };
    words.replaceWith(field);
    field.focus();
    field.select();
  }

  async _do(act) {
    try {
      await act();
      await this.load(true);
      if (!this.element.contains(document.activeElement)) this._summary.focus(); // its row is gone
    } catch (error) {
      await this.load(true);
      this._status.textContent = error.message;
      this._status.classList.add("error");
    }
  }
}
