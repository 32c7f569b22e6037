/** Sample rates and lengths of the wire format. */

/** Samples per second on the wire, in both directions. */
export const WIRE_RATE_HZ = 24000;

/** Samples in one chunk of the microphone's audio: 20 ms. */
export const CHUNK_SAMPLES = 480;

/** Scale between int16 samples and floats of ±1. */
export const FULL_SCALE = 32768;

/** Level that stands for digital silence, dBFS. */
export const SILENCE_DBFS = -120;

/**
 * @param {number} samples at the wire's sample rate
 * @returns {number} ms
 */
export function msOfSamples(samples) {
  return (samples * 1000) / WIRE_RATE_HZ;
}

/**
 * @param {number} ms
 * @returns {number} samples at the wire's sample rate, rounded
 */
export function samplesOfMs(ms) {
  return Math.round((ms * WIRE_RATE_HZ) / 1000);
}
