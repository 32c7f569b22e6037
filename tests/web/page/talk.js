import { explain } from "/static/talk/closings.js";
import { Conversation } from "/static/talk/conversation.js";
import { HeldKey } from "/static/talk/held-key.js";
import { Link } from "/static/talk/link.js";
import { microphoneTrouble, obstacle, TROUBLES } from "/static/talk/troubles.js";
import { startsOf, wordsOf } from "/static/talk/words.js";
import { near, run, same } from "./check.js";

function spoken() {
  const talk = new Conversation();
  const response = { response_id: "resp_1_1", item_id: "a" };
  talk.tell({ type: "input_audio_buffer.speech_started", item_id: "u" });
  talk.tell({ type: "repartee.partial", item_id: "u", text: "what ti", rough: true });
  talk.tell({ type: "conversation.item.added", previous_item_id: null, item: { id: "u", role: "user", content: [{ type: "input_audio", transcript: null }] } });
  talk.tell({ type: "conversation.item.input_audio_transcription.completed", item_id: "u", transcript: "what time is it" });
  talk.tell({ type: "response.output_item.added", response_id: "resp_1_1", item: { id: "a", type: "message", role: "assistant" } });
  talk.tell({ type: "conversation.item.added", previous_item_id: "u", item: { id: "a", role: "assistant", content: [] } });
  talk.tell({ type: "response.content_part.added", ...response, part: { type: "audio" } });
  talk.tell({ type: "response.output_audio_transcript.delta", ...response, delta: "It's ten" });
  talk.tell({ type: "response.output_audio_transcript.delta", ...response, delta: " past four." });
  talk.tell({ type: "repartee.words", ...response, words: ["It's", "ten", "past", "four"].map((text, n) => ({ text, start_ms: 200 * n, end_ms: 200 * n + 150 })) });
  return talk;
}

export default () => run({
  "a turn becomes two items"() {
    const talk = spoken();
    same(talk.items.map(({ role, text }) => [role, text]), [["user", "what time is it"], ["assistant", "It's ten past four."]]);
    same(talk.item("u").partial, false);
  },
  "words are heard in order, and never unheard"() {
    const talk = spoken();
    const heard = [0, 199, 200, 450, 300, 700].map((ms) => (talk.heard("resp_1_1", ms), talk.item("a").heard));
    same(heard, [1, 1, 2, 3, 3, 4]);
  },
  "a reply that is told again on a new connection is not said twice"() {
    const talk = spoken();
    talk.heard("resp_1_1", 250);
    const response = { response_id: "resp_1_1", item_id: "a" };
    talk.tell({ type: "response.output_item.added", response_id: "resp_1_1", item: { id: "a", type: "message", role: "assistant" } });
    talk.tell({ type: "response.output_audio_transcript.delta", ...response, delta: "It's ten past four." });
    talk.tell({ type: "repartee.words", ...response, words: ["It's", "ten", "past", "four"].map((text, n) => ({ text, start_ms: 200 * n, end_ms: 200 * n + 150 })) });
    same([talk.item("a").text, talk.item("a").starts_ms, talk.item("a").heard], ["It's ten past four.", [0, 200, 400, 600], 2]);
  },
  "what was cut is not heard later"() {
    const talk = spoken();
    talk.heard("resp_1_1", 210);
    talk.tell({ type: "conversation.item.truncated", item_id: "a", audio_end_ms: 410 });
    talk.heard("resp_1_1", 5000);
    talk.heardAll("resp_1_1");
    same([talk.item("a").heard, talk.item("a").cut], [3, true]);
  },
  "a reply that was heard whole is not cut afterwards"() {
    const talk = spoken();
    talk.heardAll("resp_1_1");
    talk.cut("resp_1_1");
    same(talk.item("a").cut, false);
  },
  "words that come before their speech are shown, and move to it"() {
    const talk = new Conversation();
    talk.tell({ type: "repartee.partial", item_id: null, text: "hel", rough: false });
    same(talk.items.length, 1);
    talk.tell({ type: "input_audio_buffer.speech_started", item_id: "u" });
    same(talk.items.map(({ id, text }) => [id, text]), [["u", "hel"]]);
    talk.tell({ type: "repartee.nothing_said", item_id: "u" });
    same(talk.items, []);
  },
  "what was heard stays a guess until its words have come, or are lost"() {
    for (const [kind, words, text] of [["completed", { transcript: "what time is it" }, "what time is it"], ["failed", {}, "what ti"]]) {
      const talk = new Conversation();
      talk.tell({ type: "input_audio_buffer.speech_started", item_id: "u" });
      talk.tell({ type: "repartee.partial", item_id: "u", text: "what ti", rough: true });
      talk.tell({ type: "conversation.item.added", previous_item_id: null, item: { id: "u", role: "user", content: [{ type: "input_audio", transcript: null }] } });
      same([talk.item("u").partial, talk.item("u").text], [true, "what ti"], kind);
      talk.tell({ type: `conversation.item.input_audio_transcription.${kind}`, item_id: "u", ...words });
      same([talk.item("u").partial, talk.item("u").text], [false, text], kind);
    }
  },
  "words that were lost leave no line"() {
    const talk = new Conversation();
    talk.tell({ type: "input_audio_buffer.speech_started", item_id: "u" });
    talk.tell({ type: "conversation.item.added", previous_item_id: null, item: { id: "u", role: "user", content: [{ type: "input_audio", transcript: null }] } });
    talk.tell({ type: "conversation.item.input_audio_transcription.failed", item_id: "u" });
    same(talk.items, []);
  },
  "a conversation that ends settles every line"() {
    const talk = spoken();
    talk.heard("resp_1_1", 250);
    talk.tell({ type: "input_audio_buffer.speech_started", item_id: "v" });
    talk.tell({ type: "repartee.partial", item_id: "v", text: "and the", rough: false });
    talk.tell({ type: "response.output_item.added", response_id: "r", item: { id: "f", type: "function_call", name: "lamp" } });
    talk.changed.clear();
    talk.end();
    same(talk.items.map(({ text, partial, unfinished, cut }) => [text, partial, unfinished, cut]), [
      ["what time is it", false, false, false], ["It's ten past four.", false, false, true],
      ["and the", false, true, false], ["lamp", false, false, false],
    ]);
    same(talk.changed.size, 3);
    talk.tell({ type: "input_audio_buffer.speech_started", item_id: "w" });
    talk.end();
    same(talk.item("w"), undefined);
  },
  "a connection that is back leaves only lines of which more is told"() {
    const talk = spoken();
    talk.tell({ type: "input_audio_buffer.speech_started", item_id: "v" });
    talk.tell({ type: "repartee.partial", item_id: "v", text: "and the", rough: false });
    talk.resumed();
    same(talk.items.map(({ id }) => id), ["u", "a"]);
    talk.tell({ type: "repartee.partial", item_id: "v", text: "and the date", rough: false });
    talk.tell({ type: "conversation.item.added", previous_item_id: "a", item: { id: "v", role: "user", content: [{ type: "input_audio", transcript: "and the date" }] } });
    same(talk.items.map(({ id, text, partial }) => [id, text, partial]).slice(2), [["v", "and the date", false]]);
  },
  "speech that turns out to be no words is gone when the reply begins"() {
    const talk = spoken();
    talk.tell({ type: "input_audio_buffer.speech_started", item_id: "v" });
    talk.tell({ type: "input_audio_buffer.speech_stopped", item_id: "v" });
    talk.tell({ type: "input_audio_buffer.speech_started", item_id: "w" });
    talk.tell({ type: "response.created", response: { id: "resp_1_2" } });
    same(talk.items.map(({ id }) => id), ["u", "a", "w"]);
  },
  "a retracted reply is gone"() {
    const talk = spoken();
    talk.tell({ type: "conversation.item.deleted", item_id: "a" });
    same(talk.items.map(({ id }) => id), ["u"]);
  },
  "typed words, a reply in text and a called function"() {
    const talk = new Conversation();
    talk.tell({ type: "conversation.item.added", previous_item_id: null, item: { id: "t", role: "user", content: [{ type: "input_text", text: "hi" }] } });
    talk.tell({ type: "response.output_item.added", response_id: "r", item: { id: "f", type: "function_call", name: "lamp" } });
    talk.tell({ type: "response.output_item.added", response_id: "r", item: { id: "a", type: "message" } });
    talk.tell({ type: "response.content_part.added", response_id: "r", item_id: "a", part: { type: "text" } });
    talk.tell({ type: "response.output_text.delta", response_id: "r", item_id: "a", delta: "Hello there" });
    same(talk.items.map(({ role, text, spoken, heard }) => [role, text, spoken, heard]),
      [["user", "hi", false, 0], ["call", "lamp", true, 0], ["assistant", "Hello there", false, 2]]);
  },
  "a history is shown as heard, once"() {
    const talk = spoken();
    talk.tell({ type: "conversation.item.added", item: { id: "a", role: "assistant", content: [{ type: "output_audio", transcript: "other" }] } });
    talk.tell({ type: "conversation.item.added", item: { id: "z", role: "assistant", content: [{ type: "output_audio", transcript: "before that" }] } });
    same([talk.item("a").text, talk.item("z").heard, talk.items.length], ["It's ten past four.", 2, 3]);
  },
  "a reply is shown where it began, whatever came in before its first word"() {
    const talk = spoken();
    talk.tell({ type: "conversation.item.added", previous_item_id: "a", item: { id: "t", role: "user", content: [{ type: "input_text", text: "hi" }] } });
    talk.tell({ type: "response.output_item.added", response_id: "r", item: { id: "b", type: "message", role: "assistant" } });
    talk.changed.clear();
    talk.tell({ type: "conversation.item.added", previous_item_id: "a", item: { id: "b", role: "assistant", content: [] } });
    same(talk.items.map(({ id }) => id), ["u", "a", "b", "t"]);
    same([...talk.changed].map(({ id }) => id), ["b"]);
    talk.tell({ type: "conversation.item.added", previous_item_id: "u", item: { id: "h", role: "assistant", content: [{ type: "output_text", text: "before" }] } });
    same(talk.items.map(({ id }) => id), ["u", "h", "a", "b", "t"]);
  },
  "what was said stays above a new conversation, whose items have the same names"() {
    const talk = spoken();
    talk.heard("resp_1_1", 250);
    talk.tell({ type: "input_audio_buffer.speech_started", item_id: "v" });
    talk.forget();
    same(talk.items.map(({ text, partial, heard, cut }) => [text, partial, heard, cut]), [["what time is it", false, 0, false], ["It's ten past four.", false, 2, true]]);
    talk.heardAll("resp_1_1"); // the earlier reply
    talk.tell({ type: "repartee.partial", item_id: null, text: "and", rough: false });
    talk.tell({ type: "input_audio_buffer.speech_started", item_id: "u" });
    talk.tell({ type: "response.output_item.added", response_id: "resp_1_1", item: { id: "a", type: "message", role: "assistant" } });
    talk.tell({ type: "response.output_audio_transcript.delta", item_id: "a", response_id: "resp_1_1", delta: "Hello" });
    same(talk.items.map(({ text, heard }) => [text, heard]), [["what time is it", 0], ["It's ten past four.", 2], ["and", 0], ["Hello", 0]]);
  },
  "unknown events change nothing"() {
    const talk = spoken();
    talk.changed.clear();
    talk.tell({ type: "rate_limits.updated" });
    talk.tell({ type: "response.output_audio_transcript.delta", item_id: "nobody", delta: "x" });
    same(talk.changed.size, 0);
  },
  "words written one way and said another still light up in order"() {
    const shown = wordsOf("It's 12:30, on the dot.");
    same(shown, ["It's", " 12:30,", " on", " the", " dot."]);
    const placed = ["It's", "twelve", "on", "the", "dot"].map((text, n) => ({ text, start_ms: 100 * n }));
    same(startsOf(shown, placed), [0, 100, 200, 300, 400]);
    same(startsOf(shown, placed.slice(0, 2)), [0, 100, null, null, null].map((ms) => ms ?? Infinity));
    same(startsOf(wordsOf("a - b"), [{ text: "a", start_ms: 0 }, { text: "b", start_ms: 70 }]), [0, 70, 70]);
  },
  "a held key: what goes out, and when it is a turn"() {
    const key = new HeldKey();
    same(key.lets(480), true);
    key.wanted = true;
    same([key.lets(480), key.press(), key.press(), key.lets(480)], [false, true, false, true]);
    key.release();
    same([key.lets(480), key.closing(), key.lets(480), key.closing()], [true, "nothing", false, null]);
    key.press();
    for (let n = 0; n < 10; n++) key.lets(480);
    key.release();
    same([key.lets(480), key.closing()], [true, "turn"]);
  },
  "a connection that takes less than it is given is slow, and not dead"() {
    const link = new Link(0);
    const told = [];
    for (let ms = 500, waiting = 0; ms <= 20_000; ms += 500) {
      waiting += (ms < 12_000 ? 33_000 : 0) - Math.min(waiting, 20_000); // of 33,000 bytes 20,000 leave
      const { slow, dead } = link.look(ms, 33_000 * Math.min(ms, 11_500) / 500, waiting);
      same(dead, false, `dead after ${ms} ms`);
      told.push(slow);
    }
    near(told.indexOf(true), 7, 3, "slow from");
    same([told.lastIndexOf(true) > told.indexOf(true) + 10, told.at(-1)], [true, false]);
  },
  "a connection that nothing leaves any more is dead"() {
    const link = new Link(0);
    const dead = Array.from({ length: 20 }, (_, n) => {
      link.came(500 * n, 33_000 * n);
      return link.look(500 * n, 33_000 * n, n && 33_000 * n - 10_000).dead;
    });
    near(dead.indexOf(true), 13, 1);
  },
  "a server that says nothing is asked, where something is sent to it; without an answer it is gone"() {
    const ask = (link, sent, from, to) => Array.from({ length: (to - from) / 500 }, (_, n) => link.look(from + 500 * n, sent, 0));
    const idle = new Link(0);
    same(ask(idle, 0, 0, 60_000).filter((one) => one.ask || one.dead), []);
    same(ask(idle, 10, 60_000, 60_500)[0], { dead: false, slow: false, ask: true });
    idle.came(60_500, 20);
    same(ask(idle, 20, 60_500, 90_000).filter((one) => one.ask || one.dead), []);
    const told = ask(idle, 30, 90_000, 97_000);
    same([told.filter((one) => one.ask).length, told.findIndex((one) => one.dead)], [1, 11]);
    const awake = new Link(0);
    same(ask(awake, 10, 0, 6000).at(-1).ask, true);
    same([awake.look(60_000, 10, 10).dead, awake.look(60_500, 20, 10).dead], [false, false]); // the computer slept
  },
  "endings are told apart"() {
    const name = (code, reason = "", more = {}) => explain({ code, reason, ...more });
    same(name(1006), { name: "lost", again: true, said: "" });
    same(name(1013, "server_full: The server is full: all 4 sessions are in use."), { name: "full", again: true, said: "The server is full: all 4 sessions are in use." });
    same(name(1001, "session_expired: It ended.").name, "too-long");
    same(name(1001, "session_expired: It ended.").again, false);
    same(name(1013, "server_loading: Wait.").name, "loading");
    same(name(1006, "", { status: 401, error: { code: "token_wrong", message: "not the token" } }), { name: "token", again: false, said: "not the token" });
    same(name(1006, "", { status: 403 }).name, "refused");
    same(name(1006, "", { status: 404 }).name, "lost");
    same(name(1000).again, false);
  },
  "every ending and every obstacle has its words"() {
    const endings = [explain({ code: 1006, reason: "" }), explain({ code: 1012, reason: "" }), explain({ code: 1009, reason: "" })];
    const names = [...endings.map(({ name }) => name), microphoneTrouble({ name: "NotAllowedError" }), microphoneTrouble({ name: "NotFoundError" }),
      microphoneTrouble({ name: "OverconstrainedError" }), microphoneTrouble({ name: "TypeError" }),
      obstacle({ secure: false, worklet: false, devices: false }), obstacle({ secure: true, worklet: false, devices: true }),
      obstacle({ secure: true, worklet: true, devices: false })];
    for (const name of names) same(typeof TROUBLES[name]?.remedy, "string", name);
    same(obstacle({ secure: true, worklet: true, devices: true }), null);
  },
});
