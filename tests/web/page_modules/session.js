import { explainClose, retryDelayMs } from "/static/session/close-reasons.js";
import { Conversation } from "/static/session/conversation.js";
import { PushToTalk } from "/static/session/push-to-talk.js";
import { ConnectionMonitor } from "/static/session/connection-monitor.js";
import { RealtimeConnection } from "/static/session/realtime-connection.js";
import { RealtimeSession } from "/static/session/realtime-session.js";
import { browserProblem, microphoneProblem, PROBLEMS } from "/static/session/problems.js";
import { conversationOf, messagesOf } from "/static/history/messages.js";
import { splitWords, wordStarts } from "/static/session/word-timing.js";
import { chooseTransport } from "/static/session/transport.js";
import { TrackTimeline } from "/static/audio/track-timeline.js";
import { hasText } from "/static/texts/texts.js";
import { hintText, phaseText } from "/static/view/state-texts.js";
import { near, run, same } from "./check.js";

function spoken() {
  const conversation = new Conversation();
  const response = { response_id: "resp_1_1", item_id: "a" };
  conversation.handleEvent({ type: "input_audio_buffer.speech_started", item_id: "u" });
  conversation.handleEvent({ type: "repartee.partial", item_id: "u", text: "what ti", rough: true });
  conversation.handleEvent({ type: "conversation.item.added", previous_item_id: null, item: { id: "u", role: "user", content: [{ type: "input_audio", transcript: null }] } });
  conversation.handleEvent({ type: "conversation.item.input_audio_transcription.completed", item_id: "u", transcript: "what time is it" });
  conversation.handleEvent({ type: "response.output_item.added", response_id: "resp_1_1", item: { id: "a", type: "message", role: "assistant" } });
  conversation.handleEvent({ type: "conversation.item.added", previous_item_id: "u", item: { id: "a", role: "assistant", content: [] } });
  conversation.handleEvent({ type: "response.content_part.added", ...response, part: { type: "audio" } });
  conversation.handleEvent({ type: "response.output_audio_transcript.delta", ...response, delta: "It's ten" });
  conversation.handleEvent({ type: "response.output_audio_transcript.delta", ...response, delta: " past four." });
  conversation.handleEvent({ type: "repartee.words", ...response, words: ["It's", "ten", "past", "four"].map((text, n) => ({ text, start_ms: 200 * n, end_ms: 200 * n + 150 })) });
  return conversation;
}

/** A socket whose server says only what the check passes to `receive`. */
class ScriptedSocket {
  static OPEN = 1;
  static opened = [];
  readyState = ScriptedSocket.OPEN;
  bufferedAmount = 0;
  sent = [];

  constructor(url) {
    this.url = url;
    ScriptedSocket.opened.push(this);
  }

  send(text) {
    this.sent.push(JSON.parse(text).type);
  }

  receive(event) {
    this.onmessage({ data: JSON.stringify(event) });
  }

  close() {}
}

/** Runs a check with scripted sockets, and with a clock and timers that `advance` moves; the delayed calls are only kept. */
async function withScriptedConnection(check) {
  const real = { WebSocket, setInterval, clearInterval, setTimeout, clearTimeout };
  const repeated = new Set();
  const delayed = new Set();
  let nowMs = 0;
  const advance = (ms) => {
    for (const endMs = nowMs + ms; nowMs < endMs;) {
      nowMs += 500;
      for (const call of repeated) call();
    }
  };
  performance.now = () => nowMs; // hides the method of the prototype
  ScriptedSocket.opened = [];
  Object.assign(globalThis, {
    WebSocket: ScriptedSocket,
    setInterval(call) {
      repeated.add(call);
      return call;
    },
    clearInterval: (call) => repeated.delete(call),
    setTimeout(call) {
      delayed.add(call);
      return call;
    },
    clearTimeout: (call) => delayed.delete(call),
  });
  try {
    await check({ advance, delayed });
  } finally {
    delete performance.now;
    Object.assign(globalThis, real);
  }
}

export default () => run({
  "a page connects by WebSocket on its own machine, and by WebRTC elsewhere"() {
    const chosen = ["localhost", "127.0.0.1", "[::1]", "voice.example"].map((host) => chooseTransport("auto", host, true));
    same(chosen, ["websocket", "websocket", "websocket", "webrtc"]);
    same([chooseTransport("webrtc", "localhost", true), chooseTransport("websocket", "voice.example", true)], ["webrtc", "websocket"]);
    same(chooseTransport("webrtc", "voice.example", false), "websocket");
  },
  "a position in a sent track is found by the earliest count of packets"() {
    const timeline = new TrackTimeline(48_000);
    same(timeline.frameAt(500), null);
    timeline.addCount(0, 1);
    same(timeline.frameAt(500), null);
    for (const [packets, time_s] of [[10, 2.213], [20, 2.401], [30, 2.619]]) timeline.addCount(packets, time_s);
    near(timeline.frameAt(500), 2.501 * 48_000, 0.01);
    for (const packets of [100, 110]) timeline.addCount(packets, 5 + packets / 50); // 3 s were skipped
    near(timeline.frameAt(2100), 7.1 * 48_000, 0.01);
    near(timeline.frameAt(500), 2.501 * 48_000, 0.01);
  },
  "the state of the microphone is said in words"() {
    const state = { phase: "listening", muted: false, microphoneOpen: true, typed: false, pushToTalk: false, held: false };
    const said = (changed) => phaseText({ ...state, ...changed });
    same([said({}), said({ muted: true }), said({ microphoneOpen: false })], ["Listening", "Muted", "No microphone: you can type"]);
    same(said({ pushToTalk: true }), "Microphone closed: hold to talk");
    same(said({ pushToTalk: true, held: true, phase: "hearing" }), "Microphone open: speak, then release");
    same(said({ typed: true, muted: true, microphoneOpen: false }), "Microphone off: you can type");
    same([said({ phase: "speaking", pushToTalk: true }), said({ phase: "idle" })], ["Repartee is speaking", "Not started"]);
    same([said({ phase: "idle", ended: true }), said({ phase: "idle", ended: true, continues: true })], ["Ended", "Paused"]);
    same([hintText(state), hintText({ ...state, muted: true }), hintText({ ...state, phase: "connecting" })], ["Speak, or type a message.", "Type a message.", ""]);
  },
  "words that follow in a resumed reply are no longer unheard in the first one"() {
    const conversation = spoken();
    conversation.handleEvent({ type: "conversation.item.truncated", item_id: "a", audio_end_ms: 360 });
    conversation.handleEvent({ type: "repartee.heard", item_id: "a", markup: "", unheard: " past four." });
    conversation.handleEvent({ type: "repartee.heard", item_id: "a", markup: "", unheard: "", continued: true });
    same(messagesOf(conversation.items).map(({ text, complete, unheard = "" }) => [text, complete, unheard]), [["what time is it", true, ""], ["It's ten", false, ""]]);
    same([conversation.item("a").words.length, conversation.item("a").played], [2, 2]);
  },
  "a failure is noted with a reply that has words"() {
    const conversation = spoken();
    same([conversation.markFailed("resp_1_1", "no route"), conversation.markFailed("resp_9_1", "no route")], [true, false]);
    same(conversation.item("a").failure, "no route");
  },
  "a turn becomes two items"() {
    const conversation = spoken();
    same(conversation.items.map(({ role, text }) => [role, text]), [["user", "what time is it"], ["assistant", "It's ten past four."]]);
    same(conversation.item("u").inProgress, false);
  },
  "the number of played words never decreases"() {
    const conversation = spoken();
    const heard = [0, 199, 200, 450, 300, 700].map((ms) => (conversation.markPlayed("resp_1_1", ms), conversation.item("a").played));
    same(heard, [1, 1, 2, 3, 3, 4]);
  },
  "a reply that is sent again on a new connection is not shown twice"() {
    const conversation = spoken();
    conversation.markPlayed("resp_1_1", 250);
    const response = { response_id: "resp_1_1", item_id: "a" };
    conversation.handleEvent({ type: "response.output_item.added", response_id: "resp_1_1", item: { id: "a", type: "message", role: "assistant" } });
    conversation.handleEvent({ type: "response.output_audio_transcript.delta", ...response, delta: "It's ten past four." });
    conversation.handleEvent({ type: "repartee.words", ...response, words: ["It's", "ten", "past", "four"].map((text, n) => ({ text, start_ms: 200 * n, end_ms: 200 * n + 150 })) });
    same([conversation.item("a").text, conversation.item("a").starts_ms, conversation.item("a").played], ["It's ten past four.", [0, 200, 400, 600], 2]);
  },
  "words after an interruption are never marked as played"() {
    const conversation = spoken();
    conversation.markPlayed("resp_1_1", 210);
    conversation.handleEvent({ type: "conversation.item.truncated", item_id: "a", audio_end_ms: 410 });
    conversation.markPlayed("resp_1_1", 5000);
    conversation.markAllPlayed("resp_1_1");
    same([conversation.item("a").played, conversation.item("a").interrupted], [3, true]);
  },
  "a reply that was played completely is not marked as interrupted"() {
    const conversation = spoken();
    conversation.markAllPlayed("resp_1_1");
    conversation.markInterrupted("resp_1_1");
    same(conversation.item("a").interrupted, false);
  },
  "an interim transcript before its speech event is shown and moves to that item"() {
    const conversation = new Conversation();
    conversation.handleEvent({ type: "repartee.partial", item_id: null, text: "hel", rough: false });
    same(conversation.items.length, 1);
    conversation.handleEvent({ type: "input_audio_buffer.speech_started", item_id: "u" });
    same(conversation.items.map(({ id, text }) => [id, text]), [["u", "hel"]]);
    conversation.handleEvent({ type: "repartee.nothing_said", item_id: "u" });
    same(conversation.items, []);
  },
  "an interim transcript stays in progress until its transcription completes or fails"() {
    for (const [kind, words, text] of [["completed", { transcript: "what time is it" }, "what time is it"], ["failed", {}, "what ti"]]) {
      const conversation = new Conversation();
      conversation.handleEvent({ type: "input_audio_buffer.speech_started", item_id: "u" });
      conversation.handleEvent({ type: "repartee.partial", item_id: "u", text: "what ti", rough: true });
      conversation.handleEvent({ type: "conversation.item.added", previous_item_id: null, item: { id: "u", role: "user", content: [{ type: "input_audio", transcript: null }] } });
      same([conversation.item("u").inProgress, conversation.item("u").text], [true, "what ti"], kind);
      conversation.handleEvent({ type: `conversation.item.input_audio_transcription.${kind}`, item_id: "u", ...words });
      same([conversation.item("u").inProgress, conversation.item("u").text], [false, text], kind);
    }
  },
  "a failed transcription without text leaves no item"() {
    const conversation = new Conversation();
    conversation.handleEvent({ type: "input_audio_buffer.speech_started", item_id: "u" });
    conversation.handleEvent({ type: "conversation.item.added", previous_item_id: null, item: { id: "u", role: "user", content: [{ type: "input_audio", transcript: null }] } });
    conversation.handleEvent({ type: "conversation.item.input_audio_transcription.failed", item_id: "u" });
    same(conversation.items, []);
  },
  "the end of the conversation completes every item"() {
    const conversation = spoken();
    conversation.markPlayed("resp_1_1", 250);
    conversation.handleEvent({ type: "input_audio_buffer.speech_started", item_id: "v" });
    conversation.handleEvent({ type: "repartee.partial", item_id: "v", text: "and the", rough: false });
    conversation.handleEvent({ type: "response.output_item.added", response_id: "r", item: { id: "f", type: "function_call", name: "lamp" } });
    conversation.changed.clear();
    conversation.end();
    same(conversation.items.map(({ text, inProgress, incomplete, interrupted }) => [text, inProgress, incomplete, interrupted]), [
      ["what time is it", false, false, false], ["It's ten past four.", false, false, true],
      ["and the", false, true, false], ["lamp", false, false, false],
    ]);
    same(conversation.changed.size, 3);
    conversation.handleEvent({ type: "input_audio_buffer.speech_started", item_id: "w" });
    conversation.end();
    same(conversation.item("w"), undefined);
  },
  "after a reconnect, speech that is not in the history is removed"() {
    const conversation = spoken();
    conversation.handleEvent({ type: "input_audio_buffer.speech_started", item_id: "v" });
    conversation.handleEvent({ type: "repartee.partial", item_id: "v", text: "and the", rough: false });
    conversation.resumed();
    same(conversation.items.map(({ id }) => id), ["u", "a"]);
    conversation.handleEvent({ type: "repartee.partial", item_id: "v", text: "and the date", rough: false });
    conversation.handleEvent({ type: "conversation.item.added", previous_item_id: "a", item: { id: "v", role: "user", content: [{ type: "input_audio", transcript: "and the date" }] } });
    same(conversation.items.map(({ id, text, inProgress }) => [id, text, inProgress]).slice(2), [["v", "and the date", false]]);
  },
  "speech without words is removed when the next reply begins"() {
    const conversation = spoken();
    conversation.handleEvent({ type: "input_audio_buffer.speech_started", item_id: "v" });
    conversation.handleEvent({ type: "input_audio_buffer.speech_stopped", item_id: "v" });
    conversation.handleEvent({ type: "input_audio_buffer.speech_started", item_id: "w" });
    conversation.handleEvent({ type: "response.created", response: { id: "resp_1_2" } });
    same(conversation.items.map(({ id }) => id), ["u", "a", "w"]);
  },
  "a retracted reply is removed"() {
    const conversation = spoken();
    conversation.handleEvent({ type: "conversation.item.deleted", item_id: "a" });
    same(conversation.items.map(({ id }) => id), ["u"]);
  },
  "typed text, a text reply and a function call become items"() {
    const conversation = new Conversation();
    conversation.handleEvent({ type: "conversation.item.added", previous_item_id: null, item: { id: "t", role: "user", content: [{ type: "input_text", text: "hi" }] } });
    conversation.handleEvent({ type: "response.output_item.added", response_id: "r", item: { id: "f", type: "function_call", name: "lamp" } });
    conversation.handleEvent({ type: "response.output_item.added", response_id: "r", item: { id: "a", type: "message" } });
    conversation.handleEvent({ type: "response.content_part.added", response_id: "r", item_id: "a", part: { type: "text" } });
    conversation.handleEvent({ type: "response.output_text.delta", response_id: "r", item_id: "a", delta: "Hello there" });
    same(conversation.items.map(({ role, text, spoken, played }) => [role, text, spoken, played]),
      [["user", "hi", false, 0], ["call", "lamp", true, 0], ["assistant", "Hello there", false, 2]]);
  },
  "a reply keeps its Markdown when it is kept, and when the server sends it again"() {
    const conversation = spoken();
    conversation.handleEvent({ type: "repartee.markup", item_id: "a", delta: "It's **ten** past four." });
    conversation.markPlayed("resp_1_1", 10_000);
    conversation.handleEvent({ type: "response.done", response: { id: "resp_1_1" } });
    const messages = messagesOf(conversation.items);
    same(messages.map(({ text, markup }) => [text, markup]), [["what time is it", undefined], ["It's ten past four.", "It's **ten** past four."]]);
    same(conversationOf(messages).items[1].markup, "It's **ten** past four.");
    const resumed = new Conversation();
    const item = { id: "b", role: "assistant", content: [{ transcript: "It's ten past four." }], repartee: { markup: "It's **ten** past four." } };
    resumed.handleEvent({ type: "conversation.item.added", previous_item_id: null, item });
    same(resumed.item("b").markup, "It's **ten** past four.");
  },
  "who spoke is shown for several speakers and for names, and is kept"() {
    const conversation = spoken();
    const said = (id, speaker) => {
      conversation.handleEvent({ type: "conversation.item.added", previous_item_id: null, item: { id, role: "user", content: [{ type: "input_audio", transcript: null }] } });
      conversation.handleEvent({ type: "conversation.item.input_audio_transcription.completed", item_id: id, transcript: "hello", repartee: { speaker } });
    };
    said("v", "S1");
    same(conversation.showsSpeakers, false);
    said("w", "S2");
    same([conversation.showsSpeakers, conversation.item("v").speaker, conversation.item("u").speaker], [true, "S1", ""]);
    const kept = messagesOf(conversation.items);
    same([kept.map(({ speaker }) => speaker), conversationOf(kept).showsSpeakers], [[undefined, "S1", "S2"], true]);
    const resumed = new Conversation();
    resumed.handleEvent({ type: "conversation.item.added", item: { id: "b", role: "user", content: [{ type: "input_audio", transcript: "hi" }], repartee: { speaker: "Ann" } } });
    same([resumed.showsSpeakers, resumed.item("b").speaker], [true, "Ann"]);
  },
  "items of the history are shown as played, once"() {
    const conversation = spoken();
    conversation.handleEvent({ type: "conversation.item.added", item: { id: "a", role: "assistant", content: [{ type: "output_audio", transcript: "other" }] } });
    conversation.handleEvent({ type: "conversation.item.added", item: { id: "z", role: "assistant", content: [{ type: "output_audio", transcript: "before that" }] } });
    same([conversation.item("a").text, conversation.item("z").played, conversation.items.length], ["It's ten past four.", 2, 3]);
  },
  "a reply is shown where it began, also if another item arrived before its first word"() {
    const conversation = spoken();
    conversation.handleEvent({ type: "conversation.item.added", previous_item_id: "a", item: { id: "t", role: "user", content: [{ type: "input_text", text: "hi" }] } });
    conversation.handleEvent({ type: "response.output_item.added", response_id: "r", item: { id: "b", type: "message", role: "assistant" } });
    conversation.changed.clear();
    conversation.handleEvent({ type: "conversation.item.added", previous_item_id: "a", item: { id: "b", role: "assistant", content: [] } });
    same(conversation.items.map(({ id }) => id), ["u", "a", "b", "t"]);
    same([...conversation.changed].map(({ id }) => id), ["b"]);
    conversation.handleEvent({ type: "conversation.item.added", previous_item_id: "u", item: { id: "h", role: "assistant", content: [{ type: "output_text", text: "before" }] } });
    same(conversation.items.map(({ id }) => id), ["u", "h", "a", "b", "t"]);
  },
  "earlier items stay above a new conversation that uses the same ids"() {
    const conversation = spoken();
    conversation.markPlayed("resp_1_1", 250);
    conversation.handleEvent({ type: "input_audio_buffer.speech_started", item_id: "v" });
    conversation.startAnother();
    same(conversation.items.map(({ text, inProgress, played, interrupted }) => [text, inProgress, played, interrupted]), [["what time is it", false, 0, false], ["It's ten past four.", false, 2, true]]);
    conversation.markAllPlayed("resp_1_1"); // the earlier reply
    conversation.handleEvent({ type: "repartee.partial", item_id: null, text: "and", rough: false });
    conversation.handleEvent({ type: "input_audio_buffer.speech_started", item_id: "u" });
    conversation.handleEvent({ type: "response.output_item.added", response_id: "resp_1_1", item: { id: "a", type: "message", role: "assistant" } });
    conversation.handleEvent({ type: "response.output_audio_transcript.delta", item_id: "a", response_id: "resp_1_1", delta: "Hello" });
    same(conversation.items.map(({ text, played }) => [text, played]), [["what time is it", 0], ["It's ten past four.", 2], ["and", 0], ["Hello", 0]]);
  },
  "unknown events change nothing"() {
    const conversation = spoken();
    conversation.changed.clear();
    conversation.handleEvent({ type: "rate_limits.updated" });
    conversation.handleEvent({ type: "response.output_audio_transcript.delta", item_id: "nobody", delta: "x" });
    same(conversation.changed.size, 0);
  },
  "words with different written and spoken forms are timed in order"() {
    const shown = splitWords("It's 12:30, on the dot.");
    same(shown, ["It's", " 12:30,", " on", " the", " dot."]);
    const times = ["It's", "twelve", "on", "the", "dot"].map((text, n) => ({ text, start_ms: 100 * n }));
    same(wordStarts(shown, times), [0, 100, 200, 300, 400]);
    same(wordStarts(shown, times.slice(0, 2)), [0, 100, null, null, null].map((ms) => ms ?? Infinity));
    same(wordStarts(splitWords("a - b"), [{ text: "a", start_ms: 0 }, { text: "b", start_ms: 70 }]), [0, 70, 70]);
  },
  "push-to-talk sends audio while the key is down and commits the turn after the release"() {
    const key = new PushToTalk();
    same(key.accepts(480), true);
    key.enabled = true;
    same([key.accepts(480), key.press(), key.press(), key.accepts(480)], [false, true, false, true]);
    key.release();
    same([key.accepts(480), key.nextAction(), key.accepts(480), key.nextAction()], [true, "clear", false, null]);
    key.press();
    for (let n = 0; n < 10; n++) key.accepts(480);
    key.release();
    same([key.accepts(480), key.nextAction()], [true, "commit"]);
  },
  "a connection that delivers less than is sent is slow, not dead"() {
    const monitor = new ConnectionMonitor(0);
    const results = [];
    for (let ms = 500, waiting = 0; ms <= 20_000; ms += 500) {
      waiting += (ms < 12_000 ? 33_000 : 0) - Math.min(waiting, 20_000); // of 33,000 bytes 20,000 leave
      const { slow, dead } = monitor.check(ms, 33_000 * Math.min(ms, 11_500) / 500, waiting);
      same(dead, false, `dead after ${ms} ms`);
      results.push(slow);
    }
    near(results.indexOf(true), 7, 3, "slow from");
    same([results.lastIndexOf(true) > results.indexOf(true) + 10, results.at(-1)], [true, false]);
  },
  "a connection that delivers nothing is dead"() {
    const monitor = new ConnectionMonitor(0);
    const dead = Array.from({ length: 20 }, (_, n) => {
      monitor.messageReceived(500 * n, 33_000 * n);
      return monitor.check(500 * n, 33_000 * n, n && 33_000 * n - 10_000).dead;
    });
    near(dead.indexOf(true), 13, 1);
  },
  "a silent server is probed if something was sent, and is dead without an answer"() {
    const check = (monitor, sent, from, to) => Array.from({ length: (to - from) / 500 }, (_, n) => monitor.check(from + 500 * n, sent, 0));
    const idle = new ConnectionMonitor(0);
    same(check(idle, 0, 0, 60_000).filter((one) => one.probe || one.dead), []);
    same(check(idle, 10, 60_000, 60_500)[0], { dead: false, slow: false, probe: true });
    idle.messageReceived(60_500, 20);
    same(check(idle, 20, 60_500, 90_000).filter((one) => one.probe || one.dead), []);
    const results = check(idle, 30, 90_000, 97_000);
    same([results.filter((one) => one.probe).length, results.findIndex((one) => one.dead)], [1, 11]);
    const awake = new ConnectionMonitor(0);
    same(check(awake, 10, 0, 6000).at(-1).probe, true);
    same([awake.check(60_000, 10, 10).dead, awake.check(60_500, 20, 10).dead], [false, false]); // the computer slept
  },
  "a hung server is probed with session.update, then given up and resumed on a new connection"() {
    return withScriptedConnection(async ({ advance, delayed }) => {
      const output = Object.assign(new EventTarget(), { duck() {} });
      const audio = { context: { currentTime: 0, sampleRate: 48_000 }, input: new EventTarget(), output };
      const session = new RealtimeSession(audio, new RealtimeConnection("http://localhost/v1/realtime"));
      session.start();
      const [socket] = ScriptedSocket.opened;
      socket.onopen();
      socket.receive({ type: "session.created", session: { repartee: { resume_token: "t" } } });
      same([session.phase, socket.sent], ["listening", ["session.update"]]);
      advance(6000);
      same([session.phase, socket.sent], ["listening", ["session.update", "session.update"]], "probe");
      socket.receive({ type: "session.updated", session: {} });
      advance(20_000);
      same([session.phase, socket.sent.length], ["listening", 2], "answered");
      session.updateSettings();
      advance(12_000);
      await Promise.resolve();
      same([session.phase, socket.sent.length, socket.onmessage], ["reconnecting", 4, null], "not answered");
      const [reconnect] = delayed;
      reconnect();
      same(new URL(ScriptedSocket.opened[1].url).searchParams.get("resume"), "t");
    });
  },
  "close codes and errors are distinguished"() {
    const close = (code, reason = "", more = {}) => explainClose({ code, reason, ...more });
    same(close(1006), { problem: "lost", retry: true, message: "" });
    same(close(1013, "server_full: The server is full: all 4 sessions are in use."), { problem: "full", retry: true, message: "The server is full: all 4 sessions are in use." });
    same(close(1001, "session_expired: It ended.").problem, "too-long");
    same(close(1001, "session_expired: It ended.").retry, false);
    same(close(1013, "server_loading: Wait.").problem, "loading");
    same(close(1006, "", { status: 401, error: { code: "token_wrong", message: "not the token" } }), { problem: "token", retry: false, message: "not the token" });
    same(close(1006, "", { status: 403 }).problem, "refused");
    same(close(1006, "", { status: 404 }).problem, "lost");
    same(close(1000).retry, false);
    same(close(1013, "server_busy: The server is busy").problem, "overloaded");
    same(close(1013, "server_busy: The server is busy").retry, true);
    same(close(1013, "session_resuming: Try again.").problem, "lost");
    same(close(1013, "session_resuming: Try again.").retry, true);
  },
  "the next attempt is not made before the time that the server names"() {
    const within = (delayMs, fromMs, untilMs) => same(delayMs >= fromMs && delayMs <= untilMs, true, `${delayMs}`);
    within(retryDelayMs(0, { retry_after_s: 10 }), 10_000, 12_500);
    within(retryDelayMs(0, { retry_after_s: 1e9 }), 60_000, 75_000);
    within(retryDelayMs(0, { retry_after_s: "soon" }), 187, 313);
    within(retryDelayMs(20), 6000, 10_000);
  },
  "every problem has a text"() {
    const reasons = [explainClose({ code: 1006, reason: "" }), explainClose({ code: 1012, reason: "" }), explainClose({ code: 1009, reason: "" })];
    const names = [...reasons.map(({ problem }) => problem), microphoneProblem({ name: "NotAllowedError" }), microphoneProblem({ name: "NotFoundError" }),
      microphoneProblem({ name: "OverconstrainedError" }), microphoneProblem({ name: "TypeError" }),
      browserProblem({ secure: false, worklet: false, devices: false }), browserProblem({ secure: true, worklet: false, devices: true }),
      browserProblem({ secure: true, worklet: true, devices: false })];
    for (const name of [...names, ...Object.keys(PROBLEMS)]) same([name in PROBLEMS, hasText(`problem.${name}.what`), hasText(`problem.${name}.remedy`)], [true, true, true], name);
    same(browserProblem({ secure: true, worklet: true, devices: true }), null);
  },
});
