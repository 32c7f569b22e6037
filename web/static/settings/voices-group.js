/** The voices that the server knows by name: the list, another one, and their removal. Only for pages on the server's own machine. */

import { toBase64 } from "../audio/pcm.js";
import { recordVoice } from "../audio/voice-recorder.js";
import { refusalText } from "../first-run/microphone-level.js";
import { formatDate, text } from "../texts/texts.js";
import { confirmed } from "../view/confirmed.js";
import { makeElement } from "../view/dom.js";
import { microphoneSettings } from "../view/preferences.js";
import { makeGroup } from "./rows.js";
import { addVoice, ChangeError, fetchVoices, removeVoice } from "./server-changes.js";

const RECORD_MS = 30_000;

export class VoicesGroup {
  constructor() {
    this._running = null; // AbortController while it records or waits
    this._checking = false; // the recording is at the server, which may keep it: too late to cancel
    this._list = makeElement("ul", { class: "voices", "aria-label": text("voices.title") });
    this._model = makeElement("p", { class: "hint", text: text("voices.no_model") });
    this._name = makeElement("input", { id: "voice-name", type: "text", maxlength: "40", autocomplete: "off", dir: "auto" });
    this._agreed = makeElement("input", { id: "voice-agreed", type: "checkbox" });
    this._button = makeElement("button", { type: "button", class: "small", id: "voice-record" });
    this._button.onclick = () => (this._running ? this._running.abort() : this._add());
    this._bar = makeElement("progress", { max: "1", value: "0", "aria-label": text("voices.progress"), hidden: "" });
    this._status = makeElement("p", { class: "hint", role: "status" });
    for (const control of [this._name, this._agreed]) control.oninput = () => this._draw();
    this._form = makeElement(
      "div",
      { class: "model-download" },
      makeElement("label", { class: "field" }, makeElement("span", { text: text("voices.name") }), this._name),
      makeElement("label", { class: "switch" }, this._agreed, makeElement("span", { text: text("voices.agreed") })),
      makeElement("p", { class: "hint", text: text("voices.speak") }),
      makeElement("div", { class: "row" }, this._button, this._bar),
    );
    this.element = makeGroup("settings-voices", text("voices.title"), makeElement("p", { class: "hint", text: text("voices.what") }), this._list, this._model, this._form, this._status);
    this.element.hidden = true;
    this._draw();
  }

  /**
   * Asks the server for its voices.
   * @param {boolean} offered whether this page may change them; if not, the group is hidden
   */
  async load(offered) {
    const known = offered ? await fetchVoices() : null;
    this.element.hidden = known === null;
    if (known !== null) this._show(known);
  }

  /** Ends a recording, because the settings are closed. */
  stop() {
    this._running?.abort();
  }

  _show({ voices, has_model: hasModel }) {
    this._list.replaceChildren(...voices.map((voice) => this._line(voice)));
    this._list.hidden = !voices.length;
    this._model.hidden = hasModel;
    this._form.hidden = !hasModel;
  }

  _line({ name, speech_s: seconds, added_at: added, usable }) {
    const remove = makeElement("button", { type: "button", class: "small" });
    confirmed(remove, text("voices.remove"), text("voices.remove_now"), () => this._remove(name));
    const id = `voice-${encodeURIComponent(name)}`;
    remove.setAttribute("aria-describedby", id);
    const details = usable ? text("voices.details", { seconds, date: formatDate(added) }) : text("voices.not_usable");
    return makeElement("li", {}, makeElement("span", { id, dir: "auto", text: name }), makeElement("small", { text: details }), remove);
  }

  async _add() {
    if (!navigator.mediaDevices) return this._say(text("first.only_secure"), true);
    this._running = new AbortController();
    const { signal } = this._running;
    this._say(text("voices.recording"));
    this._draw();
    try {
      const pcm = await recordVoice(microphoneSettings(), RECORD_MS, signal, ({ doneMs }) => (this._bar.value = doneMs / RECORD_MS));
      this._bar.removeAttribute("value");
      this._checking = true;
      this._say(text("voices.checking"));
      this._draw();
      const name = this._name.value.trim();
      this._show(await addVoice({ name, agreed: true, audio: toBase64(pcm) }));
      this._name.value = "";
      this._agreed.checked = false;
      this._say(text("voices.added", { name }));
    } catch (error) {
      this._fail(error);
    } finally {
      this._running = null;
      this._checking = false;
      this._bar.value = 0;
      this._draw();
    }
  }

  async _remove(name) {
    try {
      this._show(await removeVoice(name));
      this._say(text("voices.removed", { name }));
      this._name.focus({ preventScroll: true });
    } catch (error) {
      this._fail(error);
    }
  }

  _fail(error) {
    if (error.name === "AbortError") this._say(text("voices.cancelled"));
    else if (error instanceof ChangeError) this._say(error.message, true);
    else if (error instanceof DOMException) this._say(refusalText(error), true);
    else throw error;
  }

  _say(words, isError = false) {
    this._status.textContent = words;
    this._status.classList.toggle("error", isError);
  }

  _draw() {
    const running = this._running !== null;
    this._button.textContent = text(running ? "voices.cancel" : "voices.record");
    this._button.disabled = this._checking || (!running && !(this._name.value.trim() && this._agreed.checked));
    this._bar.hidden = !running;
    this._name.disabled = this._agreed.disabled = running;
  }
}
