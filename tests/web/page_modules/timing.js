import { nearestRankPercentile, rateLatency, turnRating } from "/static/timing/latency-stats.js";
import { modelNotes } from "/static/timing/model-notes.js";
import { stagesOfLatency, nonzeroStages, waterfallRows } from "/static/timing/stages.js";
import { turnRecord, TurnLog } from "/static/timing/turn-log.js";
import { run, same } from "./check.js";

function timed(turns, response, captured_s, leaves_s) {
  turns.speechEnded(1000, 0);
  const turn = turns.addReply(response);
  turns.setSpeechEnd(turn, captured_s);
  turns.setReplyOnset(turn, leaves_s, 40);
  return turn;
}

export default () => run({
  "percentiles use the nearest rank"() {
    same([50, 95, 1].map((percent) => nearestRankPercentile([40, 10, 30, 20], percent)), [20, 40, 10]);
    same([199, 200, 500, 501].map(rateLatency), ["sooner", "within", "within", "later"]);
  },
  "latency is measured from the captured end of speech to the reply leaving the loudspeaker"() {
    const turns = new TurnLog();
    const turn = timed(turns, "resp_1_1", 2.5, 2.931);
    same([turn.latency_ms, turn.number, turn.turn], [431, 1, 1]);
    same(turns.summary, { count: 1, p50_ms: 431, p95_ms: 431, within: 1 });
  },
  "the latency of push-to-talk counts from the release of the key"() {
    const turns = new TurnLog();
    turns.speechEnded(1000, 0, 2.7);
    const turn = turns.addReply("resp_1_1");
    turns.setSpeechEnd(turn, 2.5);
    turns.setReplyOnset(turn, 2.931, 40);
    same([turn.latency_ms, turn.speech_latency_ms, turns.summary.p50_ms], [231, 431, 231]);
  },
  "a typed turn has no latency"() {
    const turns = new TurnLog();
    turns.speechEnded(10, 0);
    turns.expectUntimedReply();
    const turn = turns.addReply("resp_1_1");
    turns.setReplyOnset(turn, 3, 40);
    same([turn.latency_ms, turns.summary], [null, null]);
  },
  "a reply that ended before it became audible is not counted"() {
    const turns = new TurnLog();
    turns.speechEnded(1000, 140);
    const turn = turns.addReply("resp_1_1");
    turns.setSpeechEnd(turn, 2.5);
    same([turn.latency_ms, turn.inserted_ms, turns.summary], [null, 140, null]);
  },
  "a second attempt replaces the first"() {
    const turns = new TurnLog();
    turns.addReply("resp_1_1");
    turns.addReply("resp_1_2");
    turns.addReply("resp_2_1");
    same(turns.all.map(({ number, response }) => [number, response]), [[1, "resp_1_2"], [2, "resp_2_1"]]);
  },
  "a typed turn is timed from Enter, and not counted with the latencies"() {
    const turns = new TurnLog();
    turns.expectUntimedReply(2.5);
    const typed = turns.addReply("resp_1_1");
    turns.setReplyOnset(typed, 2.81, 40);
    same([typed.typed_ms, typed.latency_ms, turnRating(typed)], [310, null, "typed"]);
    timed(turns, "resp_2_1", 5, 5.4);
    same([turns.all[1].typed_s, turns.summary.count, turns.summary.p50_ms], [null, 1, 400]);
    turns.expectUntimedReply();
    same(turnRating(turns.addReply("resp_3_1")), "untimed");
  },
  "a failed turn is not counted"() {
    const turns = new TurnLog();
    timed(turns, "resp_1_1", 2.5, 2.931);
    timed(turns, "resp_2_1", 4.5, 4.801);
    turns.addTrace(1, { outcome: "answered", error: null });
    turns.addTrace(2, { outcome: "answered", error: "the endpoint failed" });
    same(turns.summary, { count: 1, p50_ms: 431, p95_ms: 431, within: 1 });
    same(turns.all.map(turnRating), ["within", "failed"]);
    same(turns.failedCount, 1);
    timed(turns, "resp_3_1", 6.5, 6.801);
    same(turns.summary.count, 2);
    turns.markFailed("resp_3_1");
    same([turns.summary.count, turns.markFailed("resp_9_1")], [1, undefined]);
  },
  "a trace is added to its turn, also after a new conversation restarts the numbers"() {
    const turns = new TurnLog();
    turns.addReply("resp_1_1");
    turns.startConversation();
    turns.addReply("resp_1_1");
    same(turns.addTrace(1, { outcome: "answered" }).number, 2);
    same(turns.addTrace(7, {}), undefined);
    same(turnRecord(turns.all[1], { browser: "b" }), { page: { number: 2, turn: 1, response: "resp_1_1", speech_end_ms: null, inserted_ms: null, captured_s: null,
      released_s: null, typed_s: null, leaves_s: null, latency_ms: null, typed_ms: null, speech_latency_ms: null, device_ms: null, failed: false, browser: "b" }, trace: { outcome: "answered" } });
  },
  "stages without time are omitted"() {
    const stages = { tts: { ms: 12, slack_ms: 9 }, queue: { ms: 0, slack_ms: 0 }, endpoint_wait: { ms: 300, slack_ms: 300 } };
    same(nonzeroStages({ stages }).map(({ name, ms }) => [name, ms]), [["wait", 300], ["voice", 12]]);
    same(nonzeroStages(null), []);
  },
  "stages sum to the latency measured here; time the server did not measure is transport"() {
    const trace = { stages: { endpoint_wait: { ms: 300 }, transport: { ms: 5 }, playout: { ms: 95 } } };
    const shown = (ms) => stagesOfLatency(trace, ms).map((one) => [one.stage, one.ms, one.shown_ms]);
    same(shown(440), [["endpoint_wait", 300, 330], ["transport", 5, 5.5], ["playout", 95, 104.5]]);
    same(shown(null), [["endpoint_wait", 300, 300], ["transport", 5, 5], ["playout", 95, 95]]);
    same(shown(7400), [["endpoint_wait", 300, 300], ["transport", 7005, 7005], ["playout", 95, 95]]);
    same(shown(150), [["endpoint_wait", 300, 300], ["transport", 5, 5], ["playout", 95, 95]]);
    delete trace.stages.transport;
    same(shown(7395)[1], ["transport", 7000, 7000]);
    same(stagesOfLatency(null, 500), []);
  },
  "spans of a stage have its name on the page"() {
    const spans = ["llm_first_token 2", "tts", "look", "tool weather (1)"].map((name, n) => ({ name, stage: "tts", start_ms: n, end_ms: n, dropped: false, attempt: 1 }));
    same(waterfallRows({ spans, speech_end_ms: 0 }).map(({ name }) => name), ["model 2", "voice", "look", "tool weather (1)"]);
  },
  "the note tells the size of the model and the cached share of the attempt that was heard"() {
    const events = [
      { name: "size", at_ms: 1, detail: "attempt 1: small, 0 points" },
      { name: "size", at_ms: 2, detail: "attempt 2: small, -1 points: fact -1" },
      { name: "escalated", at_ms: 3, detail: "attempt 2: near declines" },
    ];
    const answers = [
      { attempt: 1, dropped: true, prompt_tokens: 10, cached_tokens: 10 },
      { attempt: 2, dropped: false, prompt_tokens: 600, cached_tokens: 450 },
    ];
    same(modelNotes({ events, answers }), ["Model size: small, -1 points: fact -1.", "Asked the large model: near declines.", "Cached: 75 % of 600 prompt tokens."]);
    same(modelNotes({ events, answers: [{ attempt: 3, dropped: false, prompt_tokens: 600, cached_tokens: null }] }), []);
    same(modelNotes({ spans: [] }), []);
    same(modelNotes({ answers: [{ attempt: 1, dropped: false, reason: "refused" }] }), ["A refusal: no skill and no language model could do it."]);
  },

  "waterfall rows are relative to the end of speech"() {
    const span = (name, attempt, start_ms, end_ms) => ({ name, stage: "stt", attempt, start_ms, end_ms, dropped: attempt === 1, after: [] });
    const trace = { speech_end_ms: 1000, spans: [span("b", 2, 1300, 1310), span("a", 2, 1000, 1300), span("c", 1, 900, 950)] };
    same(waterfallRows(trace).map(({ name, from_ms, to_ms }) => [name, from_ms, to_ms]), [["c", -100, -50], ["a", 0, 300], ["b", 300, 310]]);
  },
});
