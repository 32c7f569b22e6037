/**
 * Maps the words of a reply as they were spoken to what is shown of it. Pure.
 *
 * What is shown has more than was spoken (code, tables, addresses), and some of it in another form. A shown unit is a
 * word, or a block that lights up as a whole. Each gets the number of the spoken word with which it is heard.
 */

const LOOK_AHEAD = 40; // shown units in which a spoken word is looked for: more than a sentence that was left out
const SENTENCE_END = /[.!?…。！？]\s*$/;
const LONG_WORD = 7; // letters of a word that is found without a look at the next one

/**
 * @typedef {object} Unit
 * @property {string} letters as `letters` returns them; "" for a block and for a word without letters
 * @property {boolean} block whether it was spoken in short form
 */

/** @param {string} text @returns {string} its letters and digits, in lower case */
export function letters(text) {
  return text.normalize("NFKC").toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");
}

/**
 * @param {Unit[]} units as shown
 * @param {string[]} words as spoken
 * @param {boolean} complete whether no more words follow
 * @returns {number[]} for each unit the number of the spoken word with which it is heard; Infinity if it was not spoken yet
 */
export function heardWith(units, words, complete) {
  const spoken = words.map(letters);
  const found = new Array(units.length).fill(null);
  let unit = 0; // the next unit that may match
  let inside = 0; // letters of it that have matched: a word that is shown in parts or was spoken in parts
  for (let n = 0; n < spoken.length; n++) {
    if (!spoken[n]) continue;
    const start = inside || matches(units, unit, 0, spoken[n]) ? { unit, inside } : null;
    const from = start && matches(units, start.unit, start.inside, spoken[n]) ? start : ahead(units, unit, spoken, n, complete);
    if (!from) continue;
    const end = matches(units, from.unit, from.inside, spoken[n]);
    for (let k = from.unit; k <= Math.min(end.unit, units.length - 1); k++) {
      if (units[k].letters && (k < end.unit || end.inside)) found[k] ??= n;
    }
    ({ unit, inside } = end);
  }
  const begins = words.map((_, n) => n > 0 && SENTENCE_END.test(words[n - 1]));
  return filled(units, found, begins, complete);
}

/** Returns where a spoken word ends that begins in a unit after some of its letters; null if it is not there. */
function matches(units, unit, inside, word) {
  let left = word;
  while (unit < units.length) {
    const own = units[unit].letters.slice(inside);
    if (!own) {
      if (units[unit].block) return null;
    } else if (own.length > left.length) return own.startsWith(left) ? { unit, inside: inside + left.length } : null;
    else if (!left.startsWith(own)) return null;
    else left = left.slice(own.length);
    unit++;
    inside = 0;
    if (!left) return { unit, inside: 0 };
  }
  return null;
}

/**
 * Looks for a spoken word further on. A short word counts only if the next one follows it. Behind a block the next two
 * have to follow: the sentence that was spoken in place of the block has words that the text behind it may have, too.
 */
function ahead(units, unit, spoken, n, complete) {
  let behindBlock = false;
  for (let k = unit; k < Math.min(units.length, unit + LOOK_AHEAD); k++) {
    behindBlock ||= units[k].block;
    if (!units[k].letters) continue;
    const end = matches(units, k, 0, spoken[n]);
    if (!end) continue;
    const found = behindBlock ? follow(units, end, spoken, n + 1, 2, complete) : spoken[n].length >= LONG_WORD || follow(units, end, spoken, n + 1, 1, true);
    if (found) return { unit: k, inside: 0 };
  }
  return null;
}

/** Whether the next `count` spoken words follow in the units. @param {boolean} enough whether fewer are, if no more were spoken */
function follow(units, end, spoken, from, count, enough) {
  let at = end;
  for (let n = from, left = count; left; n++) {
    if (n >= spoken.length) return enough;
    if (!spoken[n]) continue;
    at = matches(units, at.unit, at.inside, spoken[n]);
    if (!at) return false;
    left--;
  }
  return true;
}

/** Assigns the spoken words to the units that were not spoken as shown. */
function filled(units, found, begins, complete) {
  const out = new Array(units.length);
  let before = -1; // the spoken word of the last unit that has one
  let at = 0;
  while (at < units.length) {
    if (found[at] !== null) {
      out[at] = before = found[at++];
      continue;
    }
    let end = at;
    while (end < units.length && found[end] === null) end++;
    const last = end === units.length;
    const next = last ? begins.length : found[end];
    let behindBlock = false; // how many words its sentence has is not known
    for (let k = at, word = before + 1; k < end; k++) {
      if (behindBlock && units[k].block) { // it has a sentence of its own
        const sentence = begins.indexOf(true, word);
        if (sentence >= 0 && sentence < next) word = sentence;
      }
      if (last && !complete && behindBlock && units[k].letters) out[k] = Infinity;
      else if (word < next) out[k] = units[k].letters || units[k].block ? word++ : Math.max(before, 0);
      else if (!last || complete) out[k] = next > before + 1 ? next - 1 : Math.max(before, 0);
      else out[k] = units[k].letters || units[k].block ? Infinity : Math.max(before, 0);
      behindBlock ||= units[k].block;
    }
    at = end;
  }
  return out;
}
