/** Step 3: who answers. It changes the configuration, so it is read-only for everybody who is not on the server's machine. */

import { noticeText, text } from "../texts/texts.js";
import { ModelDownload } from "../settings/model-download.js";
import { makeElement } from "../view/dom.js";
import { ServerError, sentence, serverSettings, setup, setupOffer } from "./server.js";

export class AnswererStep {
  title = text("settings.answers_group");

  /** @param {import("./first-run.js").FirstRunContext} context */
  constructor(context) {
    this._context = context;
    this._choices = makeElement("div", { class: "choices", role: "radiogroup", "aria-label": this.title });
    this._status = makeElement("p", { class: "status", role: "status" });
    this._waiting = makeElement("p", { class: "status", role: "status" });
    this._tests = 0; // number of the latest test
    this._url = field(text("first.address"), { type: "url", autocomplete: "off", spellcheck: "false" });
    this._variable = field(text("first.variable"), { type: "text", autocomplete: "off", spellcheck: "false", placeholder: text("first.no_key") });
    this._key = field(text("first.key"), { type: "password", autocomplete: "off" });
    this._store = makeElement("input", { type: "checkbox" });
    this._storeText = makeElement("span");
    this._storeLabel = makeElement("label", { class: "check-line" }, this._store, this._storeText);
    this._model = field(text("first.model"), { type: "text", autocomplete: "off", spellcheck: "false", list: "first-run-models" });
    this._models = makeElement("datalist", { id: "first-run-models" });
    this._test = makeElement("button", { type: "button", class: "small", text: text("first.test") });
    this._test.onclick = () => this._runTest();
    this._hint = makeElement("p", { class: "hint" });
    this._download = new ModelDownload(() => {});
    this._details = makeElement("div", { class: "details" }, this._url, this._variable, this._key, this._storeLabel, this._model, this._models, this._hint, this._download.element, this._test, this._status);
    this._read = makeElement("div", { class: "read-only" });
    this._choices.onchange = ({ target }) => {
      if (target.type === "radio") this._drawDetails(); // the details are inside
    };
    inputOf(this._key).oninput = () => this._drawKey();
    this.element = makeElement("div", { class: "step" }, this._read, this._waiting, this._choices);
  }

  async show() {
    const before = this._choices.querySelector("input:checked")?.value;
    this._waiting.textContent = this._offer ? "" : text("first.looking");
    const offer = (await setupOffer()) ?? this._context.offer;
    this._offer = offer;
    const { writable } = offer;
    this._read.hidden = writable;
    this._choices.hidden = !writable;
    this._waiting.textContent = "";
    if (!writable) return this._drawReadOnly(offer);
    this._storeText.textContent = text("first.store_key", { file: offer.file });
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

  async _drawReadOnly({ why_not: whyNot, why_not_code: code, command }) {
    const why = noticeText({ text: whyNot, code });
    const now = makeElement("p");
    this._read.replaceChildren(
      now,
      makeElement("p", { text: text("first.only_there") }),
      makeElement("pre", {}, makeElement("code", { text: command })),
      makeElement("p", { class: "hint", text: why ? text("first.why_not", { why }) : "" }),
    );
    try {
      const { answers } = await serverSettings();
      now.textContent = answers.kind === "skills" ? text("first.skills_answer") : text(answers.here ? "first.model_answers_here" : "first.model_answers", { name: answers.name });
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
      throw new ServerError(text("first.bad_address"));
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
    this._download.element.hidden = who.kind !== "download";
    if (who.kind === "download") this._download.offer(who.models[0] ?? "");
    this._hint.textContent = who.key_is_set ? text("first.key_set", { name: who.variable }) : "";
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
    this._say("", text("first.asking"));
    this._test.disabled = true;
    try {
      const found = await setup("test", { ...this._wanted(this._chosen()), key: this._value(this._key) });
      if (test !== this._tests) return;
      if (found.models.length) this._listModels(found.models);
      if (found.model) inputOf(this._model).value = found.model;
      if (found.problem) this._say("bad", found.reachable ? text("first.no_answer", { problem: found.problem }) : sentence(noticeText({ text: found.problem, code: found.problem_code })));
      else if (found.first_token_ms === null) this._say("bad", text(found.models.length ? "first.choose_model" : "first.no_models"));
      else this._say("fine", text("first.it_answers", { ms: found.first_token_ms }));
    } catch (error) {
      if (!(error instanceof ServerError)) throw error;
      if (test === this._tests) this._say("bad", error.message);
    } finally {
      this._test.disabled = false;
    }
  }

  _say(verdict, words) {
    this._status.dataset.verdict = verdict;
    this._status.textContent = words;
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

function field(label, attributes) {
  return makeElement("label", { class: "field" }, makeElement("span", { text: label }), makeElement("input", attributes));
}

function inputOf(label) {
  return label.querySelector("input");
}
