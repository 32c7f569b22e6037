/** The stages of the response latency: their order, their names on the page, and their meaning. Pure. */

/** @type {{stage: string, name: string, is: string}[]} in the order of a turn */
export const STAGES = [
  { stage: "endpoint_wait", name: "wait", is: "the silence that decides that you are done" },
  { stage: "stt", name: "words", is: "the words of your last sound" },
  { stage: "queue", name: "queue", is: "waiting for a free engine or connection" },
  { stage: "llm_network", name: "network", is: "the way to the language model and back" },
  { stage: "llm_first_token", name: "model", is: "the model's own time to its first word" },
  { stage: "first_sentence", name: "sentence", is: "until there is enough to be spoken" },
  { stage: "tts", name: "voice", is: "until its first sound" },
  { stage: "transport", name: "transport", is: "the way between this page and the server" },
  { stage: "playout", name: "playout", is: "this page's buffer and the sound device" },
];

/**
 * Returns the stages that took time.
 * @param {{stages: Record<string, {ms: number, slack_ms: number}>} | null} trace
 * @returns {{stage: string, name: string, ms: number, slack_ms: number}[]}
 */
export function paid(trace) {
  return STAGES.filter(({ stage }) => trace?.stages?.[stage]?.ms > 0).map(({ stage, name }) => ({
    stage, name, ...trace.stages[stage],
  }));
}

const AGREE_MS = 100; // accepted difference between two measurements of the same latency

/**
 * Returns the stages so that they add up to the latency measured here. If the server's record lacks more than
  * `AGREE_MS`, the rest counts as transport, which the server cannot measure.
 * @param {object | null} trace
 * @param {number | null} latency_ms
 * @returns {{stage: string, name: string, ms: number, shown_ms: number}[]} `shown_ms`: its length as drawn
 */
export function accounted(trace, latency_ms) {
  const stages = paid(trace);
  const total = stages.reduce((sum, { ms }) => sum + ms, 0);
  const lacking = (latency_ms ?? total) - total;
  if (!stages.length || Math.abs(lacking) <= AGREE_MS) return stages.map((one) => ({ ...one, shown_ms: (one.ms * (total + lacking)) / total }));
  const ms = Object.fromEntries(stages.map((one) => [one.stage, one.ms]));
  if (lacking > 0) ms.transport = (ms.transport ?? 0) + lacking;
  return STAGES.filter(({ stage }) => ms[stage]).map(({ stage, name }) => ({ stage, name, ms: ms[stage], shown_ms: ms[stage] }));
}

/**
 * Returns the rows of a waterfall, relative to the last speech sample.
 * @param {object} trace the turn's record, docs/lab/trace-record.md
 * @returns {{name: string, stage: string, from_ms: number, to_ms: number, dropped: boolean, attempt: number}[]}
 *   sorted by attempt, then by start
 */
export function rows(trace) {
  const zero = trace.speech_end_ms ?? Math.min(...trace.spans.map((span) => span.start_ms));
  return trace.spans
    .map(({ name, stage, start_ms, end_ms, dropped, attempt }) => ({
      name, stage, dropped, attempt, from_ms: start_ms - zero, to_ms: end_ms - zero,
    }))
    .sort((a, b) => a.attempt - b.attempt || a.from_ms - b.from_ms || a.to_ms - b.to_ms);
}
