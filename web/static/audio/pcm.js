/** Converts samples between floats of ±1, int16, and base64 of little-endian int16. Pure. */

import { FULL_SCALE, SILENCE_DBFS } from "./units.js";

const BLOCK = 8192; // arguments of one String.fromCharCode call, which engines limit

/**
 * @param {Float32Array} samples full scale ±1
 * @returns {Int16Array} rounded and clipped
 */
export function toInt16(samples) {
  const pcm = new Int16Array(samples.length);
  for (let n = 0; n < samples.length; n++) {
    pcm[n] = Math.max(-FULL_SCALE, Math.min(FULL_SCALE - 1, Math.round(samples[n] * FULL_SCALE)));
  }
  return pcm;
}

/**
 * @param {Int16Array} pcm
 * @returns {string} base64 of its bytes, little-endian
 */
export function toBase64(pcm) {
  const bytes = new Uint8Array(pcm.length * 2);
  const view = new DataView(bytes.buffer);
  pcm.forEach((sample, n) => view.setInt16(2 * n, sample, true));
  let text = "";
  for (let at = 0; at < bytes.length; at += BLOCK) {
    text += String.fromCharCode(...bytes.subarray(at, at + BLOCK));
  }
  return btoa(text);
}

/**
 * @param {string} text base64 of little-endian int16
 * @returns {Int16Array}
 * @throws {RangeError} for an odd number of bytes
 */
export function fromBase64(text) {
  const raw = atob(text);
  if (raw.length % 2) throw new RangeError(`${raw.length} bytes of audio: int16 needs an even number`);
  const pcm = new Int16Array(raw.length / 2);
  for (let n = 0; n < pcm.length; n++) {
    pcm[n] = raw.charCodeAt(2 * n) | (raw.charCodeAt(2 * n + 1) << 8);
  }
  return pcm;
}

/**
 * @param {Float32Array} samples full scale ±1
 * @returns {number} RMS in dBFS
 */
export function levelDbfs(samples) {
  let energy = 0;
  for (let n = 0; n < samples.length; n++) energy += samples[n] * samples[n];
  if (!energy) return SILENCE_DBFS;
  return Math.max(SILENCE_DBFS, 10 * Math.log10(energy / samples.length));
}
