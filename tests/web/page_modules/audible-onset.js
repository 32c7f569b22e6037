import { AudibleOnsetDetector } from "/static/audio/audible-onset.js";

/** @param {number[][]} sounds int16 at 24 kHz, fed in uneven pieces @returns {(number | null)[]} their onsets */
export default (sounds) => sounds.map((sound) => {
  const detector = new AudibleOnsetDetector(24000);
  const pcm = Int16Array.from(sound);
  for (let at = 0, n = 1; at < pcm.length; at += n, n = (n * 5) % 611 + 1) detector.feed(pcm.subarray(at, at + n));
  return detector.onset;
});
