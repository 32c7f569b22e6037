/**
 * Computes the latencies of a turn as the user of this page hears it. Pure: times are passed in.
 *
 * All times are of the audio context, in seconds. session/realtime-session.js notes the end of the user's speech,
 * session/reply-playback.js the first audible sample of the reply (audio/audible-onset.js); turn-log.js keeps both.
 */

/**
 * Sets the latencies of a turn, in ms; null until both of its times are known.
 *
 * - speech_latency_ms: from the end of the user's speech
 * - latency_ms: the same, or from the release of the push-to-talk key
 * - typed_ms: from the sending of typed text
 * @param {import("./turn-log.js").Turn} turn
 */
export function measureLatency(turn) {
  turn.speech_latency_ms = milliseconds(turn.captured_s, turn.leaves_s);
  turn.latency_ms = turn.speech_latency_ms === null ? null : milliseconds(turn.released_s ?? turn.captured_s, turn.leaves_s);
  turn.typed_ms = milliseconds(turn.typed_s, turn.leaves_s);
}

/**
 * @param {number | null} fromS
 * @param {number | null} untilS
 * @returns {number | null}
 */
function milliseconds(fromS, untilS) {
  if (fromS === null || untilS === null) return null;
  return Math.round((untilS - fromS) * 1e6) / 1000;
}
