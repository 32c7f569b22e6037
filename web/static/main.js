/** The page: connects the view with the conversation. */

import { Sound, Unreachable } from "./sound/sound.js";
import { Ear } from "./talk/ear.js";
import { Talk } from "./talk/talk.js";
import { obstacle } from "./talk/troubles.js";
import { Wire } from "./talk/wire.js";
import { Turns } from "./timing/turns.js";
import { Controls } from "./view/controls.js";
import { Corridor } from "./view/corridor.js";
import { drawEngines } from "./view/engines.js";
import { Notices } from "./view/notices.js";
import { by } from "./view/page.js";
import { keepToken, keptToken, preferences, wishes } from "./view/preferences.js";
import { Transcript } from "./view/transcript.js";
import { TurnPanel } from "./view/turn-panel.js";
import { Wave } from "./view/wave.js";

const PHASES = {
  idle: "Ready when you are",
  connecting: "Connecting",
  reconnecting: "Reconnecting",
  listening: "Listening",
  hearing: "Hearing you",
  thinking: "Thinking",
  speaking: "Speaking",
};

/** Phases that have sound: a screen reader would talk over them. */
const SOUNDING = new Set(["hearing", "thinking", "speaking"]);

/** Notices that do not apply to a stopped page. */
const OVER_WITH_IT = [
  "lost", "slow", "full", "loading", "restarting", "not-kept", "suspended", "unplugged", "denied", "busy", "no-microphone",
];

class Page {
  constructor() {
    this._sound = this._ear = this._talk = null;
    this._transcript = new Transcript();
    this._starting = null; // a unique object for every start
    this._turns = new Turns();
    this._notices = new Notices((action) => this._act(action));
    this._corridor = new Corridor();
    this._panel = new TurnPanel(this._turns, () => this._facts(), (turn) => this._corridor.show(turn));
    this._you = new Wave(by("wave-you"), "left");
    this._reply = new Wave(by("wave-reply"), "right");
    this._controls = new Controls({
      toggle: () => (this._talk || this._starting ? this._stop() : this._start()),
      mute: () => this._mute(),
      interrupt: () => this._talk?.interrupt(),
      press: () => this._talk?.press(),
      release: () => this._talk?.release(),
      say: (text) => this._say(text),
      wished: () => this._ear?.open(),
      pushToTalk: (on) => this._talk && (this._talk.pushToTalk = on),
      volume: (loudness) => this._sound && (this._sound.output.volume = loudness),
    });
    this._hidden = false;
    document.addEventListener("visibilitychange", () => this._visible());
    addEventListener("online", () => this._phase === "reconnecting" && this._talk.wire.connect());
    this._panel.draw();
    this._drawPhase();
    this._picture();
  }

  get _phase() {
    return this._talk?.phase ?? (this._starting ? "connecting" : "idle");
  }

  // Start and stop ----------------------------------------------------------------------------------------------

  async _start() {
    if (this._starting || this._talk) return;
    const starting = (this._starting = {});
    const wanted = () => this._starting === starting;
    this._notices.clear();
    this._drawPhase();
    try {
      await this._open(wanted);
    } catch (error) {
      if (!wanted()) return;
      this._notices.trouble(error instanceof Unreachable ? "away" : "no-sound", error.message);
      await this._stop();
    } finally {
      if (wanted()) this._starting = null;
      this._drawPhase();
    }
  }

  /** @param {() => boolean} wanted false once it was stopped, for example while the browser asks for the microphone */
  async _open(wanted) {
    const devices = Boolean(navigator.mediaDevices);
    const trouble = obstacle({ secure: isSecureContext, worklet: "AudioWorkletNode" in window, devices });
    if (trouble) this._notices.trouble(trouble);
    if (trouble === "insecure" || trouble === "no-worklet") return; // playback is impossible, too
    const sound = await Sound.open();
    if (!wanted()) return sound.close();
    this._sound = sound;
    sound.addEventListener("state", () => this._soundState());
    sound.output.volume = preferences().volume / 100;
    this._ear = new Ear(sound.input, wishes);
    this._watchEar();
    if (devices) await this._ear.open();
    if (!wanted()) return;
    this._converse();
    this._soundState();
  }

  _converse() {
    const wire = new Wire(new URL("v1/realtime", document.baseURI));
    wire.token = keptToken();
    this._turns.forget();
    this._talk = new Talk(this._sound, wire, this._turns);
    this._talk.held.wanted = preferences().pushToTalk;
    this._transcript.begin(this._talk.conversation);
    this._you.clear();
    this._reply.clear();
    this._watchTalk(this._talk);
    this._expose();
    this._talk.begin();
  }

  async _stop() {
    const { _talk: talk, _ear: ear, _sound: sound } = this;
    this._talk = this._ear = this._sound = this._starting = null;
    for (const name of OVER_WITH_IT) this._notices.over(name);
    talk?.end();
    if (talk) this._transcript.draw();
    ear?.close();
    this._drawPhase();
    await sound?.close();
  }

  // Events -----------------------------------------------------------------------------------------------------

  _watchEar() {
    this._ear.addEventListener("trouble", ({ detail }) => {
      this._notices.trouble(detail.name, detail.said);
      this._drawPhase();
    });
    this._ear.addEventListener("well", () => {
      ["unplugged", "denied", "busy", "no-microphone"].forEach((name) => this._notices.over(name));
      this._drawPhase();
    });
    this._ear.addEventListener("devices", () => this._controls.listMicrophones(this._sound?.input.granted ?? null));
  }

  _watchTalk(talk) {
    const on = (type, then) => talk.addEventListener(type, ({ detail }) => this._talk === talk && then(detail));
    on("phase", () => this._drawPhase());
    on("words", () => this._transcript.draw());
    on("turn", (turn) => this._turn(turn));
    on("session", ({ repartee }) => {
      drawEngines(repartee?.engines);
      for (const id of ["transcript", "say"]) by(id).lang = repartee?.language ?? "";
    });
    on("notice", (text) => this._notices.note(text));
    on("trouble", ({ name, said }) => this._trouble(name, said));
    on("well", (name) => this._notices.over(name));
    on("ended", () => this._stop());
    on("heard", ({ level }) => this._heard(level));
    on("spoke", ({ level }) => this._reply.add(level));
  }

  _heard(level) {
    const heard = this._talk.muted ? -120 : level;
    this._controls.meter(heard);
    if (this._phase === "hearing") this._you.goOn();
    this._you.add(heard);
  }

  _turn(turn) {
    if (turn.leaves_s === null && turn.trace === null) {
      this._panel.follow();
      this._reply.clear();
      if (turn.captured_s !== null) this._you.keep((this._sound.context.currentTime - turn.captured_s) * 1000);
    } else if (this._panel.choice === turn || turn === this._turns.all.at(-1)) this._corridor.show(turn);
    this._panel.draw();
  }

  _trouble(name, said) {
    if (name === "token") {
      const refused = keptToken() && (said || "It is not the one that this server has.");
      keepToken("");
      this._askToken(refused);
    }
    this._notices.trouble(name, said);
  }

  _soundState() {
    if (!this._sound) return;
    if (this._sound.context.state === "running") this._notices.over("suspended");
    else this._notices.trouble("suspended");
  }

  _visible() {
    if (document.hidden) this._hidden = this._talk !== null;
    else if (this._hidden) {
      this._hidden = false;
      if (this._sound?.context.state !== "running") this._soundState();
      else if (this._talk) this._notices.note("The page was in the background: the conversation went on, only drawing paused.");
    }
  }

  // Actions ----------------------------------------------------------------------------------------------------

  _say(text) {
    if (this._talk?.say(text)) return true;
    this._notices.note("Not sent: there is no connection. It stays in the box until you send it again.");
    return false;
  }

  _mute() {
    if (!this._talk) return;
    this._talk.muted = !this._talk.muted;
    this._drawPhase();
  }

  _act(action) {
    if (action === "reconnect") this._talk?.wire.connect();
    else if (action === "microphone") this._ear?.open();
    else if (action === "sound") this._sound?.resume();
    else if (action === "token") this._askToken();
    else this._start();
  }

  /** @param {string} refused why the last token was refused; "" for none */
  _askToken(refused = "") {
    const dialog = by("token-dialog");
    if (dialog.open) return;
    by("token-refused").textContent = refused;
    dialog.returnValue = "";
    by("token-cancel").onclick = () => dialog.close("");
    dialog.onclose = () => {
      if (dialog.returnValue !== "use") return;
      keepToken(by("token").value.trim());
      by("token").value = "";
      this._notices.over("token");
      this._start();
    };
    dialog.showModal();
  }

  // Drawing ----------------------------------------------------------------------------------------------------

  _drawPhase() {
    const phase = this._phase;
    const muted = this._talk?.muted ?? false;
    const unheard = muted ? "Muted" : "No microphone: you can type";
    const text = ["listening", "hearing"].includes(phase) && (muted || !this._ear?.hears) ? unheard : PHASES[phase];
    document.body.dataset.phase = phase;
    document.body.classList.toggle("muted", muted);
    if (by("phase").textContent !== text) by("phase").textContent = text;
    if (!SOUNDING.has(phase) && by("state").textContent !== text) by("state").textContent = text;
    document.title = phase === "idle" ? "Repartee" : `${text} · Repartee`;
    const pushToTalk = this._talk?.held.wanted ?? false;
    this._controls.draw({ running: this._talk !== null || this._starting !== null, muted, pushToTalk, held: this._talk?.held.down ?? false, phase });
  }

  /** Draws what moves, once per animation frame. Not called while the page is in the background. */
  _picture() {
    this._talk?.mouth.lightUp();
    const waiting = this._talk?.waitingMs ?? null;
    if (waiting !== null) this._corridor.run(waiting);
    this._you.draw();
    this._reply.offset = this._corridor.replyAt(by("wave-reply"));
    this._reply.draw();
    requestAnimationFrame(() => this._picture());
  }

  /** Returns facts about this page for the record of a turn. */
  _facts() {
    const rate = this._sound?.context.sampleRate ?? null;
    return { context_rate_hz: rate, device_delay_ms: this._sound?.output.deviceDelayMs ?? null, browser: navigator.userAgent };
  }

  /** For tests and debugging: the captured and the rendered audio, as nodes of one context. */
  _expose() {
    const { context, input, output } = this._sound;
    window.repartee = { talk: this._talk, turns: this._turns, tap: { context, microphone: input.source, player: output.node } };
  }
}

new Page();
