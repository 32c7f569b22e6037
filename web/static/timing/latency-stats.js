/** Percentiles and the target band of the response latency. Pure. */

import { text } from "../texts/texts.js";

/** Target band of the response latency, ms. Below it, a reply seems to interrupt; above it, the wait is noticeable. */
export const BAND_MS = [200, 500];

/** How a latency compares with the band, in words. */
export const BAND_TEXTS = { sooner: text("latency.sooner"), within: text("latency.within"), later: text("latency.later") };

/**
 * @param {number[]} values at least one of them
 * @param {number} percent
 * @returns {number} the smallest value that at least this percentage of the values does not exceed
 */
export function nearestRankPercentile(values, percent) {
  const ordered = [...values].sort((a, b) => a - b);
  return ordered[Math.max(0, Math.ceil((ordered.length * percent) / 100) - 1)];
}

/**
 * @param {{failed: boolean, latency_ms: number | null, typed_ms?: number | null}} turn
 * @returns {"failed" | "typed" | "untimed" | "sooner" | "within" | "later"}
 */
export function turnRating({ failed, latency_ms, typed_ms = null }) {
  if (failed) return "failed";
  if (latency_ms === null && typed_ms !== null) return "typed";
  return latency_ms === null ? "untimed" : rateLatency(latency_ms);
}

/**
 * @param {number} ms
 * @returns {"sooner" | "within" | "later"} than or within the band
 */
export function rateLatency(ms) {
  if (ms < BAND_MS[0]) return "sooner";
  return ms <= BAND_MS[1] ? "within" : "later";
}
