/** One conversation: sends the microphone's audio, plays and times the replies. Read this file first. */

import { Line } from "../sound/line.js";
import { fromBase64, toBase64 } from "../sound/pcm.js";
import { Turns } from "../timing/turns.js";
import { isFarewell } from "./closings.js";
import { Conversation } from "./conversation.js";
import { HeldKey } from "./held-key.js";
import { Mouth } from "./mouth.js";

/**
 * @typedef {"connecting" | "reconnecting" | "listening" | "hearing" | "thinking" | "speaking"} Phase
 *
 * Events: `phase`; `words` (conversation.changed is not empty); `turn` (detail: the Turn); `session` (detail: the
  * server's session object); `notice` (detail: one sentence); `heard` and `spoke` (detail: {level}, dBFS);
  * `trouble` (detail: {name, said}), `well` (detail: the name of a trouble that is over), `ended`.
 */
export class Talk extends EventTarget {
  /**
   * @param {import("../sound/sound.js").Sound} sound
   * @param {import("./wire.js").Wire} wire
   * @param {Turns} turns
   */
  constructor(sound, wire, turns = new Turns()) {
    super();
    this.sound = sound;
    this.wire = wire;
    this.turns = turns;
    this.conversation = new Conversation();
    this.held = new HeldKey();
    this.muted = false;
    this._line = new Line(sound.context.sampleRate);
    this._ready = false; // a session is open
        this._before = false; // a session was open before
        this._token = null; // to resume the session
        this._detection = undefined; // the server's default turn detection
        this._response = null; // the reply in progress
        this._silenced = null; // the reply that the user stopped
        this._speaking = false; // the user speaks
        this._awaited = false; // a reply is awaited
        this._owed = false; // a requested reply has not begun
        this._void = false; // the turn that it was to answer has no words
        this._again = false; // another reply must be requested after it
        this._away = "lost"; // why there is no connection, as far as the server has told
    this.mouth = new Mouth(sound, wire, turns, this.conversation, (type, detail) => this._tell(type, detail));
    this._listen();
  }

  /** @returns {Phase} */
  get phase() {
    if (!this._ready) return this._before ? "reconnecting" : "connecting";
    if (this.mouth.playing) return "speaking";
    if (this._speaking || this.held.down) return "hearing";
    return this._awaited || this._response ? "thinking" : "listening";
  }

  /** ms since the end of the speech to be answered; null if no reply is awaited. */
  get waitingMs() {
    const turn = this.turns.all.at(-1);
    if (this.phase !== "thinking" || !turn?.captured_s || turn.leaves_s !== null) return null;
    return (this.sound.context.currentTime - turn.captured_s) * 1000;
  }

  /** Connects; everything else follows from events. */
  begin() {
    this.wire.resume = () => this._resume();
    this.wire.connect();
  }

  /** Hangs up. */
  end() {
    this.wire.close();
    this.sound.output.flush();
    this.conversation.end();
    this._ready = false;
  }

  // User actions ------------------------------------------------------------------------------------------------

  /** @param {string} text @returns {boolean} false if it cannot be sent now; then nothing was done */
  say(text) {
    if (!this._ready || !this.wire.takes) return false;
    this.interrupt();
    const content = [{ type: "input_text", text }];
    const sent = this.wire.send({ type: "conversation.item.create", item: { type: "message", role: "user", content } });
    if (sent) this._ask();
    return sent;
  }

  /** Stops the reply, whether it is being generated or only played. */
  interrupt() {
    const stopped = this._response ?? this.mouth.playing;
    if (!stopped) return;
    this.wire.send(this._response ? { type: "response.cancel", response_id: stopped } : { type: "output_audio_buffer.clear" });
    this._silenced = stopped;
    this.sound.output.flush();
  }

  /** @param {boolean} on whether turns are spoken with a held key instead of detected by the server */
  set pushToTalk(on) {
    this.held.wanted = on;
    if (this._ready) this._update();
    this._tell("phase");
  }

  /** Handles the key press. */
  press() {
    if (this.muted && this.held.wanted) return this._tell("notice", "The microphone is muted: unmute it (M) to talk.");
    if (!this.held.press()) return;
    this.interrupt();
    this._tell("phase");
  }

  /** Handles the key release: the turn is complete. */
  release() {
    this.held.release();
    this._tell("phase");
  }

  // Microphone --------------------------------------------------------------------------------------------------

  _chunk({ pcm, frame, level }) {
    this._tell("heard", { level });
    if (!this._ready || this.muted || !this.held.lets(pcm.length)) return;
    if (this.wire.send({ type: "input_audio_buffer.append", audio: toBase64(pcm) })) this._line.sent(frame, pcm.length);
    const closing = this.held.closing();
    if (closing === "turn") {
      this.wire.send({ type: "input_audio_buffer.commit" });
      this._ask();
    } else if (closing === "nothing") {
      this.wire.send({ type: "input_audio_buffer.clear" });
      this._tell("notice", "Hold the key while you speak, and let go when you are done.");
    }
  }

  /** Requests a reply. While a requested one has not begun, another would be refused; it is requested after that begins. */
  _ask() {
    if (this._owed) {
      this._awaited = this._again = true;
      return;
    }
    this.turns.asked();
    this._owesNothing();
    this._awaited = this._owed = this.wire.send({ type: "response.create" }); // not awaited if it was not sent
    this._tell("phase");
  }

  /** Drops requested replies. */
  _owesNothing() {
    this._owed = this._void = this._again = false;
  }

  // Server events -----------------------------------------------------------------------------------------------

  _event(event) {
    SERVER[event.type]?.(this, event);
    this.conversation.tell(event);
    if (this.conversation.changed.size) this._tell("words");
    this._tell("phase");
  }

  _created(session) {
    const resumed = session.repartee?.resumed === true;
    if (this._before && !resumed) {
      this.sound.output.forget();
      this.turns.forget();
      this.conversation.forget();
      this._response = this._silenced = null;
      this._tell("trouble", { name: "not-kept", said: "" });
    }
    if (resumed) this.conversation.resumed();
    if (resumed) this._line.lost(session.repartee.heard_ms);
    else this._line.begin();
    this.sound.output.duck(false); // the end of ducking may have been lost with the connection
    this._ready = this._before = true;
    this._awaited = this._speaking = false;
    this._owesNothing();
    this._detection = session.audio?.input?.turn_detection ?? this._detection;
    this._update();
    // The server may not know that a reply was stopped while, or just before, there was no connection.
    if (resumed && this._silenced) this.wire.send({ type: "response.cancel", response_id: this._silenced });
    this._session(session);
    this._away = "lost";
    for (const name of [...AWAY, "token"]) this._tell("well", name);
  }

  _session(session) {
    this._token = session.repartee?.resume_token ?? this._token;
    this._tell("session", session);
  }

  _update() {
    const detection = this.held.wanted ? null : this._detection;
    const session = { type: "realtime", repartee: { duck: true, playout: true } };
    if (detection !== undefined) session.audio = { input: { turn_detection: detection } };
    this.wire.send({ type: "session.update", session });
  }

  _speechStarted() {
    this._speaking = true;
    this._awaited = false;
    this.sound.output.flush(); // also audio that has not started to play
  }

  _replies(response) {
    this._response = response;
    this._awaited = false;
    const turn = this.turns.replied(response);
    this._date(turn);
    this._tell("turn", turn);
    // The user speaks again or has typed more, so the next reply answers all. Or there is nothing to answer.
    const more = this._again && !this.held.down;
    if (this._owed && (this.held.down || this._void || more)) this.interrupt();
    this._owesNothing();
    if (more) this._ask();
  }

  /** Computes when the end of speech was captured. */
  _date(turn) {
    if (turn.speech_end_ms === null) return;
    const frame = this._line.captured(turn.speech_end_ms - turn.invented_ms);
    if (frame !== null) this.turns.captured(turn, frame / this.sound.context.sampleRate);
  }

  _refused({ code, message }) {
    if (HARMLESS.has(code)) return;
    if (code === ACTIVE) { // a reply that began before the last message
      this.interrupt();
      if (!this.held.down) this._ask();
      return;
    }
    this._awaited = false;
    if (code === COMMIT_EMPTY) this._void = this._owed;
    if (!isFarewell(code)) this._tell("notice", code === COMMIT_EMPTY ? "No words were heard." : message);
  }

  _traced({ turn: number, trace }) {
    const turn = this.turns.traced(number, trace);
    if (turn) this._tell("turn", turn);
  }

  _sound(response, base64) {
    if (response === this._silenced) return;
    this.sound.output.push(response, fromBase64(base64));
  }

  _done({ id, status, status_details: details }) {
    if (this._response === id) this._response = null;
    this.sound.output.end(id);
    if (status === "cancelled" && this.sound.output.holds(id)) this.sound.output.flush();
    if (status !== "failed") return;
    this._tell("notice", details?.error?.message || "The reply failed, and the server did not say why.");
    const turn = this.turns.replyFailed(id);
    if (turn) this._tell("turn", turn);
  }

  _truncated(itemId) {
    const cut = this.conversation.item(itemId)?.response;
    if (cut && this.sound.output.holds(cut)) this.sound.output.flush();
  }

  _resume() {
    if (!this._token) return {};
    const response = this._response ?? this.mouth.playing;
    const received = response && { received_ms: String(Math.floor(this.sound.output.receivedMs(response))), response_id: response };
    return { resume: this._token, ...received };
  }

  // ---------------------------------------------------------------------------------------------------------------

  _listen() {
    this.sound.input.addEventListener("chunk", ({ detail }) => this._chunk(detail));
    this.wire.addEventListener("event", ({ detail }) => this._event(detail));
    this.wire.addEventListener("lost", ({ detail }) => this._lost(detail));
    this.wire.addEventListener("slow", ({ detail: slow }) => (slow ? this._tell("trouble", { name: "slow", said: "" }) : this._tell("well", "slow")));
    this.wire.addEventListener("quiet", () => this._ready && this._update()); // has no effect and is answered
    this.wire.addEventListener("ended", ({ detail }) => this._hungUp(detail));
  }

  _lost({ trouble, said }) {
    this._ready = false;
    if (trouble !== "lost" || this._away === "lost") { // a reason from the server is kept
      for (const name of AWAY) if (name !== trouble) this._tell("well", name);
      this._tell("trouble", { name: trouble, said });
      this._away = trouble;
    }
    this._tell("phase");
  }

  _hungUp(detail) {
    this._ready = false;
    this._tell("trouble", { name: detail.trouble, said: detail.said });
    this._tell("ended");
  }

  _tell(type, detail = null) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}

/** Problems about a missing connection; one is shown at a time. */
const AWAY = ["lost", "full", "loading", "restarting"];

/** Error code for a committed turn without audio. */
const COMMIT_EMPTY = "input_audio_buffer_commit_empty";

/** Error code if another reply is in progress. */
const ACTIVE = "conversation_already_has_active_response";

/** Errors of cancelling a reply that has just ended by itself; not shown to the user. */
const HARMLESS = new Set(["response_cancel_not_active"]);

const SERVER = {
  "session.created": (talk, { session }) => talk._created(session),
  "session.updated": (talk, { session }) => talk._session(session),
  "input_audio_buffer.speech_started": (talk) => talk._speechStarted(),
  "input_audio_buffer.speech_stopped": (talk, { audio_end_ms, repartee }) => {
    talk._speaking = false;
    talk._awaited = true;
    talk.turns.speechEnded(audio_end_ms, repartee.invented_ms);
  },
  "input_audio_buffer.committed": (talk, { repartee }) => {
    if (repartee) talk.turns.speechEnded(repartee.audio_end_ms, repartee.invented_ms); // a turn that this page ended
  },
  "repartee.nothing_said": (talk) => {
    talk._speaking = talk._awaited = false;
    talk.turns.asked();
    if (!talk.held.wanted) return;
    talk._void = talk._owed; // the requested reply has nothing to answer
    talk._tell("notice", "No words were heard.");
  },
  "response.created": (talk, { response }) => talk._replies(response.id),
  "response.output_audio.delta": (talk, { response_id, delta }) => talk._sound(response_id, delta),
  "response.output_audio.done": (talk, { response_id }) => talk.sound.output.end(response_id),
  "response.done": (talk, { response }) => talk._done(response),
  "conversation.item.truncated": (talk, { item_id }) => talk._truncated(item_id),
  "output_audio_buffer.cleared": (talk) => talk.sound.output.flush(),
  "repartee.duck": (talk) => talk.sound.output.duck(true),
  "repartee.unduck": (talk) => talk.sound.output.duck(false),
  "repartee.trace": (talk, event) => talk._traced(event),
  "repartee.notice": (talk, { text }) => talk._tell("notice", text),
  "error": (talk, { error }) => talk._refused(error),
};
