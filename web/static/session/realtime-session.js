/** One conversation with the server: sends the microphone's audio, plays and times the replies. Read this file first. */

import { CaptureTimeline } from "../audio/capture-timeline.js";
import { fromBase64 } from "../audio/pcm.js";
import { putMessage } from "../history/messages.js";
import { noticeText, serverText, text } from "../texts/texts.js";
import { TurnLog } from "../timing/turn-log.js";
import { endsConnection } from "./close-reasons.js";
import { Conversation } from "./conversation.js";
import { Interruption } from "./interruption.js";
import { PushToTalk } from "./push-to-talk.js";
import { ReplyPlayback } from "./reply-playback.js";
import { ReplyRequests } from "./reply-requests.js";
import { ACTIVE_RESPONSE, COMMIT_EMPTY, CONNECTION_PROBLEMS, IGNORED_ERRORS, SERVER_EVENTS } from "./server-events.js";
import { WakeMode } from "./wake-mode.js";

/**
 * @typedef {"connecting" | "reconnecting" | "preparing" | "listening" | "hearing" | "thinking" | "speaking"} Phase
 *
 * Events: `phase`; `items` (conversation.changed is not empty); `turn` (detail: the Turn); `session` (detail: the
 * server's session object); `notice` (detail: one sentence); `spoken-language` (detail: code of the language in which the user
 * speaks, and the assistant answers, from now on); `other-language` (detail: code of the language that was
 * heard); `kept` (detail: {id, kept}: whether the server keeps the conversation); `input-level` and `output-level`
 * (detail: {level}, dBFS); `problem` (detail: {problem, message}), `resolved` (detail: the name of a problem that is
 * over), `ended`.
 */
export class RealtimeSession extends EventTarget {
  /**
   * @param {import("../audio/audio-io.js").AudioIO} audio
   * @param {import("./realtime-connection.js").RealtimeConnection | import("./webrtc-connection.js").WebRtcConnection} connection
   * @param {TurnLog} turns
   */
  constructor(audio, connection, turns = new TurnLog()) {
    super();
    this.audio = audio;
    this.connection = connection;
    this.turns = turns;
    this.conversation = new Conversation();
    this.interruption = new Interruption(audio, connection, this.conversation);
    this.pushToTalk = new PushToTalk();
    this.muted = false;
    /** Whether replies are written only. */
    this.textOnly = false;
    this._pendingChoices = new Set(); // chosen engines that the server loads
    this.wake = new WakeMode(() => audio.context.currentTime);
    this.withChoices = (session) => session; // adds what the user has chosen in the settings
    this._releasedS = null; // context time at which the push-to-talk key was released last
    this._captureTimeline = connection.timeline ?? new CaptureTimeline(audio.context.sampleRate);
    this._open = false; // the server has created or resumed the session on this connection
    this._wasOpen = false; // it did so on this or an earlier connection
    this._resumeToken = null;
    /** @type {{browser: string, id?: string} | null} where the server keeps the conversation; null: it does not */
    this.keeping = null;
    this._turnDetection = undefined; // the server's default
    this._response = null; // id of the reply in progress
    this._userSpeaking = false;
    this._awaitingReply = false;
    this._requests = new ReplyRequests();
    this._connectionProblem = "lost"; // why there is no connection, as far as the server has said
    this.replyPlayback = new ReplyPlayback(audio, connection, turns, this.conversation, (type, detail) => {
      if (type === "phase") this.wake.replied(this.replyPlayback.playing);
      this.emit(type, detail);
    });
    this._subscribe();
  }

  /** @returns {Phase} */
  get phase() {
    if (!this._open) return this._wasOpen ? "reconnecting" : "connecting";
    if (this.replyPlayback.playing) return "speaking";
    if (this._loadsRecognizer && !this._awaitingReply && !this._response) return "preparing";
    if ((this._userSpeaking && !this.conversation.awaitsAddress) || this.pushToTalk.keyDown) return "hearing";
    return this._awaitingReply || this._response ? "thinking" : "listening";
  }

  /** Whether the server loads the recognizer that the user has chosen: speech would still be recognized by another. */
  get _loadsRecognizer() {
    return this._pendingChoices.has("language");
  }

  /** ms since the end of the speech, or Enter of the text, to be answered; null if no reply is awaited. */
  get waitingMs() {
    const turn = this.turns.all.at(-1);
    const from = turn?.released_s ?? turn?.captured_s ?? turn?.typed_s ?? null;
    if (this.phase !== "thinking" || from === null || turn.leaves_s !== null) return null;
    return (this.audio.context.currentTime - from) * 1000;
  }

  /** Resumes a session of this page before it was reloaded, if the server still has it. Call it before `start`. */
  resumeFrom(token) {
    this._resumeToken = token;
  }

  /** @param {{browser: string, id?: string} | null} keeping see the attribute; takes effect at once */
  setKeeping(keeping) {
    this.keeping = keeping;
    if (this._open) this._sendSessionUpdate();
  }

  /** Continues a conversation whose messages only this browser has. @param {import("../history/messages.js").Message[]} messages */
  addPast(messages) {
    messages.forEach((message, n) => {
      const id = `past_${n + 1}`;
      putMessage(this.conversation, id, message);
      if (!message.text) return; // the model knows only what was heard
      const content = [{ type: message.role === "user" ? "input_text" : "output_text", text: message.markup || message.text }];
      this.connection.send({ type: "conversation.item.create", item: { id, type: "message", role: message.role, content } });
    });
    this.emit("items");
  }

  /** Connects; everything else follows from events. */
  start() {
    this.connection.resumeQuery = () => this._resumeQuery();
    this.connection.connect();
  }

  /** Closes the connection and stops playback. */
  end() {
    this.connection.close();
    this.audio.output.flush();
    this.conversation.end();
    this._open = false;
  }

  // User actions ------------------------------------------------------------------------------------------------

  /**
   * @param {string} typed
   * @param {number | null} enteredMs when it was entered, on the clock of performance.now(); null: it waited, so its latency is not measured
   * @returns {boolean} false if it cannot be sent now; then nothing was done
   */
  sendText(typed, enteredMs = performance.now()) {
    if (!this._open || !this.connection.canSend) return false;
    this.interrupt();
    const content = [{ type: "input_text", text: typed }];
    const sent = this.connection.send({ type: "conversation.item.create", item: { type: "message", role: "user", content } });
    if (sent) this._requestReply(enteredMs === null ? null : this.audio.context.currentTime - (performance.now() - enteredMs) / 1000);
    return sent;
  }

  /**
   * Asks again with other words: the message is replaced, and what follows it is deleted.
   * @param {string} id of the message
   * @param {string} typed
   * @returns {boolean} false if it cannot be sent now; then nothing was done
   */
  askAgain(id, typed) {
    if (!this._open || !this.connection.canSend) return false;
    this._deleteFrom(id);
    return this.sendText(typed);
  }

  /** Makes a reply again; it and what follows it are deleted. @param {string} id of the reply's message @returns {boolean} false if it cannot be sent now */
  retry(id) {
    if (!this._open || !this.connection.canSend) return false;
    this._deleteFrom(id);
    this._requestReply();
    return true;
  }

  _deleteFrom(id) {
    this.interrupt();
    for (const one of this.conversation.idsFrom(id)) {
      this.connection.send({ type: "conversation.item.delete", item_id: one });
      this.conversation.remove(one);
    }
    this.emit("items");
  }

  /** Stops the reply, whether it is being generated or only played. */
  interrupt() {
    this.interruption.interrupt(this._response, this.replyPlayback.playing);
  }

  /** @param {string[]} ids items of repartee.lists */
  removeListItems(ids) {
    this.connection.send({ type: "repartee.list", remove: ids });
  }

  /** @param {string} action in repartee.timer */
  changeTimer(id, action) {
    this.connection.send({ type: "repartee.timer", id, action });
  }

  /** @param {boolean} on whether turns are spoken with a held key instead of detected by the server */
  setPushToTalk(on) {
    this.pushToTalk.enabled = on;
    if (this._open) this._sendSessionUpdate();
    this.emit("phase");
  }

  /**
   * @param {string} phrase words that address the assistant; empty: all speech is answered
   * @param {string} word name of the wake word that is noticed by its sound instead; empty: none
   */
  setWakePhrase(phrase, word = "") {
    const changed = phrase !== this.wake.phrase || word !== this.wake.word;
    Object.assign(this.wake, { phrase, word });
    this.conversation.needsAddress = phrase !== "";
    if (changed && this._open) this._sendSessionUpdate();
    this.emit("phase");
  }

  /** The wake phrase that is waited for; empty if speech is answered without one now. */
  get awaitedPhrase() {
    return this.pushToTalk.enabled || this.replyPlayback.playing !== null ? "" : this.wake.awaited;
  }

  /** Sends the settings again, because the user has changed them. @returns {boolean} whether a conversation got them */
  updateSettings() {
    if (this._open) this._sendSessionUpdate();
    return this._open;
  }

  /** Handles the press of the push-to-talk key. */
  pressKey() {
    if (this.muted && this.pushToTalk.enabled) return this.emit("notice", text("notice.muted"));
    if (!this.pushToTalk.press()) return;
    this.interrupt();
    this.emit("phase");
  }

  /** Handles the release of the push-to-talk key: the turn is complete. */
  releaseKey() {
    this.pushToTalk.release();
    this._releasedS = this.audio.context.currentTime;
    this.emit("phase");
  }

  // Microphone --------------------------------------------------------------------------------------------------

  _sendChunk({ pcm, frame, level }) {
    this.emit("input-level", { level });
    if (!this._open || this.muted || this._loadsRecognizer || !this.pushToTalk.accepts(pcm.length)) return this.connection.holdSound();
    if (this.connection.sendSound(pcm)) this._captureTimeline.addSent(frame, pcm.length);
    const action = this.pushToTalk.nextAction();
    if (action === "commit") {
      this.connection.send({ type: "input_audio_buffer.commit" });
      this._requestReply();
    } else if (action === "clear") {
      this.connection.send({ type: "input_audio_buffer.clear" });
      this.emit("notice", text("notice.released"));
    }
  }

  /** @param {number | null} typedS context time at which the text to be answered was entered; null if it is spoken */
  _requestReply(typedS = null) {
    if (!this._requests.addRequest(typedS)) {
      this._awaitingReply = true;
      return;
    }
    this.turns.expectUntimedReply(typedS);
    this._awaitingReply = this.connection.send({ type: "response.create" }); // not awaited if not sent
    this._requests.setSent(this._awaitingReply);
    this.emit("phase");
  }

  // Server events -----------------------------------------------------------------------------------------------

  _handleEvent(event) {
    SERVER_EVENTS[event.type]?.(this, event);
    this.conversation.handleEvent(event);
    if (this.conversation.changed.size) this.emit("items");
    this.emit("phase");
  }

  sessionCreated(session) {
    const resumed = session.repartee?.resumed === true;
    if (this._wasOpen && !resumed) {
      this.interruption.startAnother();
      this.turns.startConversation();
      this._response = null;
      if (this.keeping?.id) this.conversation.clear(); // the server keeps it and sends it again
      else {
        this.conversation.startAnother();
        this.emit("problem", { problem: "not-kept", message: "" });
      }
    }
    if (resumed) this.conversation.resumed();
    if (resumed) this._captureTimeline.dropAfter(session.repartee.heard_ms);
    else this._captureTimeline.reset();
    this._open = this._wasOpen = true;
    this._awaitingReply = this._userSpeaking = false;
    this._pendingChoices.clear();
    this._requests.clear();
    this._turnDetection = session.audio?.input?.turn_detection ?? this._turnDetection;
    this.wake.offered = session.repartee?.wake_words ?? [];
    this._sendSessionUpdate();
    this.interruption.reconnected(resumed);
    this.sessionUpdated(session);
    this._connectionProblem = "lost";
    for (const name of [...CONNECTION_PROBLEMS, "token"]) this.emit("resolved", name);
  }

  sessionUpdated(session) {
    this._resumeToken = session.repartee?.resume_token ?? this._resumeToken;
    this.wake.windowS = session.repartee?.wake_window_s ?? 0;
    this.emit("session", session);
  }

  _sendSessionUpdate() {
    const turnDetection = this.pushToTalk.enabled ? null : this._turnDetection;
    const session = { type: "realtime", repartee: { duck: true, playout: true, listening_sounds: true, markup: true, reloads: true, conversation: this.keeping } };
    if (this.textOnly) session.output_modalities = ["text"];
    Object.assign(session.repartee, this.wake.fields());
    if (turnDetection !== undefined) session.audio = { input: { turn_detection: turnDetection } };
    this.connection.send({ type: "session.update", session: this.withChoices(session) });
  }

  wakeWordHeard() {
    this.wake.called();
    this.emit("phase");
  }

  /** A device in another room has heard the wake word better, and answers. */
  wakeWordYielded() {
    this.wake.yielded();
    this._userSpeaking = this._awaitingReply = false;
    this.emit("phase");
  }

  conversationKept({ id, kept }) {
    if (kept && this.keeping) this.keeping = { ...this.keeping, id };
    this.emit("kept", { id, kept });
  }

  speechStarted() {
    this._userSpeaking = true;
    this._awaitingReply = false;
    this.interruption.stop();
  }

  speechStopped(endMs, insertedMs) {
    this._userSpeaking = false;
    this._awaitingReply = true;
    this.turns.speechEnded(endMs, insertedMs);
  }

  /** Notes the end of speech of a turn that this page ended. */
  turnCommitted(endMs, insertedMs) {
    this.turns.speechEnded(endMs, insertedMs, this.pushToTalk.enabled ? this._releasedS : null);
  }

  /** The turn has nothing to answer. @param {string} why as in repartee.nothing_said */
  nothingSaid(why) {
    this._userSpeaking = this._awaitingReply = false;
    this.turns.expectUntimedReply();
    if (why === "called") this.wake.called();
    if (!this.pushToTalk.enabled) return;
    this._requests.turnIsEmpty();
    this.emit("notice", text("notice.no_words"));
  }

  /** @param {string[]} pending chosen engines that the server loads */
  choicesPending(pending) {
    this._pendingChoices = new Set(pending);
  }

  responseCreated(response) {
    this._response = response;
    this._awaitingReply = false;
    const turn = this.turns.addReply(response);
    this._setSpeechEnd(turn);
    this.emit("turn", turn);
    const { unwanted, again } = this._requests.replyBegan(this.pushToTalk.keyDown);
    if (unwanted) this.interrupt();
    if (again) this._requestReply(this._requests.typedS);
  }

  /** Computes when the end of speech was captured, and notes it in the turn. */
  _setSpeechEnd(turn) {
    if (turn.speech_end_ms === null) return;
    const frame = this._captureTimeline.frameAt(turn.speech_end_ms - turn.inserted_ms);
    if (frame !== null) this.turns.setSpeechEnd(turn, frame / this.audio.context.sampleRate);
  }

  handleError(error) {
    const { code } = error;
    if (IGNORED_ERRORS.has(code)) return;
    if (code === ACTIVE_RESPONSE) { // a reply that began before the last message
      this.interrupt();
      if (!this.pushToTalk.keyDown) this._requestReply(this._requests.typedS);
      return;
    }
    this._awaitingReply = false;
    if (code === COMMIT_EMPTY) this._requests.turnIsEmpty();
    if (!endsConnection(code)) this.emit("notice", code === COMMIT_EMPTY ? text("notice.no_words") : serverText(error));
  }

  addTrace({ turn: number, trace }) {
    const turn = this.turns.addTrace(number, trace);
    if (turn) this.emit("turn", turn);
  }

  /** Notes the first words of a reply that is written only. */
  textArrived(response) {
    const turn = this.turns.ofReply(response);
    if (!this.textOnly || !turn || turn.leaves_s !== null) return;
    this.turns.setReplyOnset(turn, this.audio.context.currentTime, null);
    this.emit("turn", turn);
  }

  playAudio(response, base64) {
    if (response === this.interruption.stopped) return;
    this.audio.output.pushChunk(response, fromBase64(base64));
  }

  responseDone({ id, status, status_details: details }) {
    if (this._response === id) this._response = null;
    this.audio.output.end(id);
    if (status === "cancelled") this.interruption.cancelled(id);
    if (status !== "failed") return;
    const cause = serverText(details?.error) || text("problem.no_reason");
    if (!this.conversation.markFailed(id, cause)) this.emit("problem", { problem: "reply-failed", message: cause });
    const reason = details?.error?.message ?? "";
    this.emit("resolved", `note ${noticeText({ text: reason, code: "reply_failed", values: { reason } })}`); // the server sent it as a notice, too
    const turn = this.turns.markFailed(id);
    if (turn) this.emit("turn", turn);
  }

  /** Returns the query parameters that resume the session, and the reply from the audio that has arrived. */
  _resumeQuery() {
    if (!this._resumeToken) return {};
    const response = this._response ?? this.replyPlayback.playing;
    const received = response && { received_ms: String(Math.floor(this.audio.output.receivedMs(response))), response_id: response };
    return { resume: this._resumeToken, ...received };
  }

  // Connection --------------------------------------------------------------------------------------------------

  _subscribe() {
    this.audio.input.addEventListener("chunk", ({ detail }) => this._sendChunk(detail));
    this.connection.addEventListener("event", ({ detail }) => this._handleEvent(detail));
    this.connection.addEventListener("lost", ({ detail }) => this._connectionLost(detail));
    this.connection.addEventListener("slow", ({ detail: slow }) => (
      slow ? this.emit("problem", { problem: "slow", message: "" }) : this.emit("resolved", "slow")));
    this.connection.addEventListener("probe", () => this._open && this._sendSessionUpdate()); // changes nothing and is answered
    this.connection.addEventListener("ended", ({ detail }) => this._connectionEnded(detail));
  }

  _connectionLost({ problem, message }) {
    this._open = false;
    if (problem !== "lost" || this._connectionProblem === "lost") { // a reason from the server is kept
      for (const name of CONNECTION_PROBLEMS) if (name !== problem) this.emit("resolved", name);
      this.emit("problem", { problem, message });
      this._connectionProblem = problem;
    }
    this.emit("phase");
  }

  _connectionEnded({ problem, message }) {
    this._open = false;
    this.emit("problem", { problem, message });
    this.emit("ended");
  }

  emit(type, detail = null) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}
