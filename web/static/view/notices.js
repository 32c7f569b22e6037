/** What went wrong or is worth knowing, in words, in the page. */

import { TROUBLES } from "../talk/troubles.js";
import { by, make } from "./page.js";

const ACTIONS = { reconnect: "Try now", microphone: "Try again", sound: "Go on", token: "Enter the token", start: "Start" };
const NOTICE_STAYS_MS = 8000;
const MOST = 4;

export class Notices {
  /** @param {(action: string) => void} act what a notice's button does */
  constructor(act) {
    this._act = act;
    this._shown = new Map();
    this._timers = new WeakMap();
  }

  /**
   * A trouble, until it is over or put away. The same one twice is one.
   * @param {string} name in TROUBLES
   * @param {string} said more of it, in the server's or the browser's own words
   */
  trouble(name, said = "") {
    const { what, remedy, action } = TROUBLES[name];
    const texts = [make("strong", { text: what }), make("span", { text: remedy })];
    if (said) texts.push(make("span", { class: "said", text: said }));
    this._show(name, "trouble", texts, action);
  }

  /** One sentence that goes away by itself. */
  note(text) {
    const key = `note ${text}`;
    this._show(key, "note", [make("span", { text })]);
    const shown = this._shown.get(key);
    clearTimeout(this._timers.get(shown));
    this._timers.set(shown, setTimeout(() => this._shown.get(key) === shown && this.over(key), NOTICE_STAYS_MS));
  }

  over(name) {
    const shown = this._shown.get(name);
    if (shown?.contains(document.activeElement)) by("start").focus(); // not to the top of the page
    shown?.remove();
    this._shown.delete(name);
  }

  /** A new start: what was is no more. */
  clear() {
    for (const name of [...this._shown.keys()]) this.over(name);
  }

  _show(key, kind, texts, action) {
    const told = make("p", {}, ...texts);
    const shown = this._shown.get(key)?.querySelector("p");
    if (shown) { // its button keeps the focus, and it is read aloud again only where it says something else
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
