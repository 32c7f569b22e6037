/** Judges a microphone by its levels. */

import { text } from "../texts/texts.js";

// As in assistant/first_run/microphone.py, but for the peak of clipped sound.
export const SILENT_DBFS = -60;
export const QUIET_DBFS = -45;
const CLIPPED_PEAK = 0.99;
const CLIPPED_SHARE = 0.2; // of the windows with speech
const LASTS = 3; // windows, 150 ms

/** @param {Float32Array} samples @returns {{dbfs: number, peak: number}} level and highest sample */
export function levelOf(samples) {
  let sum = 0;
  let peak = 0;
  for (const sample of samples) {
    sum += sample * sample;
    peak = Math.max(peak, Math.abs(sample));
  }
  return { dbfs: 10 * Math.log10(sum / Math.max(1, samples.length)), peak };
}

/** @typedef {"silent" | "quiet" | "clipped" | "fine"} Verdict */

/**
 * A click, or the first moment of the browser's automatic gain control, does not decide: only what lasts counts.
 * @param {{dbfs: number, peak: number}[]} levels of consecutive windows of the sound
 * @returns {{verdict: Verdict, text: string}}
 */
export function judge(levels) {
  const sorted = levels.map(({ dbfs }) => dbfs).sort((a, b) => b - a);
  const loudest = sorted[Math.min(LASTS, sorted.length) - 1] ?? -Infinity;
  const loud = levels.filter(({ dbfs }) => dbfs > QUIET_DBFS).length;
  const clipped = levels.filter(({ peak }) => peak >= CLIPPED_PEAK).length;
  let verdict = "fine";
  if (!(loudest > SILENT_DBFS)) verdict = "silent";
  else if (clipped >= Math.max(LASTS, loud * CLIPPED_SHARE)) verdict = "clipped";
  else if (loudest < QUIET_DBFS) verdict = "quiet";
  return { verdict, text: text(`first.level_${verdict}`) };
}

/** @param {number} dbfs @returns {number} 0..1 from silence to full scale */
export function shareOf(dbfs) {
  return Math.max(0, Math.min(1, 1 - dbfs / SILENT_DBFS));
}

/** @param {DOMException} error of getUserMedia @returns {string} what is wrong, and the remedy */
export function refusalText(error) {
  switch (error.name) {
    case "NotAllowedError":
      return text("first.refused_denied");
    case "NotFoundError":
    case "OverconstrainedError":
      return text("first.refused_missing");
    case "NotReadableError":
      return text("first.refused_busy");
    default:
      return text("first.refused_other", { name: error.name });
  }
}
