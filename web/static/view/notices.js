/** Shows problems and notes in the page. */

import { TROUBLES } from "../talk/troubles.js";
import { by, make } from "./page.js";

const ACTIONS = { reconnect: "Try now", microphone: "Try again", sound: "Go on", token: "Enter the token", start: "Start" };
const NOTICE_STAYS_MS = 8000;
const MOST = 4;

export class Notices {
  /** @param {(action: string) => void} act called when a notice's button is pressed */
  constructor(act) {
    this._act = act;
    this._shown = new Map();
    this._timers = new WeakMap();
  }

  /**
   * Shows a problem until it is over or dismissed. The same problem is shown once.
   * @param {string} name in TROUBLES
   * @param {string} said details in the server's or the browser's own words
   */
  trouble(name, said = "") {
    const { what, remedy, action } = TROUBLES[name];
    const texts = [make("strong", { text: what }), make("span", { text: remedy })];
    if (said) texts.push(make("span", { class: "said", text: said }));
    this._show(name, "trouble", texts, action);
  }

  /** Shows one sentence that disappears by itself. */
  note(text) {
    const key = `note ${text}`;
    this._show(key, "note", [make("span", { text })]);
    const shown = this._shown.get(key);
    clearTimeout(this._timers.get(shown));
    this._timers.set(shown, setTimeout(() => this._shown.get(key) === shown && this.over(key), NOTICE_STAYS_MS));
  }

  over(name) {
    const shown = this._shown.get(name);
    if (shown?.contains(document.activeElement)) by("start").focus(); // otherwise the focus moves to the top of the page
    shown?.remove();
    this._shown.delete(name);
  }

  /** Removes all notices, because the page starts anew. */
  clear() {
    for (const name of [...this._shown.keys()]) this.over(name);
  }

  _show(key, kind, texts, action) {
    const told = make("p", {}, ...texts);
    const shown = this._shown.get(key)?.querySelector("p");
    if (shown) { // its button keeps the focus, and a screen reader reads it again only if its text changes
      if (shown.textContent !== told.textContent) shown.replaceWith(told);
      return;
    }
    const away = make("button", { type: "button", class: "quiet icon small", "aria-label": "Put this notice away", text: "×" });
    away.onclick = () => this.over(key);
    const notice = make("div", { class: `notice ${kind}`, "data-trouble": key }, told);
    if (action) {
      const button = make("button", { type: "button", class: "small", text: ACTIONS[action] });
      button.onclick = () => this._act(action);
      notice.append(button);
    }
    notice.append(away);
    by("notices").append(notice);
    this._shown.set(key, notice);
    if (this._shown.size > MOST) this.over(this._shown.keys().next().value);
  }
}
