/** The models of the server, and a choice of models to download. Only for pages on the server's own machine. */

import { text } from "../texts/texts.js";
import { makeElement } from "../view/dom.js";
import { ModelDownload } from "./model-download.js";
import { makeField, makeGroup, setOptions } from "./rows.js";
import { fetchModels } from "./server-changes.js";

const KINDS = ["whisper", "piper", "chat", "smart-turn", "speaker-embedder"]; // in the order of the list

export class ModelsGroup {
  /** @param {() => void} onChange called when a model is there, and when the server was restarted */
  constructor(onChange) {
    const field = makeField("model-choice", text("models.choice"), {});
    this._choice = field.querySelector("select");
    this._choice.onchange = () => this._drawChoice();
    this._details = makeElement("p", { class: "hint" });
    this._there = makeElement("p", { class: "hint" });
    this._download = new ModelDownload(() => {
      onChange(); // loads the models again, too
    });
    this.element = makeGroup("settings-models", text("models.title"), this._there, field, this._details, this._download.element);
    this.element.hidden = true;
  }

  /**
   * Asks the server for its models.
   * @param {boolean} offered whether this page may download; if not, the group is hidden
   */
  async load(offered) {
    const models = offered ? await fetchModels() : null;
    this.element.hidden = models === null;
    if (models === null) return;
    this._models = models;
    const others = models.filter(({ installed, kind }) => !installed && KINDS.includes(kind)).sort((a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind));
    const options = others.map(({ name, kind, size }) => ({ value: name, text: `${name} (${[text(`models.kind_${kind}`), size].filter(Boolean).join(", ")})` }));
    setOptions(this._choice, [{ value: "", text: text("models.choose") }, ...options], this._choice.value);
    const there = models.filter(({ installed }) => installed).map(({ name }) => name);
    this._there.textContent = there.length ? text("models.there", { names: there.join(", ") }) : text("models.none_there");
    if (this._choice.value) this._drawChoice();
    else this._details.textContent = "";
  }

  _drawChoice() {
    const model = this._models.find(({ name }) => name === this._choice.value);
    this._details.textContent = model ? [model.size, model.licence && text("models.licence", { licence: model.licence })].filter(Boolean).join(" · ") : "";
    this._download.offer(model?.name ?? "");
  }
}
