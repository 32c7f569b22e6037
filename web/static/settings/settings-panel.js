/** The settings: what this browser chooses in place of the server's values, and the settings of its own. */

import { capitalized, formatNumber, languageName, noticeText, text } from "../texts/texts.js";
import { byId, makeElement } from "../view/dom.js";
import { preferences, storedToken } from "../view/preferences.js";
import { Answers } from "./answers.js";
import { Choices, MAX_INSTRUCTIONS } from "./choices.js";
import { ModelsGroup } from "./models-group.js";
import { makeGroup, Row, setOptions } from "./rows.js";
import { keepField, keysHint, pageLanguageField, pushToTalkSwitch, roomField, soundRows } from "./sections.js";
import { fetchSettings } from "./server-settings.js";
import { merged, sessionFields, withProfile } from "./session-fields.js";
import { voiceName } from "./voice-name.js";
import { VoiceSample } from "./voice-sample.js";
import { VoicesGroup } from "./voices-group.js";

const PROFILES = ["auto", "eager", "balanced", "patient"];
const INSTRUCTIONS_AFTER_MS = 600; // pause in typing after which they are sent

function shortened(words) {
  return words.length > 60 ? `${words.slice(0, 59).trimEnd()}…` : words;
}

function profileName(profile) {
  return PROFILES.includes(profile) ? text(`settings.profile_${profile}`) : profile;
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
    if (byId("settings").hidden) return;
    this._models.load(Boolean(server?.downloads));
    this._people.load(Boolean(server?.downloads));
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

  /** Returns the name of a language. */
  nameOf(code) {
    return languageName(code, this.server?.language.choices.find((one) => one.code === code)?.name);
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
    this._models = new ModelsGroup(() => this.load());
    this._people = new VoicesGroup();
    this._keep = keepField();
    const close = makeElement("button", { type: "button", class: "quiet icon", id: "settings-close", "aria-label": text("settings.close"), text: "×" });
    close.onclick = () => byId("settings-open").click();
    this._status = makeElement("p", { class: "hint settings-status", role: "status" });
    const { language, voice, speed, endpoint, instructions, profile, words } = this._rows;
    byId("settings").replaceChildren(
      makeElement("header", { class: "settings-head" }, makeElement("h2", { text: text("frame.settings") }), this._status, close),
      makeGroup("settings-voice", text("settings.voice_group"), language.element, voice.element, speed.element, this._sampleStatus, pageLanguageField()),
      makeGroup("settings-answers", text("settings.answers_group"), endpoint.element, this._noEndpoint, instructions.element),
      makeGroup("settings-turns", text("settings.turns_group"), profile.element, pushToTalkSwitch()),
      makeGroup("settings-sound", text("settings.sound_group"), ...roomField(this.choices), ...soundRows()),
      this._models.element,
      this._people.element,
      makeGroup("settings-privacy", text("settings.privacy_group"), words.element, this._keep.field),
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
      language: row("language", text("settings.language"), select("language")),
      voice: row("voice", text("settings.voice"), select("voice"), [listen]),
      speed: row("speed", text("settings.speed"), speed, [this._speedText]),
      endpoint: row("endpoint", text("settings.endpoint"), select("endpoint")),
      instructions: row("instructions", text("settings.instructions"), instructions),
      profile: row("profile", text("settings.profile"), select("profile")),
      words: row("words", text("settings.words"), words),
    };
  }

  /** Stops the sample and reads what may have changed when the settings are opened or closed. */
  _observeOpening() {
    new MutationObserver(() => {
      if (byId("settings").hidden) {
        this._sample.stop();
        this._people.stop();
      } else {
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
    this._status.textContent = text(running ? "settings.saved_next" : "settings.saved");
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
      for (const row of Object.values(this._rows)) row.draw(text("settings.unknown"), false);
      this._noEndpoint.hidden = true;
      return;
    }
    this._drawLanguage();
    this._drawVoice();
    this._drawEndpoint();
    this._drawOthers();
  }

  _drawLanguage() {
    const { default: own, choices, why_one: why, why_one_code: code } = this.server.language;
    const whyOne = noticeText({ text: why, code });
    const ownName = capitalized(this.nameOf(own));
    const others = choices.filter(({ code }) => code !== own).map(({ code }) => ({ value: code, text: capitalized(this.nameOf(code)) })).sort((a, b) => a.text.localeCompare(b.text));
    const { language } = this._rows;
    setOptions(language.control, [{ value: "", text: text("settings.of_server", { value: ownName }) }, ...others], this.choices.get("language"));
    language.control.disabled = !others.length;
    const more = whyOne ? ` ${capitalized(whyOne)}` : "";
    language.draw((this._serverValue("language", ownName) + more).trim(), this._differs("language"));
  }

  _drawVoice() {
    const { default: own, not_installed: notInstalled, choices } = this.server.voice;
    const foreign = this._language() !== this.server.language.default;
    const only = voiceName(own, choices);
    const first = foreign ? text("settings.best_voice") : text("settings.of_server", { value: only });
    const others = this._voices().filter((name) => foreign || name !== own).map((name) => ({ value: name, text: voiceName(name, choices) }));
    const { voice } = this._rows;
    setOptions(voice.control, [{ value: "", text: others.length || foreign ? first : only }, ...others], this.choices.get("voice"));
    voice.control.disabled = !others.length;
    const better = notInstalled?.[this._language()];
    const more = better ? ` ${text("settings.better_voice")}` : "";
    const now = foreign && !this._differs("voice") ? text("settings.now", { value: voiceName(this._voices()[0] ?? own, choices) }) : this._serverValue("voice", only);
    voice.draw((now + more).trim(), this._differs("voice"), better && `repartee models pull ${better}`);
  }

  _drawEndpoint() {
    const { choices } = this.server.endpoint;
    const { name, kind } = this.server.answers;
    const { endpoint } = this._rows;
    const options = choices.map((one) => ({ value: one.name, text: one.reachable === false ? text("settings.not_reached", { name: `${one.model}, ${one.name}` }) : `${one.model}, ${one.name}` }));
    setOptions(endpoint.control, [{ value: "", text: kind === "models" ? text("settings.by_server") : text("settings.of_server", { value: name }) }, ...(options.length > 1 ? options : [])], this.choices.get("endpoint"));
    endpoint.element.hidden = kind === "skills";
    endpoint.control.disabled = options.length < 2;
    this._noEndpoint.hidden = kind !== "skills";
    this._noEndpoint.textContent = this.server.answers.problem
      ? text("settings.skills_problem", { problem: this.server.answers.problem })
      : text("settings.skills", { command: "repartee models pull qwen3-0.6b" });
    endpoint.draw(this._serverValue("endpoint", kind === "models" ? text("settings.fastest") : name), this._differs("endpoint"));
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
    const others = choices.filter((name) => name !== own).map((name) => ({ value: name, text: profileName(name) }));
    setOptions(profile.control, [{ value: "", text: text("settings.of_server", { value: profileName(own) }) }, ...others], this.choices.get("profile"));
    profile.draw(this._serverValue("profile", profileName(own)), this._differs("profile"));
    words.control.checked = this.choices.get("words") ?? this.server.words.default;
    words.control.disabled = !this.server.words.may_record && !words.control.checked;
    const never = this.server.words.may_record ? "" : ` ${text("settings.never_recorded")}`;
    words.draw((this._serverValue("words", text(this.server.words.default ? "settings.recorded" : "settings.not_recorded")) + never).trim(), this._differs("words"));
  }

  _drawSpeed(value) {
    this._speedText.textContent = `${formatNumber(value, 2)}×`;
  }

  _differs(name) {
    return this.choices.get(name) !== undefined;
  }

  /** Says what the server's value is if this browser has another; "" if it has not: the control shows it. */
  _serverValue(name, value) {
    if (!this._differs(name)) return "";
    return text(this.server[name].configured ? "settings.your_choice_configured" : "settings.your_choice", { value });
  }
}
