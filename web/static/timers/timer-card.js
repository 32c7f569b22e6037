/** Shows timers, alarms and reminders with the time that is left, and a button for each thing that can be done. */

import { locale, text } from "../texts/texts.js";
import { makeElement } from "../view/dom.js";

/** @typedef {{id: number, kind: string, name: string, state: "running" | "paused" | "ringing", left_s: number, length_s: number, at: string | null, repeats: boolean}} Timer */

const TICK_MS = 250;

/** Returns "4:05" or "1:04:05". */
export function countdown(left_s) {
  const left = Math.max(0, Math.ceil(left_s - 0.05));
  const parts = [Math.floor(left / 3600), Math.floor((left % 3600) / 60), left % 60];
  const shown = parts[0] ? parts : parts.slice(1);
  return shown.map((part, index) => (index ? String(part).padStart(2, "0") : String(part))).join(":");
}

/** @param {Timer} timer @returns {string[]} */
export function actionsOf({ kind, state }) {
  if (state === "ringing") return ["stop", "snooze"];
  if (kind !== "timer") return ["cancel"];
  return ["add_minute", state === "paused" ? "resume" : "pause", "cancel"];
}

export class TimerCard {
  /** @param {(id: number, action: string) => void} press called when a button is pressed */
  constructor(press) {
    this._press = press;
    this._list = makeElement("ul");
    this.element = makeElement("section", { class: "timers", id: "timers", "aria-label": text("timers.title"), hidden: "" }, this._list);
    this._times = [];
    this._ticking = null;
  }

  /** @param {Timer[]} timers all that are set, as the server has just sent them */
  show(timers) {
    const focused = document.activeElement?.dataset?.press;
    const arrived_ms = performance.now();
    this.element.hidden = timers.length === 0;
    this._times = [];
    this._list.replaceChildren(...timers.map((timer) => this._row(timer, arrived_ms)));
    if (focused) this._list.querySelector(`[data-press="${focused}"]`)?.focus();
    clearInterval(this._ticking);
    this._ticking = this._times.length ? setInterval(() => this._tick(), TICK_MS) : null;
    this._tick();
  }

  _row(timer, arrived_ms) {
    const name = timer.name || (timer.length_s ? countdown(timer.length_s) : text(`timers.${timer.kind}`));
    const label = makeElement("span", { class: "timer-name", dir: "auto", text: name });
    const kind = makeElement("span", { class: "timer-kind", text: name === text(`timers.${timer.kind}`) ? "" : text(`timers.${timer.kind}`) });
    const time = makeElement("span", { class: "timer-time", text: this._still(timer) });
    if (timer.kind === "timer" && timer.state === "running") this._times.push({ time, due_ms: arrived_ms + timer.left_s * 1000 });
    const buttons = actionsOf(timer).map((action) => this._button(timer, action, name));
    return makeElement("li", { class: timer.state, "data-id": String(timer.id) }, time, label, kind, makeElement("span", { class: "timer-buttons" }, ...buttons));
  }

  /** The time as text, unless it counts down. */
  _still(timer) {
    if (timer.state === "ringing") return text("timers.ringing");
    if (timer.kind === "timer") return timer.state === "paused" ? `${countdown(timer.left_s)} · ${text("timers.paused")}` : countdown(timer.left_s);
    const at = new Date(timer.at);
    const day = timer.left_s > 22 * 3600 || timer.repeats ? { weekday: "short" } : {};
    return at.toLocaleString(locale, { ...day, hour: "numeric", minute: "2-digit" });
  }

  _button(timer, action, name) {
    const button = makeElement("button", {
      class: `${timer.state === "ringing" && action === "stop" ? "primary" : "quiet"} small`,
      type: "button", text: text(`timers.${action}`), "aria-label": `${text(`timers.${action}`)}: ${name}`, "data-press": `${timer.id}-${action}`,
    });
    button.addEventListener("click", () => this._press(timer.id, action));
    return button;
  }

  _tick() {
    for (const { time, due_ms } of this._times) time.textContent = countdown((due_ms - performance.now()) / 1000);
  }
}
