/** The download of a model: its button, its progress, and what follows it. */

import { formatNumber, noticeText, text } from "../texts/texts.js";
import { makeElement } from "../view/dom.js";
import { restartButton } from "./restart-button.js";
import { ChangeError, pullModel } from "./server-changes.js";

export class ModelDownload {
  /** @param {() => void} onChange called when a model is there, and when the server was restarted */
  constructor(onChange) {
    this._onChange = onChange;
    this._name = "";
    this._running = null; // AbortController while it downloads
    this._button = makeElement("button", { type: "button", class: "small download-model" });
    this._button.onclick = () => (this._running ? this._running.abort() : this._pull());
    this._bar = makeElement("progress", { max: "1", "aria-label": text("models.progress"), hidden: "" });
    this._status = makeElement("p", { class: "hint", role: "status" });
    this._after = makeElement("div");
    this.element = makeElement("div", { class: "model-download" }, makeElement("div", { class: "row" }, this._button, this._bar), this._status, this._after);
    this._draw();
  }

  /** @param {string} name of the model that the button downloads; "" for none */
  offer(name) {
    if (this._running) return;
    this._name = name;
    this._status.textContent = "";
    this._status.classList.remove("error");
    this._draw();
  }

  async _pull() {
    this._running = new AbortController();
    this._after.replaceChildren();
    this._status.classList.remove("error");
    this._draw();
    try {
      const { restart, note } = await pullModel(this._name, this._running.signal, (progress) => this._showProgress(progress));
      this._status.textContent = [text("models.ready", { name: this._name }), note && noticeText({ text: note, code: "model_use", values: { reason: note } })].filter(Boolean).join(" ");
      this._name = "";
      if (restart) this._after.replaceChildren(restartButton(this._onChange));
      this._onChange();
    } catch (error) {
      if (error.name !== "AbortError" && !(error instanceof ChangeError)) throw error;
      this._status.textContent = error.name === "AbortError" ? text("models.cancelled") : error.message;
      this._status.classList.toggle("error", error.name !== "AbortError");
    } finally {
      this._running = null;
      this._draw();
    }
  }

  _showProgress({ done_bytes: done, total_bytes: total }) {
    if (total) this._bar.value = done / total;
    else this._bar.removeAttribute("value");
    const megabytes = (bytes) => formatNumber(bytes / 1e6, 1);
    this._status.textContent = total ? text("models.megabytes", { done: megabytes(done), total: megabytes(total) }) : text("models.begins");
  }

  _draw() {
    this._button.textContent = text(this._running ? "models.cancel" : "models.download");
    this._button.hidden = !this._name;
    this._bar.hidden = !this._running;
  }
}
