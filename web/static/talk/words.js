/** Which words of a text have been heard, from where the voice says they lie. Pure. */

const LOOK_AHEAD = 4; // words that the voice may have run together or left out

/**
 * @typedef {object} Placed
 * @property {string} text
 * @property {number} start_ms from the reply's first sample
 * @property {number} end_ms
 */

/** @returns {string[]} the words of a text as they are shown, each with the space before it */
export function wordsOf(text) {
  return text.match(/\s*\S+/g) ?? [];
}

/**
 * When each word begins to sound. Words that the voice did not name begin with the next one it did.
 * @param {string[]} shown
 * @param {Placed[]} placed in order
 * @returns {number[]} ms; Infinity where the voice has not come that far
 */
export function startsOf(shown, placed) {
  const starts = new Array(shown.length).fill(null);
  let at = 0;
  for (const { text, start_ms } of placed) {
    const found = find(shown, at, text);
    if (found < 0) continue;
    starts[found] = start_ms;
    at = found + 1;
  }
  let next = Infinity;
  for (let n = starts.length - 1; n >= 0; n--) {
    // After the last named word nothing is known: an unnamed tail belongs to it once all are placed.
    next = starts[n] ?? next;
    starts[n] = next;
  }
  return starts;
}

function find(shown, from, text) {
  const wanted = plain(text);
  if (!wanted) return -1;
  for (let n = from; n < Math.min(shown.length, from + LOOK_AHEAD); n++) {
    const word = plain(shown[n]);
    if (word === wanted || (word && (word.startsWith(wanted) || wanted.startsWith(word)))) return n;
  }
  // Written one way and said another ("12:30", "half past twelve"): the next word it is.
  return from < shown.length ? from : -1;
}

function plain(word) {
  return word.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");
}
