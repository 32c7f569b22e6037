/** The wake phrase: which words are one, whether the user has to agree first, and when it is needed. Pure. */

export const DEFAULT_PHRASE = "hey computer";

const FORM = /^[\p{L}\p{N}][\p{L}\p{N}\p{M}'’-]*(?: [\p{L}\p{N}\p{M}'’-]+){0,4}$/u; // as the server checks it
const MAX_CHARS = 60;
const CALLED_WINDOW_S = 5; // after the phrase alone; at least this long

/** The wake phrase of a session, and up to when speech needs none. */
export class WakeMode {
  /** @param {() => number} now returns the time in s */
  constructor(now) {
    this._now = now;
    this._untilS = -Infinity;
    this._sent = this._wordSent = false;
    this._announcement = this._reply = null; // ids
    /** Words that address the assistant; empty: all speech is answered. */
    this.phrase = "";
    /** Name of a wake word that the server notices by its sound; empty: the phrase is recognized as words. */
    this.word = "";
    /** Names of the wake words that the server notices by their sound. */
    this.offered = [];
    /** Seconds after a reply in which speech needs no phrase. */
    this.windowS = 0;
  }

  /** The phrase that speech needs now; empty if it needs none. */
  get awaited() {
    return this._now() <= this._untilS ? "" : this.phrase;
  }

  /** Notes that a response says an announcement of another program: unless speech needs no phrase now, it opens no window. @param {string} id */
  announced(id) {
    this._announcement = this.awaited ? id : null;
  }

  /** Notes that a reply has begun or ended. @param {string | null} playing its id while it plays */
  replied(playing = null) {
    this._reply = playing ?? this._reply;
    if (this._announcement !== null && this._reply === this._announcement) return;
    this._untilS = this._now() + this.windowS;
  }

  /** Notes that the phrase was said alone, or the wake word was heard. */
  called() {
    this._untilS = this._now() + Math.max(this.windowS, CALLED_WINDOW_S);
  }

  /** Notes that a device in another room answers. */
  yielded() {
    this._untilS = -Infinity;
  }

  /** Returns the fields of a session.update. */
  fields() {
    const word = this.phrase && this.offered.includes(this.word) ? this.word : null; // without it, its words are recognized
    this._sent ||= this.phrase !== "";
    this._wordSent ||= word !== null;
    return {
      ...(this._sent && { wake_phrase: word ? null : this.phrase || null }),
      ...(this._wordSent && { wake_word: word }),
    };
  }
}

/** @param {string} word name of a wake word @returns {string} the word as it is said */
export function spokenWord(word) {
  return word.replaceAll("_", " ");
}

/** @param {string} text @returns {string | null} the phrase with single spaces; null if it is none */
export function wakePhrase(text) {
  const phrase = text.trim().split(/\s+/).join(" ");
  return phrase.length <= MAX_CHARS && FORM.test(phrase) ? phrase : null;
}

/**
 * Returns whether the user has to agree that all speech is sent: the server is not this machine.
 * @param {string} hostname of the page
 * @param {string} agreedTo host for which the user has agreed
 */
export function needsConsent(hostname, agreedTo) {
  return !["localhost", "127.0.0.1", "[::1]", "::1"].includes(hostname) && agreedTo !== hostname;
}
