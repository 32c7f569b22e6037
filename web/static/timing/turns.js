/** The turns of this page and the response latency of each. Pure: times come in. */

import { nearestRank, verdict } from "./stats.js";

const TURN_OF = /^resp_(\d+)_\d+$/;
const MOST_TURNS = 1000;

/** Outcomes of turns that got no answer. */
const FAILED = new Set(["failed", "stuck"]);

/**
 * @typedef {object} Turn
 * @property {number} number on this page, from 1
 * @property {number | null} turn the server's number
 * @property {string} response the reply
 * @property {number | null} speech_end_ms on the server's line; null: typed, or not asked by voice
 * @property {number | null} invented_ms silence the server put in before that
 * @property {number | null} captured_s context time at which that sample was captured
 * @property {number | null} leaves_s context time at which the first audible sample of the reply left
 * @property {number | null} latency_ms their difference, measured here
 * @property {number | null} device_ms what of it was spent in this page's buffer and the device
 * @property {object | null} trace the server's record
 * @property {boolean} failed something went wrong in it: its latency is shown and not counted
 */

export class Turns {
  constructor() {
    /** @type {Turn[]} */
    this.all = [];
    this._speechEndMs = null;
    this._inventedMs = null;
  }

  /**
   * Speech was over.
   * @param {number} lineMs on the server's line
   * @param {number} inventedMs silence that the server put in before that
   */
  speechEnded(lineMs, inventedMs) {
    this._speechEndMs = lineMs;
    this._inventedMs = inventedMs;
  }

  /** Words were typed, or a reply was asked for: what comes answers no voice. */
  asked() {
    this._speechEndMs = null;
  }

  /**
   * A reply begins. A second attempt of the same turn takes the place of the first.
   * @param {string} response
   * @returns {Turn}
   */
  replied(response) {
    const number = Number(TURN_OF.exec(response)?.[1] ?? NaN) || null;
    const last = this.all.at(-1);
    if (last?.response === response && last.turn === number) return last;
    if (last && number !== null && last.turn === number && last.trace === null) this.all.pop();
    const turn = {
      number: (this.all.at(-1)?.number ?? 0) + 1, turn: number, response, speech_end_ms: this._speechEndMs,
      invented_ms: this._speechEndMs === null ? null : this._inventedMs,
      captured_s: null, leaves_s: null, latency_ms: null, device_ms: null, trace: null, failed: false,
    };
    this._speechEndMs = null;
    this.all.push(turn);
    if (this.all.length > MOST_TURNS) this.all.shift();
    return turn;
  }

  /** @returns {Turn | undefined} */
  of(response) {
    return this.all.findLast((turn) => turn.response === response);
  }

  /**
   * The first audible sample left.
   * @param {Turn} turn
   * @param {number} leavesS context time
   * @param {number} deviceMs
   */
  audible(turn, leavesS, deviceMs) {
    turn.leaves_s = leavesS;
    turn.device_ms = deviceMs;
    count(turn);
  }

  /**
   * When the end of speech was captured is known.
   * @param {Turn} turn
   * @param {number} capturedS context time
   */
  captured(turn, capturedS) {
    turn.captured_s = capturedS;
    count(turn);
  }

  /**
   * @param {number} number the server's
   * @param {object} trace
   * @returns {Turn | undefined} whose it is
   */
  traced(number, trace) {
    const turn = this.all.findLast((one) => one.turn === number && one.trace === null);
    if (turn) turn.trace = trace;
    if (turn && (trace.error || FAILED.has(trace.outcome))) turn.failed = true;
    return turn;
  }

  /**
   * The server could not make the reply, or not all of it.
   * @param {string} response
   * @returns {Turn | undefined} whose it is
   */
  replyFailed(response) {
    const turn = this.of(response);
    if (turn) turn.failed = true;
    return turn;
  }

  /** A new conversation: the server counts from 1 again, and what is open here gets no trace any more. */
  forget() {
    for (const turn of this.all) turn.turn = null;
    this._speechEndMs = null;
  }

  /** @returns {{count: number, p50_ms: number, p95_ms: number, within: number} | null} null before the first latency;
   *    turns that failed do not count */
  get summary() {
    const values = this.all.filter((turn) => !turn.failed && turn.latency_ms !== null).map((turn) => turn.latency_ms);
    if (!values.length) return null;
    return {
      count: values.length,
      p50_ms: nearestRank(values, 50),
      p95_ms: nearestRank(values, 95),
      within: values.filter((ms) => verdict(ms) === "within").length,
    };
  }
}

/**
 * What is copied and downloaded.
 * @param {Turn} turn
 * @param {object} page facts about this page: context rate, browser ...
 */
export function record(turn, page) {
  const { trace, ...measured } = turn;
  return { page: { ...measured, ...page }, trace };
}

function count(turn) {
  if (turn.captured_s !== null && turn.leaves_s !== null) {
    turn.latency_ms = Math.round((turn.leaves_s - turn.captured_s) * 1e6) / 1000;
  }
}
