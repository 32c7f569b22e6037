/** The first steps: a dialog that opens once in each browser, and again on request. */

import { countText, text } from "../texts/texts.js";
import { restartButton } from "../settings/restart-button.js";
import { keepFocus } from "../view/dialog-focus.js";
import { byId, makeElement } from "../view/dom.js";
import { AnswererStep } from "./answerer-step.js";
import { KeepStep } from "./keep-step.js";
import { MicrophoneStep } from "./microphone-step.js";
import { ServerError, setupOffer } from "./server.js";
import { rememberShown, wasShown } from "./storage.js";
import { VoiceStep } from "./voice-step.js";

/**
 * @typedef {object} FirstRunContext what the steps share
 * @property {{writable: boolean}} offer see GET /v1/repartee/setup
 * @property {{get: (name: string) => any, set: (name: string, value: any) => void}} choices of this browser; undefined is the server's
 * @property {(saved: object) => void} report the answer of POST /v1/repartee/setup/save
 */

const ANSWERER = 2; // position of its step

export class FirstRun {
  /** @param {FirstRunContext["choices"]} choices */
  constructor(choices) {
    this._choices = choices;
    this._dialog = byId("first-run");
    this._steps = [];
    this._at = 0;
    this._dialog.addEventListener("keydown", (event) => event.stopPropagation()); // no shortcuts of the page
    this._dialog.addEventListener("cancel", (event) => {
      if (!this._steps[this._at]) return;
      event.preventDefault();
      this._leave();
    });
    this._dialog.addEventListener("close", (event) => {
      this._closed();
      keepFocus(event);
    });
    const again = this._makeButton(text("first.title"), "first-run-again small", () => {
      byId("settings-open").click(); // closes the settings
      this.open();
    });
    byId("settings").append(again);
    if (!wasShown()) this.open({ unasked: true });
  }

  /** Opens the dialog where it is chosen who answers. @returns {Promise<boolean>} false if this server does not offer it */
  async openAnswerers() {
    if (!(await setupOffer())) return false;
    await this.open({ at: ANSWERER });
    return true;
  }

  /** @param {{unasked?: boolean, at?: number}} how `unasked`: it opens by itself, so it stays closed where it cannot help; `at`: the first step shown */
  async open({ unasked = false, at = 0 } = {}) {
    const offer = await setupOffer();
    if (this._dialog.open || (unasked && (!offer?.authorized || document.body.dataset.phase !== "idle"))) return;
    this._saved = null;
    this._changed = [];
    this._awaitsRestart = Boolean(offer?.restart); // something was saved before, and the server still runs
    this._mayRestart = Boolean(offer?.writable && offer.process);
    const context = { choices: this._choices, offer: offer ?? { writable: false }, report: (saved) => this._report(saved) };
    this._steps = [new VoiceStep(context), new MicrophoneStep(), new AnswererStep(context), new KeepStep()];
    this._build();
    this._dialog.showModal();
    this._show(at);
  }

  _report(saved) {
    this._saved = { ...saved, private: saved.private || Boolean(this._saved?.private) };
    this._changed = [...new Set([...this._changed, ...saved.changed])];
  }

  _build() {
    this._heading = makeElement("h2", { id: "first-run-title", tabindex: "-1" });
    this._progress = makeElement("p", { class: "progress" });
    this._body = makeElement("div", { class: "body" });
    this._error = makeElement("p", { class: "error", role: "alert" });
    this._all = this._makeButton(text("first.skip_all"), "quiet", () => this._leave());
    this._back = this._makeButton(text("first.back"), "quiet", () => this._show(this._at - 1));
    this._skip = this._makeButton(text("first.skip"), "quiet", () => this._show(this._at + 1));
    this._next = this._makeButton(text("first.next"), "primary", () => this._goOn());
    const form = makeElement("form", { method: "dialog", novalidate: "" }, this._progress, this._heading, this._body, this._error, makeElement("div", { class: "row" }, this._all, this._back, this._skip, this._next));
    form.onsubmit = (event) => {
      event.preventDefault(); // Enter in a field
      this._goOn();
    };
    this._dialog.replaceChildren(form);
    this._dialog.removeAttribute("aria-label");
    this._dialog.setAttribute("aria-labelledby", "first-run-title");
  }

  _makeButton(label, kind, onclick) {
    const button = makeElement("button", { type: "button", class: kind, text: label });
    button.onclick = onclick;
    return button;
  }

  _show(at) {
    this._steps[this._at]?.hide();
    this._at = at;
    this._error.textContent = "";
    const step = this._steps[at];
    const isLast = step === undefined;
    this._progress.textContent = isLast ? text("first.done") : text("first.progress", { step: at + 1, count: this._steps.length });
    this._heading.textContent = isLast ? this._summaryTitle : step.title;
    this._body.replaceChildren(isLast ? this._makeSummary() : step.element);
    this._all.hidden = this._skip.hidden = isLast;
    this._back.hidden = at === 0;
    this._next.textContent = text(isLast ? "first.close" : at === this._steps.length - 1 ? "first.done" : "first.next");
    this._heading.focus();
    step?.show();
  }

  async _goOn() {
    const step = this._steps[this._at];
    if (!step) return this._dialog.close();
    if (this._next.disabled) return;
    this._error.textContent = "";
    this._next.disabled = true;
    try {
      await step.next();
      if (this._dialog.open && this._steps[this._at] === step) this._show(this._at + 1);
    } catch (error) {
      if (!(error instanceof ServerError)) throw error;
      this._error.textContent = error.message;
    } finally {
      this._next.disabled = false;
    }
  }

  get _needsRestart() {
    return this._saved?.restart ?? this._awaitsRestart;
  }

  get _summaryTitle() {
    const left = (this._needsRestart ? 1 : 0) + (this._saved?.missing.length ?? 0);
    return left === 0 ? text("first.ready") : countText("first.more", left);
  }

  _makeSummary() {
    const lines = [];
    const saved = this._saved;
    if (saved && this._changed.length) {
      const changed = this._changed.map((line) => makeElement("li", {}, makeElement("code", { text: line })));
      lines.push(makeElement("p", { text: text(saved.private ? "first.written_private" : "first.written", { file: saved.file }) }), makeElement("ul", {}, ...changed));
    }
    for (const name of saved?.overridden ?? []) lines.push(makeElement("p", { text: text("first.overridden", { name }) }));
    if (saved?.missing.length) lines.push(makeElement("p", { text: text("first.missing") }), makeElement("ul", {}, ...saved.missing.map(({ purpose, remedy }) => makeElement("li", { text: `${purpose}: ${remedy}` }))));
    if (this._needsRestart) lines.push(makeElement("p", { class: "restart", text: text("first.restart") }), ...(this._mayRestart ? [restartButton(() => (this._awaitsRestart = false))] : []));
    lines.push(makeElement("p", { text: text(this._needsRestart ? "first.then_press" : "first.press") }));
    return makeElement("div", { class: "step" }, ...lines);
  }

  /** Closes the dialog; what was written is said first. */
  _leave() {
    if (this._changed.length) this._show(this._steps.length);
    else this._dialog.close();
  }

  _closed() {
    this._steps[this._at]?.hide();
    this._dialog.replaceChildren();
    rememberShown();
  }
}
