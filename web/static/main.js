/** The page: connects the view with the session. */

import { InstalledApp } from "./app/installed-app.js";
import { MediaKeys } from "./app/media-keys.js";
import { chosenPhrase, chosenWord, wakeChoice } from "./app/wake-choice.js";
import { WakeLock } from "./app/wake-lock.js";
import { AudioIO, WorkletLoadError } from "./audio/audio-io.js";
import { SilentAudio } from "./audio/silent-audio.js";
import { FirstRun } from "./first-run/first-run.js";
import { ConversationHistory } from "./history/history.js";
import { MicrophoneStream } from "./session/microphone-stream.js";
import { browserProblem, SESSION_PROBLEMS } from "./session/problems.js";
import { RealtimeConnection } from "./session/realtime-connection.js";
import { RealtimeSession } from "./session/realtime-session.js";
import { chooseTransport } from "./session/transport.js";
import { WebRtcConnection } from "./session/webrtc-connection.js";
import { SettingsPanel } from "./settings/settings-panel.js";
import { capitalized, fillTexts, text } from "./texts/texts.js";
import { ListCard } from "./lists/list-card.js";
import { TimerCard } from "./timers/timer-card.js";
import { TurnLog } from "./timing/turn-log.js";
import { Controls } from "./view/controls.js";
import { byId } from "./view/dom.js";
import { drawEngines, placeEngines } from "./view/engines.js";
import { LatencyStrip } from "./view/latency-strip.js";
import { LatencyTimeline } from "./view/latency-timeline.js";
import { LevelBars } from "./view/level-bars.js";
import { Notices } from "./view/notices.js";
import { microphoneSettings, preferences, storedToken, storeToken } from "./view/preferences.js";
import { hintText, phaseText } from "./view/state-texts.js";
import { askForToken } from "./view/token-dialog.js";
import { TranscriptView } from "./view/transcript-view.js";
import { TurnPanel } from "./view/turn-panel.js";
import { followVisibleArea } from "./view/visible-area.js";

/** Phases that are not announced to screen readers, because the announcement would disturb the conversation. */
const NOT_ANNOUNCED = new Set(["hearing", "thinking", "speaking"]);

class Page {
  constructor() {
    fillTexts();
    this._audio = this._microphone = this._session = null;
    this._wakeLock = new WakeLock(() => this._notices.note(text("notice.screen_may_sleep")));
    this._transcript = new TranscriptView({
      ask: (id, words) => this._session?.askAgain(id, words) ?? false,
      retry: (id) => this._session?.retry(id) ?? false,
      answers: () => this._chooseAnswerer(),
    });
    this._connections = 0; // attempts: after each, the server may be another
    this._serverOf = 0; // the attempt whose server's settings were read
    this._starting = null; // a unique object for every start
    this._typed = false; // whether the conversation was started by typing, so that no microphone was asked for
    this._showsPast = false; // whether the conversation to be continued is shown until the server answers
    this._queuedText = null; // typed before there is a connection
    this._turns = new TurnLog();
    this._notices = new Notices((action) => this._runAction(action));
    this._timeline = new LatencyTimeline();
    this._strip = new LatencyStrip();
    this._turnPanel = new TurnPanel(this._turns, () => this._pageInfo(), (turn) => this._timeline.showTurn(turn));
    this._userLevel = new LevelBars(byId("level-user"), "left");
    this._replyLevel = new LevelBars(byId("level-reply"), "right");
    this._settings = new SettingsPanel(() => this._settings.showEffect(this._session?.updateSettings() ?? false));
    this._controls = new Controls({
      toggle: () => (this._session || this._starting ? this._stop() : this._start()),
      mute: () => this._mute(),
      interrupt: () => this._session?.interrupt(),
      pressKey: () => this._session?.pressKey(),
      releaseKey: () => this._session?.releaseKey(),
      sendText: (text) => this._sendText(text),
      changeMicrophone: () => this._microphone?.open(),
      changeTransport: () => this._reopen(),
      changeTextOnly: () => this._reopen(),
      pushToTalk: (on) => {
        if (on) this._wake.turnOff();
        this._session?.setPushToTalk(on);
      },
      volume: (loudness) => this._audio && (this._audio.output.volume = loudness),
    });
    this._history = new ConversationHistory({
      stop: () => this._stop(),
      show: (conversation) => this._showPast(conversation),
      changed: () => this._drawPhase(),
      note: (text) => this._notices.note(text),
    });
    this._firstRun = new FirstRun(this._settings.choices);
    this._wake = wakeChoice({ onChange: (phrase) => this._wakePhraseChanged(phrase), onLost: (phrase) => this._wakeSoundLost(phrase) });
    byId("push-to-talk").closest("label").after(this._wake.element);
    this._timerCard = new TimerCard((id, action) => this._session?.changeTimer(id, action));
    this._listCard = new ListCard((ids) => this._session?.removeListItems(ids));
    byId("notices").before(this._timerCard.element, this._listCard.element);
    this._mediaKeys = new MediaKeys({ mute: () => this._mute(), interrupt: () => this._interruptReply(), end: () => this._stop() });
    new InstalledApp({ isBusy: () => this._session !== null || this._starting !== null, onReachable: (reachable) => this._reachable(reachable) });
    this._wasHidden = false;
    followVisibleArea();
    placeEngines();
    document.addEventListener("visibilitychange", () => this._visibilityChanged());
    addEventListener("online", () => this._phase === "reconnecting" && this._session.connection.connect());
    this._turnPanel.draw();
    this._drawPhase();
    this._drawFrame();
  }

  get _phase() {
    return this._session?.phase ?? (this._starting ? "connecting" : "idle");
  }

  // Start and stop ----------------------------------------------------------------------------------------------

  /** @param {boolean} typed whether to start without a microphone */
  async _start(typed = false) {
    if (this._starting || this._session) return;
    const starting = (this._starting = {});
    this._typed = typed || preferences().textOnly;
    const isCurrent = () => this._starting === starting;
    this._notices.clear();
    this._drawPhase();
    try {
      await this._open(isCurrent);
    } catch (error) {
      if (!isCurrent()) return;
      if (error instanceof WorkletLoadError) this._notices.problem("unreachable");
      else this._notices.problem("no-sound", error.message);
      await this._stop();
    } finally {
      if (isCurrent()) this._starting = null;
      this._drawPhase();
    }
  }

  /** @param {() => boolean} isCurrent false once it was stopped, for example while the browser asks for the microphone */
  async _open(isCurrent) {
    if (preferences().textOnly) {
      this._audio = new SilentAudio();
      return this._startSession("websocket");
    }
    const devices = Boolean(navigator.mediaDevices);
    const problem = browserProblem({ secure: isSecureContext, worklet: "AudioWorkletNode" in window, devices: devices || this._typed });
    if (problem) this._notices.problem(problem);
    if (problem === "insecure" || problem === "no-worklet") return; // playback is impossible, too
    const audio = await AudioIO.open();
    if (!isCurrent()) return audio.close();
    this._audio = audio;
    audio.addEventListener("state", () => this._audioStateChanged());
    if (!this._typed) await this._openMicrophone();
    if (!isCurrent()) return;
    this._startSession();
    this._audioStateChanged();
  }

  async _openMicrophone() {
    this._microphone = new MicrophoneStream(this._audio.input, microphoneSettings);
    this._watchMicrophone();
    if (navigator.mediaDevices) await this._microphone.open();
  }

  /** @param {"websocket" | "webrtc"} transport */
  _startSession(transport = chooseTransport(preferences().transport, location.hostname, "RTCPeerConnection" in window)) {
    const url = new URL("v1/realtime", document.baseURI);
    this._audio.setTransport(transport);
    this._audio.output.volume = preferences().volume / 100;
    const connection = transport === "webrtc" ? new WebRtcConnection(url, this._audio) : new RealtimeConnection(url);
    connection.addEventListener("unavailable", ({ detail }) => this._useWebSocket(connection, detail.message));
    connection.token = storedToken();
    this._turns.startConversation();
    this._session = new RealtimeSession(this._audio, connection, this._turns);
    this._session.textOnly = preferences().textOnly;
    this._session.pushToTalk.enabled = preferences().pushToTalk && !this._session.textOnly;
    this._session.setWakePhrase(chosenPhrase(), chosenWord());
    this._session.muted = this._typed;
    this._connections++;
    this._settings.startSession();
    this._session.withChoices = (session) => this._settings.withChoices(session);
    this._showsPast ||= this._history.continues && this._transcript.hasLines;
    if (!this._showsPast) {
      if (!this._history.continues) this._session.conversation.showEarlier(this._transcript.items);
      this._transcript.start(this._session.conversation);
    }
    this._userLevel.clear();
    this._replyLevel.clear();
    this._watchSession(this._session);
    this._history.attach(this._session);
    this._sendQueuedTextWhenOpen(this._session);
    this._exposeForTests();
    this._session.start();
  }

  /** Continues by WebSocket where WebRTC does not get through. */
  _useWebSocket(connection, message) {
    if (this._session?.connection !== connection) return;
    this._notices.note(text("notice.no_webrtc", { message }));
    this._session.end();
    this._startSession("websocket");
    this._drawPhase();
  }

  /** Connects anew, because the connection or the kind of sound has changed, and continues the conversation that runs. */
  async _reopen() {
    if (!this._session) return this._drawPhase();
    const typed = this._typed;
    this._history.pause();
    await this._stop();
    await this._start(typed);
  }

  async _stop() {
    const { _session: session, _microphone: microphone, _audio: audio } = this;
    this._session = this._microphone = this._audio = this._starting = this._queuedText = null;
    this._typed = this._showsPast = false;
    for (const name of SESSION_PROBLEMS) this._notices.remove(name);
    session?.end();
    this._timerCard.show([]);
    this._listCard.show([]);
    if (session) this._transcript.draw();
    this._history.detach();
    microphone?.close();
    this._drawPhase();
    await audio?.close();
  }

  /** Shows a conversation that does not run. */
  _showPast(conversation) {
    this._transcript.start(conversation);
    this._transcript.draw();
  }

  // Events -----------------------------------------------------------------------------------------------------

  _watchMicrophone() {
    this._microphone.addEventListener("problem", ({ detail }) => {
      this._notices.problem(detail.problem, detail.message);
      this._drawPhase();
    });
    this._microphone.addEventListener("opened", ({ detail: wasTaken }) => {
      ["unplugged", "taken", "denied", "busy", "no-microphone"].forEach((name) => this._notices.remove(name));
      if (wasTaken) this._notices.note(text("notice.microphone_again"));
      this._drawPhase();
    });
    this._microphone.addEventListener("unmuted", () => {
      this._notices.remove("taken");
      this._audio?.resume().catch(() => {}); // a phone call also interrupts the sound
    });
    this._microphone.addEventListener("devices", () => this._controls.listMicrophones(this._audio?.input.grantedSettings ?? null));
  }

  _watchSession(session) {
    const on = (type, handle) => session.addEventListener(type, ({ detail }) => this._session === session && handle(detail));
    on("phase", () => this._drawPhase());
    on("items", () => this._transcript.draw());
    on("turn", (turn) => this._turnChanged(turn));
    on("session", ({ repartee }) => {
      if (this._showsPast) {
        this._showsPast = false;
        session.conversation.showEarlier(this._transcript.items.filter(({ earlier }) => earlier));
        this._transcript.start(session.conversation);
        this._transcript.draw();
      }
      this._drawEngines(repartee?.engines);
      this._wake.offer(repartee?.wake_words ?? []);
      const follows = repartee?.languages?.length > 1;
      this._spokenLanguage((follows && session.spokenLanguage) || (repartee?.language ?? ""), follows);
    });
    on("spoken-language", (code) => this._spokenLanguage(code, true));
    on("timers", (timers) => this._timerCard.show(timers));
    on("lists", (lists) => this._listCard.show(lists));
    on("notice", (text) => this._notices.note(text));
    on("other-language", (code) => this._suggestLanguage(code));
    on("problem", ({ problem, message }) => this._sessionProblem(problem, message));
    on("resolved", (name) => this._notices.remove(name));
    on("ended", () => this._stop());
    on("input-level", ({ level }) => this._addInputLevel(level));
    on("output-level", ({ level }) => this._replyLevel.addLevel(level));
  }

  /** @param {string} code of the conversation's language @param {boolean} follows whether it is that of the user's last words */
  _spokenLanguage(code, follows) {
    for (const id of ["transcript", "text-input"]) byId(id).lang = code;
    this._transcript.language = follows ? code : "";
    byId("spoken-language").hidden = !follows;
    byId("spoken-language").textContent = follows ? capitalized(this._settings.nameOf(code)) : "";
  }

  /** Draws the engines, and again with the settings of a server that may have been restarted. */
  async _drawEngines(engines) {
    const draw = () => drawEngines(engines, this._settings);
    draw();
    if (this._serverOf === this._connections) return;
    this._serverOf = this._connections;
    await this._settings.load();
    draw();
  }

  _addInputLevel(level) {
    const sent = this._session.muted ? -120 : level;
    this._controls.showLevel(sent);
    if (this._phase === "hearing") this._userLevel.unfreeze();
    this._userLevel.addLevel(sent);
  }

  _turnChanged(turn) {
    if (turn.leaves_s === null && turn.trace === null && !turn.failed) {
      this._turnPanel.selectNewest();
      this._notices.remove("reply-failed");
      this._replyLevel.clear();
      if (turn.captured_s !== null) this._userLevel.freeze((this._audio.context.currentTime - turn.captured_s) * 1000);
    } else if (this._turnPanel.selected === turn || turn === this._turns.all.at(-1)) this._timeline.showTurn(turn);
    if (turn === this._turns.all.at(-1)) this._strip.showTurn(turn);
    this._turnPanel.draw();
  }

  _sessionProblem(problem, message) {
    if (problem === "token") {
      const refused = storedToken() && (message || text("token.refused"));
      storeToken("");
      this._askForToken(refused);
    }
    if (this._queuedText) this._queuedText.enteredMs = null; // the wait for the server is no latency
    this._connections++;
    this._notices.problem(problem, message);
  }

  _audioStateChanged() {
    if (!this._audio) return;
    if (this._audio.context.state === "running") return this._notices.remove("suspended");
    this._notices.problem("suspended");
    if (!document.hidden) this._audio.resume().catch(() => {}); // refused during a phone call, or without a gesture
  }

  _visibilityChanged() {
    if (document.hidden) this._wasHidden = this._session !== null;
    else if (this._wasHidden) {
      this._wasHidden = false;
      this._audio?.resume().catch(() => {});
      if (this._audio?.context.state !== "running") this._audioStateChanged();
      else if (this._session) this._notices.note(text("notice.background"));
    }
  }

  // Actions ----------------------------------------------------------------------------------------------------

  /** Sends typed text. Without a conversation it starts one; the text stays in the input until it is sent. */
  _sendText(typed) {
    const enteredMs = performance.now();
    if (this._session?.sendText(typed, enteredMs)) return true;
    if (!this._session || this._queuedText) {
      this._queuedText = { text: typed, enteredMs };
      this._start(true); // unless it starts already
      return false;
    }
    this._notices.note(text("notice.not_sent"));
    return false;
  }

  /** Stops a reply that is made or played; returns whether there was one. */
  _interruptReply() {
    const running = ["thinking", "speaking"].includes(this._phase);
    if (running) this._session.interrupt();
    return running;
  }

  _wakePhraseChanged(phrase) {
    if (phrase && byId("push-to-talk").checked) byId("push-to-talk").click(); // push-to-talk and the wake phrase exclude each other
    this._session?.setWakePhrase(phrase, chosenWord());
    this._drawPhase();
  }

  /** The server cannot notice the wake word by its sound, and its words may not be recognized: nothing more is sent. */
  _wakeSoundLost(phrase) {
    if (this._session) this._session.muted = true;
    this._notices.note(text("notice.wake_sound_lost", { phrase }));
  }

  _reachable(reachable) {
    if (reachable) this._notices.remove("unreachable");
    else if (!this._session) this._notices.problem("unreachable");
  }

  /** Call it after `History.attach`: the earlier messages of a continued conversation are sent on the same event, before the text. */
  _sendQueuedTextWhenOpen(session) {
    session.addEventListener("session", () => this._session === session && this._sendQueuedText());
  }

  _sendQueuedText() {
    const queued = this._queuedText;
    if (!queued || !this._session.sendText(queued.text, queued.enteredMs)) return;
    this._queuedText = null;
    this._controls.clearText(queued.text);
  }

  /** @param {string} code of the language in which the user seems to speak */
  _suggestLanguage(code) {
    const language = this._settings.nameOf(code);
    this._notices.suggest("language", text("notice.sounded_like", { language }), text("notice.switch_to", { language }), () => this._settings.choices.set("language", code));
  }

  /** Mutes or unmutes. The microphone of a conversation that was started by typing opens here. */
  _mute() {
    if (!this._session || this._session.textOnly) return;
    this._session.muted = !this._session.muted;
    if (!this._session.muted && this._typed) {
      this._typed = false;
      this._openMicrophone();
    }
    this._drawPhase();
  }

  _runAction(action) {
    if (action === "reconnect") this._session?.connection.connect();
    else if (action === "microphone") this._microphone?.open();
    else if (action === "audio") this._audio?.resume().catch(() => {});
    else if (action === "token") this._askForToken();
    else if (action === "answers") this._chooseAnswerer();
    else this._start();
  }

  /** Opens the choice of who answers, where a model can be tested and its key given: the first steps, or the settings where there are none. */
  async _chooseAnswerer() {
    if (!(await this._firstRun.openAnswerers())) this._settings.open("endpoint");
  }

  /** @param {string} refused why the last token was refused; "" if there was none */
  _askForToken(refused = "") {
    askForToken(refused, () => {
      this._notices.remove("token");
      this._start();
    });
  }

  // Drawing ----------------------------------------------------------------------------------------------------

  _drawPhase() {
    const phase = this._phase;
    const muted = this._session?.muted ?? false;
    const pushToTalk = this._session?.pushToTalk.enabled ?? preferences().pushToTalk;
    const held = this._session?.pushToTalk.keyDown ?? false;
    const state = { phase, muted, microphoneOpen: this._microphone?.isOpen ?? false, typed: this._typed, textOnly: preferences().textOnly, pushToTalk, held, awaitedPhrase: this._awaitedPhrase(), continues: this._history.continues, ended: this._transcript.hasLines };
    const said = phaseText(state);
    this._drawnPhrase = state.awaitedPhrase;
    document.body.dataset.phase = phase;
    document.body.classList.toggle("muted", muted);
    if (byId("phase").textContent !== said) byId("phase").textContent = said;
    const announcement = byId("phase-announcement");
    if (!NOT_ANNOUNCED.has(phase) && announcement.textContent !== said) announcement.textContent = said;
    document.title = phase === "idle" ? "Repartee" : `${said} · Repartee`;
    const running = this._session !== null || this._starting !== null;
    this._mediaKeys.draw({ running: running && !preferences().textOnly, muted });
    this._wakeLock.draw(running);
    if (byId("empty").textContent !== hintText(state)) byId("empty").textContent = hintText(state);
    this._controls.draw({ running, muted, pushToTalk, held, phase, continues: this._history.continues });
  }

  _awaitedPhrase() {
    return this._session ? this._session.awaitedPhrase : chosenPhrase();
  }

  /** Draws what moves, once per animation frame. Not called while the page is in the background. */
  _drawFrame() {
    this._session?.replyPlayback.highlightWords();
    if (this._session && this._session.awaitedPhrase !== this._drawnPhrase) this._drawPhase(); // the time after a reply is over
    const waitingMs = this._session?.waitingMs ?? null;
    if (waitingMs !== null) {
      this._timeline.showWaiting(waitingMs, this._turns.all.at(-1).typed_s !== null);
      this._strip.showWaiting(waitingMs);
    }
    if (this._strip.isOpen) {
      this._userLevel.draw();
      this._replyLevel.offset = this._timeline.replyOffset(byId("level-reply"));
      this._replyLevel.draw();
    }
    requestAnimationFrame(() => this._drawFrame());
  }

  /** Returns data about this page for the record of a turn. */
  _pageInfo() {
    const rate = this._audio?.context.sampleRate ?? null;
    return { context_rate_hz: rate, device_delay_ms: this._audio?.output.deviceDelayMs ?? null, browser: navigator.userAgent };
  }

  /** For tests and debugging: the session, its turns, and the captured and the rendered audio as nodes of one context. */
  _exposeForTests() {
    const { context, input, output } = this._audio;
    window.repartee = { session: this._session, turns: this._turns, tap: { context, microphone: input.source, player: output.node } };
  }
}

new Page();
