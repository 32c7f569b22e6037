/** Percentiles and the band that is promised. Pure. */

/** Response latencies, ms: sooner sounds like an interruption, later like a wait. */
export const BAND_MS = [200, 500];

/**
 * @param {number[]} values at least one
 * @param {number} percent
 * @returns {number} the smallest value that at least that many do not exceed
 */
export function nearestRank(values, percent) {
  const ordered = [...values].sort((a, b) => a - b);
  return ordered[Math.max(0, Math.ceil((ordered.length * percent) / 100) - 1)];
}

/**
 * @param {{failed: boolean, latency_ms: number | null}} turn
 * @returns {"failed" | "untimed" | "sooner" | "within" | "later"}
 */
export function verdictOn({ failed, latency_ms }) {
  if (failed) return "failed";
  return latency_ms === null ? "untimed" : verdict(latency_ms);
}

/**
 * @param {number} ms
 * @returns {"sooner" | "within" | "later"} against the band
 */
export function verdict(ms) {
  if (ms < BAND_MS[0]) return "sooner";
  return ms <= BAND_MS[1] ? "within" : "later";
}
