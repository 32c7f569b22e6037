/** Shows problems and notes in the page. */

import { PROBLEMS } from "../session/problems.js";
import { text } from "../texts/texts.js";
import { byId, makeElement } from "./dom.js";

const NOTE_MS = 8000;
const MAX_NOTICES = 4;

export class Notices {
  /** @param {(action: string) => void} runAction called when a notice's button is pressed */
  constructor(runAction) {
    this._runAction = runAction;
    this._shown = new Map();
    this._timers = new WeakMap();
  }

  /**
   * Shows a problem until it is over or dismissed. The same problem is shown once.
   * @param {string} name in PROBLEMS
   * @param {string} message details in the server's or the browser's words
   */
  problem(name, message = "") {
    const { action } = PROBLEMS[name];
    const what = text(`problem.${name}.what`);
    const texts = [makeElement("strong", { text: what }), makeElement("span", { text: text(`problem.${name}.remedy`) })];
    if (message && !message.startsWith(what)) texts.push(makeElement("span", { class: "details", text: message }));
    this._show(name, "problem", texts, action);
  }

  /** Shows one sentence that disappears by itself. */
  note(sentence) {
    const key = `note ${sentence}`;
    this._show(key, "note", [makeElement("span", { text: sentence })]);
    const shown = this._shown.get(key);
    clearTimeout(this._timers.get(shown));
    this._timers.set(shown, setTimeout(() => this._shown.get(key) === shown && this.remove(key), NOTE_MS));
  }

  /** Suggests something until it is accepted or dismissed. @param {string} label of the button that calls `accept` */
  suggest(key, sentence, label, accept) {
    this._show(key, "note", [makeElement("span", { text: sentence })], { label, run: () => {
      this.remove(key);
      accept();
    } });
  }

  remove(name) {
    const shown = this._shown.get(name);
    if (shown?.contains(document.activeElement)) byId("start").focus(); // otherwise the focus moves to the top of the page
    shown?.remove();
    this._shown.delete(name);
  }

  /** Removes all notices, because a new conversation starts. */
  clear() {
    for (const name of [...this._shown.keys()]) this.remove(name);
  }

  _show(key, kind, texts, action) {
    const content = makeElement("p", {}, ...texts);
    const shown = this._shown.get(key)?.querySelector("p");
    if (shown) { // its button keeps the focus, and a screen reader reads it again only if its text changes
      if (shown.textContent !== content.textContent) shown.replaceWith(content);
      return;
    }
    const closeButton = makeElement("button", { type: "button", class: "quiet icon small", "aria-label": text("notice.close"), text: "×" });
    closeButton.onclick = () => this.remove(key);
    const notice = makeElement("div", { class: `notice ${kind}`, "data-problem": key }, content);
    if (action) {
      const button = makeElement("button", { type: "button", class: "small", text: action.label ?? text(`notice.${action}`) });
      button.onclick = () => (action.run ? action.run() : this._runAction(action));
      notice.append(button);
    }
    notice.append(closeButton);
    byId("notices").append(notice);
    this._shown.set(key, notice);
    if (this._shown.size > MAX_NOTICES) this.remove(this._shown.keys().next().value);
  }
}
