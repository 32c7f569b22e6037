/** Step 2: a check of the microphone with its level and a verdict in words. */

import { microphoneDevices } from "../audio/microphone-input.js";
import { text } from "../texts/texts.js";
import { makeElement } from "../view/dom.js";
import { microphoneSettings, setPreferences } from "../view/preferences.js";
import { judge, levelOf, refusalText, shareOf } from "./microphone-level.js";

const CHECK_MS = 4000;
const WINDOW = 2048; // samples of one level
const EVERY_MS = 50;

export class MicrophoneStep {
  title = text("settings.microphone");

  constructor() {
    this._select = makeElement("select", { id: "first-run-microphone" });
    this._field = makeElement("label", { class: "field" }, makeElement("span", { text: this.title }), this._select);
    this._bar = makeElement("div", { class: "level-bar" });
    this._meter = makeElement("div", { class: "level", role: "meter", "aria-label": text("first.level"), "aria-valuemin": "0", "aria-valuemax": "100", "aria-valuenow": "0" }, this._bar);
    this._button = makeElement("button", { type: "button", class: "check", text: text("first.check") });
    this._status = makeElement("p", { class: "status", role: "status" });
    this._stopCheck = () => {};
    this._button.onclick = () => this._check();
    this._select.onchange = () => {
      setPreferences({ deviceId: this._select.value });
      this._check();
    };
    this._field.hidden = true;
    this.element = makeElement(
      "div",
      { class: "step" },
      makeElement("p", { text: text("first.say_a_sentence") }),
      this._field,
      this._meter,
      this._button,
      this._status,
    );
  }

  show() {
    this._verdict("", navigator.mediaDevices ? "" : text("first.only_secure"));
    this._button.disabled = !navigator.mediaDevices;
  }

  hide() {
    this._stopCheck();
  }

  async next() {}

  async _check() {
    this._stopCheck();
    let stopped = false;
    let stream = null;
    let audio = null;
    this._stopCheck = () => {
      stopped = true;
      stream?.getTracks().forEach((track) => track.stop());
      audio?.close();
      this._draw(-Infinity);
      this._button.disabled = false;
      this._stopCheck = () => {};
    };
    this._button.disabled = true;
    this._verdict("", text("first.listening"));
    try {
      const { deviceId, ...processing } = microphoneSettings();
      stream = await navigator.mediaDevices.getUserMedia({ audio: { ...processing, ...(deviceId && { deviceId: { exact: deviceId } }) } });
      if (stopped) return stream.getTracks().forEach((track) => track.stop());
      audio = new AudioContext();
      await this._listMicrophones();
      if (!stopped) await this._measure(audio, stream, () => stopped);
    } catch (error) {
      if (!stopped) this._verdict("silent", refusalText(error));
    } finally {
      if (!stopped) this._stopCheck();
    }
  }

  async _measure(audio, stream, isStopped) {
    const analyser = new AnalyserNode(audio, { fftSize: WINDOW });
    audio.createMediaStreamSource(stream).connect(analyser);
    const samples = new Float32Array(WINDOW);
    const until = performance.now() + CHECK_MS;
    const levels = [];
    while (performance.now() < until) {
      await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
      if (isStopped()) return;
      analyser.getFloatTimeDomainData(samples);
      levels.push(levelOf(samples));
      this._draw(levels.at(-1).dbfs);
    }
    const { verdict, text: words } = judge(levels);
    this._verdict(verdict, words);
    this._button.textContent = text("first.check_again");
  }

  async _listMicrophones() {
    const devices = await microphoneDevices();
    const options = devices.filter(({ id }) => id && id !== "default").map(({ id, label }, n) => makeElement("option", { value: id, text: label || text("control.microphone_number", { number: n + 1 }) }));
    this._select.replaceChildren(makeElement("option", { value: "", text: text("control.browser_default") }), ...options);
    const { deviceId } = microphoneSettings();
    this._select.value = options.some((one) => one.value === deviceId) ? deviceId : "";
    this._field.hidden = options.length < 2;
  }

  _draw(dbfs) {
    const share = shareOf(dbfs);
    this._bar.style.transform = `scaleX(${share})`;
    this._meter.setAttribute("aria-valuenow", String(Math.round(share * 100)));
  }

  _verdict(verdict, words) {
    this._status.dataset.verdict = verdict;
    this._status.textContent = words;
  }
}
