/** Rates and lengths that both ends of the wire agree on. */

/** Samples per second on the wire, in both directions. */
export const WIRE_RATE_HZ = 24000;

/** Samples in one chunk of the microphone's sound: 20 ms. */
export const CHUNK_SAMPLES = 480;

/** The largest magnitude of an int16 sample, as the scale of ±1. */
export const FULL_SCALE = 32768;

/** What a level meter says of digital silence, dBFS. */
export const SILENCE_DBFS = -120;

/**
 * @param {number} samples at the wire's rate
 * @returns {number} ms
 */
export function msOfSamples(samples) {
  return (samples * 1000) / WIRE_RATE_HZ;
}

/**
 * @param {number} ms
 * @returns {number} samples at the wire's rate, whole
 */
export function samplesOfMs(ms) {
  return Math.round((ms * WIRE_RATE_HZ) / 1000);
}
