/** Shows lists and notes, one folded line for each list, with buttons to copy a list, and to delete an item or all. */

import { text } from "../texts/texts.js";
import { confirmed } from "../view/confirmed.js";
import { makeElement } from "../view/dom.js";

/** @typedef {{id: string, text: string}} ListItem */
/** @typedef {{name: string, items: ListItem[]}} List */

const SHOWN_MS = 2000;
const NAMED = new Set(["shopping", "to-do", "notes"]); // the others have the name that the user gave

/** @param {string} name */
function titleOf(name) {
  return NAMED.has(name) ? text(`lists.${name}`) : name[0].toUpperCase() + name.slice(1);
}

export class ListCard {
  /** @param {(ids: string[]) => void} remove called to remove items */
  constructor(remove) {
    this._remove = remove;
    /** @type {Set<string>} names of the lists that are unfolded */
    this._open = new Set();
    this.element = makeElement("section", { class: "lists", id: "lists", "aria-label": text("lists.title"), hidden: "" });
  }

  /** @param {List[]} lists all lists with items, as the server has just sent them */
  show(lists) {
    const focused = this.element.contains(document.activeElement) ? document.activeElement.closest("details").dataset.list : null;
    this.element.hidden = lists.length === 0;
    this.element.replaceChildren(...lists.map((list) => this._list(list)));
    if (focused) [...this.element.children].find((one) => one.dataset.list === focused)?.querySelector("summary").focus();
  }

  /** @param {List} list */
  _list({ name, items }) {
    const title = titleOf(name);
    const count = makeElement("span", { class: "list-count", text: String(items.length) });
    const rows = items.map((item) => this._row(item));
    const ids = items.map((item) => item.id);
    const details = makeElement("details", { "data-list": name },
      makeElement("summary", {}, makeElement("span", { dir: "auto", text: title }), " ", count),
      makeElement("ul", {}, ...rows),
      makeElement("div", { class: "list-buttons" }, this._copyButton(title, items), this._clearButton(title, ids)));
    details.open = this._open.has(name);
    details.addEventListener("toggle", () => (details.open ? this._open.add(name) : this._open.delete(name)));
    return details;
  }

  /** @param {ListItem} item */
  _row(item) {
    const button = this._button("lists.delete", item.text, () => this._remove([item.id]));
    button.textContent = "✕";
    return makeElement("li", { "data-id": item.id }, makeElement("span", { dir: "auto", text: item.text }), button);
  }

  _copyButton(title, items) {
    const button = this._button("lists.copy", title, async () => {
      try {
        await navigator.clipboard.writeText(items.map((item) => `- ${item.text}\n`).join(""));
        button.textContent = text("lists.copied");
        setTimeout(() => (button.textContent = text("lists.copy")), SHOWN_MS);
      } catch { // no permission, or the page is not secure: the user can copy what is selected
        getSelection().selectAllChildren(button.closest("details").querySelector("ul"));
      }
    });
    return button;
  }

  _clearButton(title, ids) {
    const button = this._button("lists.clear", title, () => {});
    confirmed(button, text("lists.clear"), text("lists.clear_really"), () => this._remove(ids));
    return button;
  }

  _button(label, of, act) {
    const button = makeElement("button", { class: "quiet small", type: "button", text: text(label), "aria-label": `${text(label)}: ${of}` });
    button.addEventListener("click", act);
    return button;
  }
}
