/**
 * Computes the response latency of a turn as the user of this page hears it. Pure: times are passed in.
 *
 * session/realtime-session.js has the time of the last speech sample, session/reply-playback.js that of the first audible
 * sample (audio/audible-onset.js); turn-log.js keeps both.
 */

/**
 * @param {number | null} capturedS context time at which the end of the user's speech was captured
 * @param {number | null} leavesS context time at which the first audible sample of the reply leaves the loudspeaker
 * @returns {number | null} response latency, ms; null until both times are known
 */
export function computeLatency(capturedS, leavesS) {
  if (capturedS === null || leavesS === null) return null;
  return Math.round((leavesS - capturedS) * 1e6) / 1000;
}
