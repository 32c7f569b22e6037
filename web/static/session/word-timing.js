/** Computes when each word of a text is spoken, from the word times of the voice. Pure. */

const LOOK_AHEAD = 4; // words that the voice may have joined or omitted

/**
 * @typedef {object} WordTime
 * @property {string} text
 * @property {number} start_ms from the reply's first sample
 * @property {number} end_ms
 */

const NO_SPACES = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u; // scripts without spaces between words

/** @returns {string[]} the words of a text as shown, each with the space before it; text without spaces by a dictionary */
export function splitWords(text) {
  const words = text.match(/\s*\S+/g) ?? [];
  return NO_SPACES.test(text) && "Segmenter" in Intl ? words.flatMap(splitSegments) : words;
}

function splitSegments(text) {
  if (!NO_SPACES.test(text)) return [text];
  const parts = [];
  for (const { segment, isWordLike } of new Intl.Segmenter(undefined, { granularity: "word" }).segment(text)) {
    const joins = parts.length && (!isWordLike || !parts.at(-1).trim()); // punctuation stays with the word before it
    if (joins) parts[parts.length - 1] += segment;
    else parts.push(segment);
  }
  return parts;
}

/**
 * Returns when each word starts. A word without a time starts with the next word that has one.
 * @param {string[]} words as shown
 * @param {WordTime[]} times in order
 * @returns {number[]} ms; Infinity for words that are not synthesized yet
 */
export function wordStarts(words, times) {
  const starts = new Array(words.length).fill(null);
  let at = 0;
  for (const { text, start_ms, end_ms } of times) {
    const found = findWord(words, at, text);
    if (found < 0) continue;
    starts[found] = start_ms;
    at = found + 1;
    // A timed text without spaces is shown as several words, which share its time.
    const timed = normalized(text);
    let shared = normalized(words[found]);
    for (let word; (word = normalized(words[at] ?? "")) && timed.startsWith(shared + word); shared += word) {
      starts[at++] = start_ms + ((end_ms - start_ms) * shared.length) / timed.length;
    }
  }
  let next = Infinity;
  for (let n = starts.length - 1; n >= 0; n--) {
    // Words after the last one with a time are not known yet.
    next = starts[n] ?? next;
    starts[n] = next;
  }
  return starts;
}

function findWord(words, from, text) {
  const wanted = normalized(text);
  if (!wanted) return -1;
  for (let n = from; n < Math.min(words.length, from + LOOK_AHEAD); n++) {
    const word = normalized(words[n]);
    if (word === wanted || (word && (word.startsWith(wanted) || wanted.startsWith(word)))) return n;
  }
  // Written and spoken forms differ ("12:30", "half past twelve"): take the next word.
  return from < words.length ? from : -1;
}

function normalized(word) {
  return word.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");
}
