/** Step 3: who answers. It changes the configuration, so it is read-only for everybody who is not on the server's machine. */

import { makeElement } from "../view/dom.js";
import { ServerError, sentence, serverSettings, setup, setupOffer } from "./server.js";

export class AnswererStep {
  title = "Who answers";

  /** @param {import("./first-run.js").FirstRunContext} context */
  constructor(context) {
    this._context = context;
    this._choices = makeElement("div", { class: "choices", role: "radiogroup", "aria-label": "Who answers" });
    this._status = makeElement("p", { class: "status", role: "status" });
    this._waiting = makeElement("p", { class: "status", role: "status" });
    this._tests = 0; // number of the latest test
    this._url = field("Address, such as https://api.example.com/v1", { type: "url", autocomplete: "off", spellcheck: "false" });
    this._variable = field("Environment variable that holds the key, where the server runs", { type: "text", autocomplete: "off", spellcheck: "false", placeholder: "none: no key needed" });
    this._key = field("Or paste the key here", { type: "password", autocomplete: "off" });
    this._store = makeElement("input", { type: "checkbox" });
    this._storeText = makeElement("span");
    this._storeLabel = makeElement("label", { class: "check-line" }, this._store, this._storeText);
    this._model = field("Model", { type: "text", autocomplete: "off", spellcheck: "false", list: "first-run-models" });
    this._models = makeElement("datalist", { id: "first-run-models" });
    this._test = makeElement("button", { type: "button", class: "small", text: "Test it with one question" });
    this._test.onclick = () => this._runTest();
    this._hint = makeElement("p", { class: "hint" });
    this._details = makeElement("div", { class: "details" }, this._url, this._variable, this._key, this._storeLabel, this._model, this._models, this._hint, this._test, this._status);
    this._read = makeElement("div", { class: "read-only" });
    this._choices.onchange = ({ target }) => {
      if (target.type === "radio") this._drawDetails(); // the details are inside
    };
    inputOf(this._key).oninput = () => this._drawKey();
    this.element = makeElement("div", { class: "step" }, this._read, this._waiting, this._choices);
  }

  async show() {
    const before = this._choices.querySelector("input:checked")?.value;
    this._waiting.textContent = this._offer ? "" : "Looking for language models …";
    const offer = (await setupOffer()) ?? this._context.offer;
    this._offer = offer;
    const { writable } = offer;
    this._read.hidden = writable;
    this._choices.hidden = !writable;
    this._waiting.textContent = "";
    if (!writable) return this._drawReadOnly(offer);
    this._storeText.textContent = `Store the key in ${offer.file}; only you can read that file then`;
    const chosen = offer.answerers.some(({ name }) => name === before) ? before : offer.default;
    this._choices.replaceChildren(...offer.answerers.map((one) => row(one, one.name === chosen)));
    this._drawDetails();
  }

  hide() {
    this._tests++;
    inputOf(this._key).value = "";
  }

  /** Writes the choice. @throws {ServerError} */
  async next() {
    const who = this._offer?.writable ? this._chosen() : null;
    if (!who) return;
    const key = this._store.checked ? this._value(this._key) : "";
    this._context.report(await setup("save", { ...this._wanted(who), key }));
  }

  async _drawReadOnly({ why_not: why, command }) {
    const now = makeElement("p");
    this._read.replaceChildren(
      now,
      makeElement("p", { text: "Only the server's own machine can change this. There, run:" }),
      makeElement("pre", {}, makeElement("code", { text: command })),
      makeElement("p", { class: "hint", text: why ? `Why not here: ${why}.` : "" }),
    );
    try {
      const { answers } = await serverSettings();
      now.textContent = answers.kind === "skills" ? "Now the built-in skills answer." : `Now ${answers.name} answers${answers.here ? ", on the server's machine" : ""}.`;
    } catch (error) {
      if (!(error instanceof ServerError)) throw error;
    }
  }

  _chosen() {
    const name = this._choices.querySelector("input:checked")?.value;
    return this._offer.answerers.find((one) => one.name === name);
  }

  /** @throws {ServerError} if something is missing */
  _wanted(who) {
    if (who.kind === "url" && !/^https?:\/\/./.test(this._value(this._url))) {
      throw new ServerError("The address must begin with http:// or https://.");
    }
    const needsDetails = who.kind === "cloud" || who.kind === "url";
    return {
      answerer: who.name,
      model: who.kind === "download" ? "" : this._value(this._model),
      ...(who.kind === "url" && { url: this._value(this._url) }),
      ...(needsDetails && { variable: this._value(this._variable) }),
    };
  }

  _drawDetails() {
    const who = this._chosen();
    this._tests++;
    this._status.textContent = "";
    delete this._status.dataset.verdict;
    const isService = who.kind === "cloud" || who.kind === "url";
    if (["server", "cloud", "url", "download"].includes(who.kind)) this._choices.querySelector(".choice:has(:checked)").after(this._details);
    else this._details.remove();
    this._url.hidden = who.kind !== "url";
    for (const one of [this._variable, this._key]) one.hidden = !isService;
    this._model.hidden = this._test.hidden = who.kind === "download";
    inputOf(this._variable).value = who.variable;
    inputOf(this._key).value = "";
    this._store.checked = false;
    inputOf(this._model).value = who.models[0] ?? "";
    this._listModels(who.models);
    const pull = who.models[0] ? `Where the server runs: repartee models pull ${who.models[0]}. Then restart the server.` : "";
    this._hint.textContent = who.kind === "download" ? pull : who.key_is_set ? `${who.variable} is set.` : "";
    this._drawKey();
  }

  /** The question whether to store the key appears with the key. */
  _drawKey() {
    this._storeLabel.hidden = this._key.hidden || !this._value(this._key);
    if (this._storeLabel.hidden) this._store.checked = false;
  }

  _listModels(models) {
    this._models.replaceChildren(...models.map((model) => makeElement("option", { value: model })));
  }

  async _runTest() {
    const test = ++this._tests;
    this._say("", "Asking one short question …");
    this._test.disabled = true;
    try {
      const found = await setup("test", { ...this._wanted(this._chosen()), key: this._value(this._key) });
      if (test !== this._tests) return;
      if (found.models.length) this._listModels(found.models);
      if (found.model) inputOf(this._model).value = found.model;
      if (found.problem) this._say("bad", found.reachable ? `It does not answer: ${found.problem}.` : sentence(found.problem));
      else if (found.first_token_ms === null) this._say("bad", found.models.length ? "Choose a model, then test again." : "It lists no models: type the name of one, then test again.");
      else this._say("fine", `It answers: first words after ${found.first_token_ms} ms.`);
    } catch (error) {
      if (!(error instanceof ServerError)) throw error;
      if (test === this._tests) this._say("bad", error.message);
    } finally {
      this._test.disabled = false;
    }
  }

  _say(verdict, text) {
    this._status.dataset.verdict = verdict;
    this._status.textContent = text;
  }

  _value(one) {
    return one.hidden ? "" : inputOf(one).value.trim();
  }
}

function row({ name, label }, checked) {
  const input = makeElement("input", { type: "radio", name: "first-run-answerer", value: name });
  input.checked = checked;
  return makeElement("div", { class: "choice" }, makeElement("label", {}, input, makeElement("span", { text: label })));
}

function field(text, attributes) {
  return makeElement("label", { class: "field" }, makeElement("span", { text }), makeElement("input", attributes));
}

function inputOf(label) {
  return label.querySelector("input");
}
