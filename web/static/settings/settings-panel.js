/** The settings: what this browser chooses in place of the server's values, and the settings of its own. */

import { byId, makeElement } from "../view/dom.js";
import { preferences, storedToken } from "../view/preferences.js";
import { Answers } from "./answers.js";
import { Choices, MAX_INSTRUCTIONS } from "./choices.js";
import { makeGroup, Row, setOptions } from "./rows.js";
import { keepField, keysHint, pushToTalkSwitch, soundRows } from "./sections.js";
import { fetchSettings } from "./server-settings.js";
import { merged, sessionFields, withProfile } from "./session-fields.js";
import { voiceName } from "./voice-name.js";
import { VoiceSample } from "./voice-sample.js";

const PROFILES = {
  auto: "Automatic",
  eager: "Eager: answers soonest, may cut you off",
  balanced: "Balanced",
  patient: "Patient: lets you pause longest",
};
const INSTRUCTIONS_AFTER_MS = 600; // pause in typing after which they are sent

function shortened(text) {
  return text.length > 60 ? `${text.slice(0, 59).trimEnd()}…` : text;
}

export class SettingsPanel {
  /** @param {(fields: object) => void} changed called when the running session has to be told; see `fields` */
  constructor(changed) {
    this.choices = new Choices();
    this.server = null;
    this._changed = changed;
    this._sent = new Set(); // names of the settings that the running session has got
    this._build();
    this._answers = new Answers(() => this.open("endpoint"));
    this.choices.addEventListener("changed", ({ detail }) => this._choiceChanged(detail));
    this._observeOpening();
    this._draw();
    this.load();
  }

  /** Asks the server again, for example because it wanted a token before. */
  async load() {
    const server = await fetchSettings(storedToken());
    if (server) this.server = server;
    this._draw();
  }

  /** Opens the settings at one of them. */
  open(name) {
    if (byId("settings").hidden) byId("settings-open").click();
    const control = byId(`setting-${name}`);
    if (control.offsetParent) control.focus();
    else control.closest(".settings-group").scrollIntoView(); // not shown: there is nothing to choose
  }

  /** Whether built-in skills answer because no language model is configured: nothing has failed. */
  get skillsAnswer() {
    return this.server?.answers.kind === "skills" && !this.server.answers.problem;
  }

  /** The name of the only voice for the server's language if none is configured; "" otherwise. */
  get onlyVoice() {
    if (!this.server || this.server.voice.configured) return "";
    const own = this.server.language.default;
    const names = new Set(this.server.voice.choices.filter(({ language }) => !language || language === own).map(({ name }) => name));
    names.add(this.server.voice.default);
    return names.size === 1 ? [...names][0] : "";
  }

  /** Returns the English name of a language. */
  nameOf(code) {
    return this.server?.language.choices.find((one) => one.code === code)?.name ?? code;
  }

  /** Forgets what the last session has got. Call it when a conversation begins. */
  startSession() {
    this._sent = new Set();
    this._status.textContent = "";
    if (!this.server) this.load();
  }

  /**
   * Returns a session.update with this browser's choices. Without choices it is the given one.
   * @param {object} session
   */
  withChoices(session) {
    const profile = this.choices.get("profile");
    const detection = withProfile(session.audio?.input?.turn_detection, profile, this._sent.has("profile"));
    const changes = sessionFields(this.choices.all, this.server, this._sent);
    if (profile === undefined) this._sent.delete("profile");
    else this._sent.add("profile");
    const all = merged(session, changes);
    if (detection !== undefined) all.audio = merged(all.audio ?? {}, { input: { turn_detection: detection } });
    return all;
  }

  // Building ----------------------------------------------------------------------------------------------------

  _build() {
    this._makeRows();
    this._keep = keepField();
    const close = makeElement("button", { type: "button", class: "quiet icon", id: "settings-close", "aria-label": "Close the settings", text: "×" });
    close.onclick = () => byId("settings-open").click();
    this._status = makeElement("p", { class: "hint settings-status", role: "status" });
    const { language, voice, speed, endpoint, instructions, profile, words } = this._rows;
    byId("settings").replaceChildren(
      makeElement("header", { class: "settings-head" }, makeElement("h2", { text: "Settings" }), this._status, close),
      makeGroup("settings-voice", "Voice and language", language.element, voice.element, speed.element, this._sampleStatus),
      makeGroup("settings-answers", "Who answers", endpoint.element, this._noEndpoint, instructions.element),
      makeGroup("settings-turns", "Turn taking", profile.element, pushToTalkSwitch()),
      makeGroup("settings-sound", "Sound", ...soundRows()),
      makeGroup("settings-privacy", "Privacy", words.element, this._keep.field),
      keysHint(),
    );
  }

  _makeRows() {
    const select = (name) => {
      const control = makeElement("select");
      control.onchange = () => this.choices.set(name, control.value || undefined);
      return control;
    };
    const row = (name, label, control, beside = []) => new Row({ name, label, control, beside, reset: () => this.choices.set(name, undefined) });
    const listen = makeElement("button", { type: "button", class: "small", id: "voice-listen" });
    this._sampleStatus = makeElement("p", { class: "error", role: "alert" });
    this._sample = new VoiceSample(listen, this._sampleStatus, () => this._sampleChoices());
    const speed = makeElement("input", { type: "range", step: "0.05", min: "0.5", max: "1.5", value: "1" });
    this._speedText = makeElement("output", { for: "setting-speed" });
    speed.oninput = () => this._drawSpeed(Number(speed.value));
    speed.onchange = () => this.choices.set("speed", Number(speed.value) === 1 ? undefined : Number(speed.value));
    const instructions = makeElement("textarea", { rows: "3", maxlength: String(MAX_INSTRUCTIONS), dir: "auto" });
    const store = () => this.choices.set("instructions", instructions.value.trim() || undefined);
    let timer = 0;
    instructions.oninput = () => {
      clearTimeout(timer);
      timer = setTimeout(store, INSTRUCTIONS_AFTER_MS);
    };
    instructions.onchange = () => {
      clearTimeout(timer);
      store();
    };
    const words = makeElement("input", { type: "checkbox", role: "switch" });
    words.onchange = () => this.choices.set("words", words.checked === this.server?.words.default ? undefined : words.checked);
    this._noEndpoint = makeElement("p", { class: "hint" });
    this._rows = {
      language: row("language", "Language", select("language")),
      voice: row("voice", "Voice", select("voice"), [listen]),
      speed: row("speed", "Speed", speed, [this._speedText]),
      endpoint: row("endpoint", "Language model", select("endpoint")),
      instructions: row("instructions", "Instructions", instructions),
      profile: row("profile", "End of your turn", select("profile")),
      words: row("words", "Record my words in the server's trace", words),
    };
  }

  /** Stops the sample and reads what may have changed when the settings are opened or closed. */
  _observeOpening() {
    new MutationObserver(() => {
      if (byId("settings").hidden) this._sample.stop();
      else {
        this._keep.draw();
        this.load();
      }
    }).observe(byId("settings"), { attributeFilter: ["hidden"] });
  }

  // Changes -----------------------------------------------------------------------------------------------------

  _choiceChanged(name) {
    if (name === "language" && this.choices.get("voice") !== undefined && !this._voices().includes(this.choices.get("voice"))) {
      this.choices.set("voice", undefined); // it speaks another language
    }
    if (name === "language" || name === "voice") this._sample.stop();
    this._draw();
    this._changed(name);
  }

  /** @param {boolean} running whether a conversation got the change */
  showEffect(running) {
    this._status.textContent = running ? "Saved. Used from your next turn on." : "Saved in this browser.";
  }

  _sampleChoices() {
    const { voice, language, speed } = this.choices.all;
    return { choices: { voice, language, speed }, token: storedToken(), volume: preferences().volume / 100 };
  }

  // Drawing -----------------------------------------------------------------------------------------------------

  _language() {
    return this.choices.get("language") ?? this.server?.language.default ?? "en";
  }

  _voices() {
    const spoken = (one) => !one.language || one.language === this._language();
    return (this.server?.voice.choices ?? []).filter(spoken).map(({ name }) => name);
  }

  _draw() {
    this._answers.draw(this.server, this.choices.get("endpoint"));
    for (const { control } of Object.values(this._rows)) control.disabled = !this.server;
    byId("voice-listen").disabled = !this.server;
    if (!this.server) {
      for (const row of Object.values(this._rows)) row.draw("The server's value is not known yet.", false);
      this._noEndpoint.hidden = true;
      return;
    }
    this._drawLanguage();
    this._drawVoice();
    this._drawEndpoint();
    this._drawOthers();
  }

  _drawLanguage() {
    const { default: own, choices, why_one: whyOne } = this.server.language;
    const named = Object.fromEntries(choices.map(({ code, name }) => [code, name]));
    const others = choices.filter(({ code }) => code !== own).map(({ code, name }) => ({ value: code, text: name }));
    const { language } = this._rows;
    setOptions(language.control, [{ value: "", text: `${named[own] ?? own} (server)` }, ...others], this.choices.get("language"));
    language.control.disabled = !others.length;
    const more = whyOne ? ` ${whyOne[0].toUpperCase()}${whyOne.slice(1)}` : "";
    language.draw((this._serverValue("language", named[own] ?? own) + more).trim(), this._differs("language"));
  }

  _drawVoice() {
    const { default: own, not_installed: notInstalled } = this.server.voice;
    const foreign = this._language() !== this.server.language.default;
    const first = foreign ? "Best for this language" : `${voiceName(own)} (server)`;
    const others = this._voices().filter((name) => foreign || name !== own).map((name) => ({ value: name, text: voiceName(name) }));
    const { voice } = this._rows;
    setOptions(voice.control, [{ value: "", text: others.length ? first : first.replace(" (server)", "") }, ...others], this.choices.get("voice"));
    voice.control.disabled = !others.length;
    const better = notInstalled?.[this._language()];
    const more = better ? ` A better voice for this language: repartee models pull ${better}` : "";
    const now = foreign && !this._differs("voice") ? `Now: ${voiceName(this._voices()[0] ?? own)}.` : this._serverValue("voice", voiceName(own));
    voice.draw((now + more).trim(), this._differs("voice"));
  }

  _drawEndpoint() {
    const { choices } = this.server.endpoint;
    const { name, kind } = this.server.answers;
    const { endpoint } = this._rows;
    const options = choices.map((one) => ({ value: one.name, text: `${one.model}, ${one.name}${one.reachable === false ? " (cannot be reached)" : ""}` }));
    setOptions(endpoint.control, [{ value: "", text: kind === "models" ? "Chosen by the server" : `${name} (server)` }, ...(options.length > 1 ? options : [])], this.choices.get("endpoint"));
    endpoint.element.hidden = kind === "skills";
    endpoint.control.disabled = options.length < 2;
    this._noEndpoint.hidden = kind !== "skills";
    this._noEndpoint.textContent = this.server.answers.problem
      ? `Built-in skills answer, without a language model: ${this.server.answers.problem}`
      : "Built-in skills answer: time, timers, sums and more. For free conversation, choose a language model in the first steps, or run: repartee models pull qwen3-0.6b";
    endpoint.draw(this._serverValue("endpoint", kind === "models" ? "the fastest that answers" : name), this._differs("endpoint"));
  }

  _drawOthers() {
    const { speed, instructions, profile, words } = this._rows;
    speed.control.value = String(this.choices.get("speed") ?? 1);
    this._drawSpeed(Number(speed.control.value));
    speed.draw(this._serverValue("speed", "1×"), this._differs("speed"));
    instructions.control.placeholder = this.server.instructions.default;
    if (document.activeElement !== instructions.control) instructions.control.value = this.choices.get("instructions") ?? "";
    instructions.element.hidden = this.server.answers.kind === "skills"; // only a language model reads them
    instructions.draw(this._serverValue("instructions", `“${shortened(this.server.instructions.default)}”`), this._differs("instructions"));
    const { default: own, choices } = this.server.profile;
    const others = choices.filter((name) => name !== own).map((name) => ({ value: name, text: PROFILES[name] ?? name }));
    setOptions(profile.control, [{ value: "", text: `${PROFILES[own] ?? own} (server)` }, ...others], this.choices.get("profile"));
    profile.draw(this._serverValue("profile", PROFILES[own] ?? own), this._differs("profile"));
    words.control.checked = this.choices.get("words") ?? this.server.words.default;
    words.control.disabled = !this.server.words.may_record && !words.control.checked;
    const never = this.server.words.may_record ? "" : " This server records no words.";
    words.draw((this._serverValue("words", this.server.words.default ? "recorded" : "not recorded") + never).trim(), this._differs("words"));
  }

  _drawSpeed(value) {
    this._speedText.textContent = `${value.toFixed(2).replace(/0$/, "")}×`;
  }

  _differs(name) {
    return this.choices.get(name) !== undefined;
  }

  /** Says what the server's value is if this browser has another; "" if it has not: the control shows it. */
  _serverValue(name, value) {
    if (!this._differs(name)) return "";
    return `Your choice. Server: ${value}${this.server[name].configured ? ", from its configuration" : ""}.`;
  }
}
