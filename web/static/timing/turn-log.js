/** Records the turns of this page and the response latency of each. Pure: times are passed in. */

import { nearestRankPercentile, rateLatency } from "./latency-stats.js";
import { measureLatency } from "./response-latency.js";

const RESPONSE_ID = /^resp_(?:[0-9a-f]{8}_)?(\d+)_\d+$/;
const MAX_TURNS = 1000;

/** Outcomes of turns that got no answer. */
const FAILED_OUTCOMES = new Set(["failed", "stuck"]);

/**
 * @typedef {object} Turn
 * @property {number} number on this page, from 1
 * @property {number | null} turn the server's number
 * @property {string} response id of the reply
 * @property {number | null} speech_end_ms end of speech on the server's sample clock; null: not a spoken turn
 * @property {number | null} inserted_ms silence that the server inserted before it
 * @property {number | null} captured_s context time at which the end of speech was captured
 * @property {number | null} released_s context time at which the push-to-talk key was released; the latency counts from there
 * @property {number | null} typed_s context time at which the text that it answers was entered; null: not a typed turn
 * @property {number | null} leaves_s context time at which the first audible sample of the reply left the loudspeaker
 * @property {number | null} latency_ms the difference: the response latency measured here
 * @property {number | null} typed_ms from Enter to the first audible sample, for a typed turn; never counted with the latencies
 * @property {number | null} speech_latency_ms the same from the end of speech, for the server
 * @property {number | null} device_ms the part of it spent in this page's buffer and the device
 * @property {object | null} trace the server's record
 * @property {boolean} failed whether it failed: its latency is shown but not counted
 */

export class TurnLog {
  constructor() {
    /** @type {Turn[]} */
    this.all = [];
    this._speechEndMs = null;
    this._insertedMs = null;
    this._releasedS = null;
    this._typedS = null;
  }

  /**
   * Notes the end of speech.
   * @param {number} endMs on the server's sample clock
   * @param {number} insertedMs silence that the server inserted before it
   * @param {number | null} releasedS context time at which the push-to-talk key was released, if it ended the turn
   */
  speechEnded(endMs, insertedMs, releasedS = null) {
    this._speechEndMs = endMs;
    this._insertedMs = insertedMs;
    this._releasedS = releasedS;
    this._typedS = null;
  }

  /**
   * Notes that the next reply does not answer speech, so it has no latency.
   * @param {number | null} typedS context time at which the text that it answers was entered, if any
   */
  expectUntimedReply(typedS = null) {
    this._speechEndMs = null;
    this._typedS = typedS;
  }

  /**
   * Adds the turn of a reply that begins. A second attempt of a turn replaces the first.
   * @param {string} response
   * @returns {Turn}
   */
  addReply(response) {
    const number = Number(RESPONSE_ID.exec(response)?.[1] ?? NaN) || null;
    const last = this.all.at(-1);
    if (last?.response === response && last.turn === number) return last;
    if (last && number !== null && last.turn === number && last.trace === null) this.all.pop();
    const turn = {
      number: (this.all.at(-1)?.number ?? 0) + 1, turn: number, response, speech_end_ms: this._speechEndMs,
      inserted_ms: this._speechEndMs === null ? null : this._insertedMs,
      captured_s: null, released_s: this._speechEndMs === null ? null : this._releasedS, typed_s: this._typedS, leaves_s: null,
      latency_ms: null, typed_ms: null, speech_latency_ms: null, device_ms: null, trace: null, failed: false,
    };
    this._speechEndMs = this._typedS = null;
    this.all.push(turn);
    if (this.all.length > MAX_TURNS) this.all.shift();
    return turn;
  }

  /** @returns {Turn | undefined} */
  ofReply(response) {
    return this.all.findLast((turn) => turn.response === response);
  }

  /**
   * Notes when the first audible sample left the loudspeaker.
   * @param {Turn} turn
   * @param {number} leavesS context time
   * @param {number} deviceMs
   */
  setReplyOnset(turn, leavesS, deviceMs) {
    turn.leaves_s = leavesS;
    turn.device_ms = deviceMs;
    measureLatency(turn);
  }

  /**
   * Notes when the end of speech was captured.
   * @param {Turn} turn
   * @param {number} capturedS context time
   */
  setSpeechEnd(turn, capturedS) {
    turn.captured_s = capturedS;
    measureLatency(turn);
  }

  /**
   * @param {number} number the server's turn number
   * @param {object} trace
   * @returns {Turn | undefined} the turn it belongs to
   */
  addTrace(number, trace) {
    const turn = this.all.findLast((one) => one.turn === number && one.trace === null);
    if (turn) turn.trace = trace;
    if (turn && (trace.error || FAILED_OUTCOMES.has(trace.outcome))) turn.failed = true;
    return turn;
  }

  /**
   * Notes that the server could not generate the reply, or not all of it.
   * @param {string} response
   * @returns {Turn | undefined} the turn it belongs to
   */
  markFailed(response) {
    const turn = this.ofReply(response);
    if (turn) turn.failed = true;
    return turn;
  }

  /** Starts a new conversation: the server counts turns from 1 again, and turns without a trace get none. */
  startConversation() {
    for (const turn of this.all) turn.turn = null;
    this._speechEndMs = this._typedS = null;
  }

  /** @returns {number} of turns that failed */
  get failedCount() {
    return this.all.filter((turn) => turn.failed).length;
  }

  /** @returns {{count: number, p50_ms: number, p95_ms: number, within: number} | null} null before the first latency;
   *   failed turns do not count */
  get summary() {
    const values = this.all.filter((turn) => !turn.failed && turn.latency_ms !== null).map((turn) => turn.latency_ms);
    if (!values.length) return null;
    return {
      count: values.length,
      p50_ms: nearestRankPercentile(values, 50),
      p95_ms: nearestRankPercentile(values, 95),
      within: values.filter((ms) => rateLatency(ms) === "within").length,
    };
  }
}

/**
 * Builds the record that can be copied and downloaded.
 * @param {Turn} turn
 * @param {object} page facts about this page: context rate, browser ...
 */
export function turnRecord(turn, page) {
  const { trace, ...measured } = turn;
  return { page: { ...measured, ...page }, trace };
}
