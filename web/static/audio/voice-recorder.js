/** Records the microphone for some seconds, apart from any conversation. */

import { MicrophoneInput } from "./microphone-input.js";
import { msOfSamples } from "./units.js";

const LAST_BLOCK_MS = 200; // as in audio-io.js

/**
 * @param {import("./microphone-input.js").MicrophoneSettings} settings
 * @param {number} lengthMs
 * @param {AbortSignal} signal ends the recording
 * @param {(progress: {doneMs: number, level: number}) => void} onProgress `level`: dBFS
 * @returns {Promise<Int16Array>} at the wire's sample rate
 * @throws {DOMException} AbortError, or why the microphone cannot be used
 */
export async function recordVoice(settings, lengthMs, signal, onProgress) {
  const context = new AudioContext();
  let input = null;
  try {
    await context.audioWorklet.addModule(new URL("capture-worklet.js", import.meta.url));
    input = new MicrophoneInput(context);
    const recording = record(input, lengthMs, signal, onProgress);
    await Promise.race([input.open(settings), recording]);
    return await recording;
  } finally {
    input?.end();
    setTimeout(() => context.close(), LAST_BLOCK_MS);
  }
}

function record(input, lengthMs, signal, onProgress) {
  const chunks = [];
  let samples = 0;
  return new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    if (signal.aborted) reject(signal.reason);
    input.addEventListener("lost", () => reject(new DOMException("", "NotReadableError")));
    input.addEventListener("chunk", ({ detail: { pcm, level } }) => {
      if (msOfSamples(samples) >= lengthMs) return;
      chunks.push(pcm);
      samples += pcm.length;
      onProgress({ doneMs: msOfSamples(samples), level });
      if (msOfSamples(samples) >= lengthMs) resolve(joined(chunks, samples));
    });
  });
}

function joined(chunks, samples) {
  const pcm = new Int16Array(samples);
  let at = 0;
  for (const chunk of chunks) {
    pcm.set(chunk, at);
    at += chunk.length;
  }
  return pcm;
}
