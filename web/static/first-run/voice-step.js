/** Step 1: hear the voices and choose one, with the language. */

import { ModelDownload } from "../settings/model-download.js";
import { voiceName } from "../settings/voice-name.js";
import { capitalized, languageName, noticeText, preferredLanguages, text } from "../texts/texts.js";
import { makeElement } from "../view/dom.js";
import { ServerError, serverSettings, setup, voiceSample } from "./server.js";

/** Returns a text, a command and a button that copies the command. */
function commandParts(words, command) {
  const code = makeElement("code", { text: command });
  const copy = makeElement("button", { type: "button", class: "quiet small", text: text("rich.copy") });
  copy.onclick = async () => {
    try {
      await navigator.clipboard.writeText(command);
      copy.textContent = text("rich.copied");
    } catch { // no permission, or the page is not secure
      getSelection().selectAllChildren(code);
      copy.textContent = text("first.selected");
    }
  };
  return [words, code, " ", copy];
}

export class VoiceStep {
  title = text("first.voice_title");

  /** @param {import("./first-run.js").FirstRunContext} context */
  constructor(context) {
    this._context = context;
    this._language = makeElement("select", { id: "first-run-language" });
    this._voices = makeElement("div", { class: "choices", role: "radiogroup", "aria-label": text("settings.voice") });
    this._better = makeElement("p", { class: "hint" });
    this._download = new ModelDownload(() => this._loadVoices());
    this._note = makeElement("p", { class: "hint" });
    this._status = makeElement("p", { class: "status", role: "status" });
    this._audio = null; // AudioContext, made by the first press of Listen
    this._source = null;
    this._listening = null; // the button of the voice that is heard
    this._settings = null;
    this._language.onchange = () => this._drawVoices();
    this.element = makeElement(
      "div",
      { class: "step" },
      makeElement("label", { class: "field" }, makeElement("span", { text: text("settings.language") }), this._language),
      this._voices,
      this._better,
      this._download.element,
      this._note,
      this._status,
    );
  }

  async show() {
    if (this._settings) return;
    this._status.textContent = text("first.waiting_voices");
    try {
      this._settings = await serverSettings();
      this._status.textContent = "";
    } catch (error) {
      if (!(error instanceof ServerError)) throw error;
      this._status.textContent = error.message;
      return;
    }
    const { language } = this._settings;
    const offered = (code) => language.choices.some((one) => one.code === code);
    const preferred = language.configured ? undefined : preferredLanguages.find(offered);
    const chosen = this._context.choices.get("language") ?? preferred ?? language.default;
    const languages = language.choices.map(({ code, name }) => ({ code, name: capitalized(languageName(code, name)) })).sort((a, b) => a.name.localeCompare(b.name));
    this._language.replaceChildren(...languages.map(({ code, name }) => makeElement("option", { value: code, text: name })));
    this._language.value = offered(chosen) ? chosen : language.default;
    this._drawVoices();
  }

  /** Shows the voices again, because one was downloaded. */
  async _loadVoices() {
    try {
      this._settings = await serverSettings();
    } catch (error) {
      if (!(error instanceof ServerError)) throw error;
      return; // the list stays as it was
    }
    this._drawVoices();
  }

  hide() {
    this._stop();
    this._audio?.close();
    this._audio = null;
  }

  /** Keeps the choice in this browser, and from this machine also in the configuration. @throws {ServerError} */
  async next() {
    const voice = this._chosen();
    if (!this._settings || !voice) return;
    const language = this._language.value;
    const { language: ownLanguage, voice: ownVoice } = this._settings;
    const isOwn = language === ownLanguage.default;
    this._context.choices.set("language", isOwn ? undefined : language);
    this._context.choices.set("voice", isOwn && voice === ownVoice.default ? undefined : voice);
    if (this._context.offer.writable) this._context.report(await setup("save", { language, voice }));
  }

  _chosen() {
    return this._voices.querySelector("input:checked")?.value ?? "";
  }

  _drawVoices() {
    const { voice, language } = this._settings;
    const spoken = this._language.value;
    const voices = voice.choices.filter((one) => !one.language || one.language === spoken);
    if (!voices.length) voices.push({ name: voice.default, language: spoken });
    const before = this._context.choices.get("voice") ?? voice.default;
    const chosen = voices.some(({ name }) => name === before) ? before : voices[0].name;
    this._voices.replaceChildren(...voices.map(({ name }) => this._row(name, name === chosen)));
    const better = voice.not_installed?.[spoken];
    const skills = ["en", "de", "fr", "es"].includes(spoken) ? "" : `${text("first.no_skills")} `;
    this._note.textContent = skills + (language.why_one ? text("first.one_language", { why: noticeText({ text: language.why_one, code: language.why_one_code }) }) : "");
    const here = this._context.offer.writable;
    this._download.element.hidden = !here;
    if (here) this._download.offer(better ?? "");
    if (better && here) this._better.textContent = text("first.better_voice_here", { name: voiceName(better) });
    else this._better.replaceChildren(...(better ? commandParts(text("first.better_voice"), `repartee models pull ${better}`) : []));
  }

  _row(name, checked) {
    const input = makeElement("input", { type: "radio", name: "first-run-voice", value: name });
    input.checked = checked;
    const shown = voiceName(name, this._settings.voice.choices);
    const listen = makeElement("button", { type: "button", class: "small", text: text("settings.listen"), "aria-label": text("first.listen_to", { name: shown }) });
    listen.onclick = () => this._listen(name, input, listen);
    return makeElement("div", { class: "choice" }, makeElement("label", {}, input, makeElement("span", { text: shown })), listen);
  }

  async _listen(name, input, button) {
    const stops = button === this._listening;
    this._stop();
    if (stops) return;
    input.checked = true;
    this._audio ??= new AudioContext();
    const audio = this._audio;
    this._status.textContent = "";
    this._listening = button;
    this._drawListen("loading");
    try {
      const sound = await audio.decodeAudioData(await voiceSample(name, this._language.value));
      if (this._audio !== audio || this._listening !== button) return; // the step was left, or another voice chosen
      this._source = audio.createBufferSource();
      this._source.buffer = sound;
      this._source.connect(audio.destination);
      this._source.onended = () => this._listening === button && this._stop();
      this._source.start();
      this._drawListen("playing");
    } catch (error) {
      if (this._listening !== button) return;
      this._status.textContent = error instanceof ServerError ? error.message : text("first.cannot_play");
      this._stop();
    }
  }

  /** @param {"idle" | "loading" | "playing"} state of the voice that is heard */
  _drawListen(state) {
    if (!this._listening) return;
    this._listening.dataset.state = state;
    this._listening.textContent = text({ idle: "settings.listen", loading: "settings.loading", playing: "settings.stop" }[state]);
  }

  _stop() {
    this._drawListen("idle");
    this._listening = null;
    const source = this._source;
    this._source = null;
    source?.stop();
  }
}
