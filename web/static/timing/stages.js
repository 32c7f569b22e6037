/** The stages of the response latency: order, names on the page, and meaning. Pure. */

import { text } from "../texts/texts.js";

/** @type {{stage: string, name: string, meaning: string}[]} in the order of a turn */
export const STAGES = ["endpoint_wait", "stt", "queue", "llm_network", "llm_first_token", "first_sentence", "tts", "transport", "playout"].map(
  (stage) => ({ stage, name: text(`stage.${stage}`), meaning: text(`meaning.${stage}`) }),
);

/**
 * Returns a stage or span as people read it: "model 2" for "llm_first_token 2". Other names stay.
 * @param {string} name
 */
function shownName(name) {
  const [first, ...rest] = name.split(" ");
  return [STAGES.find(({ stage }) => stage === first)?.name ?? first, ...rest].join(" ");
}

/**
 * Returns the stages that took time.
 * @param {{stages: Record<string, {ms: number, slack_ms: number}>} | null} trace
 * @returns {{stage: string, name: string, ms: number, slack_ms: number}[]}
 */
export function nonzeroStages(trace) {
  return STAGES.filter(({ stage }) => trace?.stages?.[stage]?.ms > 0).map(({ stage, name }) => ({
    stage, name, ...trace.stages[stage],
  }));
}

const TOLERANCE_MS = 100; // accepted difference between two measurements of the same latency

/**
 * Returns the stages so that they add up to the latency measured here. If the server's record is shorter by more than
 * `TOLERANCE_MS`, the rest counts as transport, which the server cannot measure.
 * @param {object | null} trace
 * @param {number | null} latency_ms
 * @returns {{stage: string, name: string, ms: number, shown_ms: number}[]} `shown_ms`: its length as drawn
 */
export function stagesOfLatency(trace, latency_ms) {
  const stages = nonzeroStages(trace);
  const total = stages.reduce((sum, { ms }) => sum + ms, 0);
  const missing = (latency_ms ?? total) - total;
  if (!stages.length || Math.abs(missing) <= TOLERANCE_MS) return stages.map((one) => ({ ...one, shown_ms: (one.ms * (total + missing)) / total }));
  const ms = Object.fromEntries(stages.map((one) => [one.stage, one.ms]));
  if (missing > 0) ms.transport = (ms.transport ?? 0) + missing;
  return STAGES.filter(({ stage }) => ms[stage]).map(({ stage, name }) => ({ stage, name, ms: ms[stage], shown_ms: ms[stage] }));
}

/**
 * Returns the rows of a waterfall, relative to the last speech sample.
 * @param {object} trace the turn's record, docs/lab/trace-record.md
 * @returns {{name: string, stage: string, from_ms: number, to_ms: number, dropped: boolean, attempt: number}[]}
 *   sorted by attempt, then by start
 */
export function waterfallRows(trace) {
  const zero = trace.speech_end_ms ?? Math.min(...trace.spans.map((span) => span.start_ms));
  return trace.spans
    .map(({ name, stage, start_ms, end_ms, dropped, attempt }) => ({
      name: shownName(name), stage, dropped, attempt, from_ms: start_ms - zero, to_ms: end_ms - zero,
    }))
    .sort((a, b) => a.attempt - b.attempt || a.from_ms - b.from_ms || a.to_ms - b.to_ms);
}
