import { nearestRank, verdict, verdictOn } from "/static/timing/stats.js";
import { accounted, paid, rows } from "/static/timing/stages.js";
import { record, Turns } from "/static/timing/turns.js";
import { run, same } from "./check.js";

function timed(turns, response, captured_s, leaves_s) {
  turns.speechEnded(1000, 0);
  const turn = turns.replied(response);
  turns.captured(turn, captured_s);
  turns.audible(turn, leaves_s, 40);
  return turn;
}

export default () => run({
  "percentiles by nearest rank"() {
    same([50, 95, 1].map((percent) => nearestRank([40, 10, 30, 20], percent)), [20, 40, 10]);
    same([199, 200, 500, 501].map(verdict), ["sooner", "within", "within", "later"]);
  },
  "latency is from the capture of the last sound to the reply's leaving"() {
    const turns = new Turns();
    const turn = timed(turns, "resp_1_1", 2.5, 2.931);
    same([turn.latency_ms, turn.number, turn.turn], [431, 1, 1]);
    same(turns.summary, { count: 1, p50_ms: 431, p95_ms: 431, within: 1 });
  },
  "typed words have no latency"() {
    const turns = new Turns();
    turns.speechEnded(10, 0);
    turns.asked();
    const turn = turns.replied("resp_1_1");
    turns.audible(turn, 3, 40);
    same([turn.latency_ms, turns.summary], [null, null]);
  },
  "a reply that was over before it was heard counts nowhere"() {
    const turns = new Turns();
    turns.speechEnded(1000, 140);
    const turn = turns.replied("resp_1_1");
    turns.captured(turn, 2.5);
    same([turn.latency_ms, turn.invented_ms, turns.summary], [null, 140, null]);
  },
  "a second attempt takes the first one's place"() {
    const turns = new Turns();
    turns.replied("resp_1_1");
    turns.replied("resp_1_2");
    turns.replied("resp_2_1");
    same(turns.all.map(({ number, response }) => [number, response]), [[1, "resp_1_2"], [2, "resp_2_1"]]);
  },
  "a turn that failed is not counted"() {
    const turns = new Turns();
    timed(turns, "resp_1_1", 2.5, 2.931);
    timed(turns, "resp_2_1", 4.5, 4.801);
    turns.traced(1, { outcome: "answered", error: null });
    turns.traced(2, { outcome: "answered", error: "the endpoint failed" });
    same(turns.summary, { count: 1, p50_ms: 431, p95_ms: 431, within: 1 });
    same(turns.all.map(verdictOn), ["within", "failed"]);
    timed(turns, "resp_3_1", 6.5, 6.801);
    same(turns.summary.count, 2);
    turns.replyFailed("resp_3_1");
    same([turns.summary.count, turns.replyFailed("resp_9_1")], [1, undefined]);
  },
  "a trace finds its turn, also after a new conversation began at 1"() {
    const turns = new Turns();
    turns.replied("resp_1_1");
    turns.forget();
    turns.replied("resp_1_1");
    same(turns.traced(1, { outcome: "answered" }).number, 2);
    same(turns.traced(7, {}), undefined);
    same(record(turns.all[1], { browser: "b" }), { page: { number: 2, turn: 1, response: "resp_1_1", speech_end_ms: null, invented_ms: null, captured_s: null,
      leaves_s: null, latency_ms: null, device_ms: null, failed: false, browser: "b" }, trace: { outcome: "answered" } });
  },
  "stages that took nothing are not drawn"() {
    const stages = { tts: { ms: 12, slack_ms: 9 }, queue: { ms: 0, slack_ms: 0 }, endpoint_wait: { ms: 300, slack_ms: 300 } };
    same(paid({ stages }).map(({ name, ms }) => [name, ms]), [["wait", 300], ["voice", 12]]);
    same(paid(null), []);
  },
  "stages add up to what was measured here; what the server did not see is the way to it"() {
    const trace = { stages: { endpoint_wait: { ms: 300 }, transport: { ms: 5 }, playout: { ms: 95 } } };
    const shown = (ms) => accounted(trace, ms).map((one) => [one.stage, one.ms, one.shown_ms]);
    same(shown(440), [["endpoint_wait", 300, 330], ["transport", 5, 5.5], ["playout", 95, 104.5]]);
    same(shown(null), [["endpoint_wait", 300, 300], ["transport", 5, 5], ["playout", 95, 95]]);
    same(shown(7400), [["endpoint_wait", 300, 300], ["transport", 7005, 7005], ["playout", 95, 95]]);
    same(shown(150), [["endpoint_wait", 300, 300], ["transport", 5, 5], ["playout", 95, 95]]);
    delete trace.stages.transport;
    same(shown(7395)[1], ["transport", 7000, 7000]);
    same(accounted(null, 500), []);
  },
  "a waterfall counts from the last sound"() {
    const span = (name, attempt, start_ms, end_ms) => ({ name, stage: "stt", attempt, start_ms, end_ms, dropped: attempt === 1, after: [] });
    const trace = { speech_end_ms: 1000, spans: [span("b", 2, 1300, 1310), span("a", 2, 1000, 1300), span("c", 1, 900, 950)] };
    same(rows(trace).map(({ name, from_ms, to_ms }) => [name, from_ms, to_ms]), [["c", -100, -50], ["a", 0, 300], ["b", 300, 310]]);
  },
});
