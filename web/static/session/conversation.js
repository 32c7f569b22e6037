/** The items of the conversation, built from the server's events and from what was played. Pure. */

import { splitWords, wordStarts } from "./word-timing.js";

/**
 * @typedef {object} Item
 * @property {string} id the server's id; empty for items of an earlier conversation
 * @property {"user" | "assistant" | "call"} role
 * @property {string} text
 * @property {string} markup a reply's text as the model wrote it, with its Markdown; empty where that is not known
 * @property {string | null} heard the part of it that was heard, of a reply that was stopped or is from a history
 * @property {string} unheard what was written after it and not heard
 * @property {boolean} earlier whether it is of another conversation, which has ended and is still shown
 * @property {boolean} inProgress whether more text may come
 * @property {boolean} speechStopped whether the speech is over and its transcript is still to come
 * @property {boolean} incomplete whether the conversation ended within it
 * @property {boolean} lowConfidence whether the recognizer has low confidence
 * @property {boolean} spoken whether it is audio; otherwise typed or only shown
 * @property {string} language code of the language of the words, where the conversation follows the user's; otherwise empty
 * @property {string} speaker label of who spoke: S1, S2, … or the name of an enrolled voice; empty if that is unknown
 * @property {string[]} words the words of an assistant's item
 * @property {number} played number of words that were played
 * @property {boolean} interrupted whether its remaining words will not be played
 * @property {boolean} cut whether it was stopped: what was written and not spoken yet will not be
 * @property {string} failure why its reply failed; "" if it did not
 * @property {string | null} response id of its reply
 * @property {import("./word-timing.js").WordTime[]} wordTimes
 * @property {number[]} starts_ms start times of its words, from the reply's first sample
 */

export class Conversation {
  constructor() {
    /** @type {Item[]} */
    this.items = [];
    /** @type {string[]} ids of all the server's items in their order, shown or not */
    this._order = [];
    /** @type {Set<Item>} items that changed or were removed since the set was last cleared */
    this.changed = new Set();
    /** Whether speech has to be addressed to the assistant: until its words arrive, it is not shown. */
    this.needsAddress = false;
    /** Whether the current speech may be meant for somebody else. */
    this.awaitsAddress = false;
  }

  /** @param {string} id @returns {Item | undefined} */
  item(id) {
    return this.items.find((one) => one.id === id);
  }

  /** @param {string} response @returns {Item | undefined} the item of a reply */
  replyItem(response) {
    return this.items.findLast((one) => one.response === response && one.role === "assistant");
  }

  /** Returns the ids of an item and of all that follow it, shown or not. @param {string} id @returns {string[]} */
  idsFrom(id) {
    const at = this._order.indexOf(id);
    const shown = this.items.slice(this.items.findIndex((one) => one.id === id)).map((one) => one.id);
    return [...new Set([...(at < 0 ? [] : this._order.slice(at)), ...shown])].filter(Boolean);
  }

  /** Notes the place of an item of the server. */
  order(id, previous) {
    this._order = this._order.filter((one) => one !== id);
    const after = this._order.indexOf(previous);
    this._order.splice(after < 0 ? this._order.length : after + 1, 0, id);
  }

  /** Handles a server event; events that do not concern items change nothing. */
  handleEvent(event) {
    EVENT_HANDLERS[event.type]?.(this, event);
  }

  /**
   * Notes how much of a reply has left the loudspeaker.
   * @param {string} response
   * @param {number} ms from its first sample
   */
  markPlayed(response, ms) {
    const item = this.replyItem(response);
    if (!item || item.interrupted) return;
    const played = item.starts_ms.findIndex((start) => start > ms);
    this._setPlayed(item, played < 0 ? item.words.length : played);
  }

  /** Notes that all of a reply was played. */
  markAllPlayed(response) {
    const item = this.replyItem(response);
    if (item && !item.interrupted) this._setPlayed(item, item.words.length);
  }

  /** Notes that a reply was stopped: its remaining words will not be played. */
  markInterrupted(response) {
    const item = this.replyItem(response);
    if (item) this._interrupt(item);
  }

  /**
   * Notes why a reply failed.
   * @returns {boolean} whether the reply has words, so that this is shown with them
   */
  markFailed(response, cause) {
    const item = this.replyItem(response);
    if (!item?.text) return false;
    item.failure = cause;
    this.changed.add(item);
    return true;
  }

  /** Removes the words of a stopped reply that were not heard: they follow as a reply of their own. */
  cutToHeard(item, markup) {
    const words = item.words.slice(0, item.played);
    if (words.length) this.setItem(item.id, { text: words.join(" "), words, markup, heard: markup, unheard: "" });
    else this.remove(item.id);
  }

  /** Ends the conversation: items in progress keep the words they have, and empty ones are removed. */
  end() {
    for (const item of [...this.items]) {
      if (!item.text && !item.unheard) this.remove(item.id);
      else if (item.response) this._interrupt(item);
      if (item.role === "user" && item.inProgress) item.incomplete = true;
      if (item.inProgress) this.changed.add(item);
      item.inProgress = false;
    }
  }

  /** Prepares for the history that is sent again after a reconnect: removes speech that is not in the history. */
  resumed() {
    this.removeSpeech(() => true);
  }

  /** Starts another conversation, which uses the same ids: earlier items stay unchanged above it. */
  startAnother() {
    this.end();
    this._order = [];
    for (const item of this.items) {
      Object.assign(item, { id: "", response: null });
      this.changed.add(item);
    }
  }

  /** Shows the items of a conversation that has ended above those of this one. @param {Item[]} items */
  showEarlier(items) {
    this.items.unshift(...items.map((item) => ({ ...item, id: "", response: null, earlier: true })));
    for (const item of this.items) this.changed.add(item);
  }

  /** Removes all items, because the server sends them again. */
  clear() {
    for (const item of this.items.filter(({ earlier }) => !earlier)) this.remove(item.id);
  }

  /** Whether the messages show who spoke. */
  get showsSpeakers() {
    return showsSpeakers(this.items);
  }

  /** Returns the item of this id, created if it is new, after writing `fields` into it. */
  setItem(id, fields) {
    let item = this.item(id);
    if (!item) {
      item = {
        id, role: "user", text: "", markup: "", heard: null, unheard: "", earlier: false, inProgress: false, speechStopped: false, incomplete: false, lowConfidence: false, spoken: true, speaker: "", language: "", words: [],
        played: 0, interrupted: false, cut: false, failure: "", response: null, wordTimes: [], starts_ms: [],
      };
      this.items.push(item);
    }
    Object.assign(item, fields);
    this.changed.add(item);
    return item;
  }

  remove(id) {
    this._order = this._order.filter((one) => one !== id);
    const at = this.items.findIndex((one) => one.id === id);
    if (at < 0) return;
    this.changed.add(...this.items.splice(at, 1));
  }

  /** Removes speech that is not in the history yet and for which `matches` returns true. */
  removeSpeech(matches) {
    for (const item of this.items.filter((one) => one.role === "user" && one.inProgress && matches(one))) this.remove(item.id);
  }

  /** Updates the words of a reply after its text or word times have changed. */
  updateWords(item) {
    item.words = splitWords(item.text);
    item.starts_ms = wordStarts(item.words, item.wordTimes);
    if (!item.spoken) item.played = item.words.length;
    this.changed.add(item);
  }

  _interrupt(item) {
    if (item.inProgress && !item.cut) {
      item.cut = true;
      this.changed.add(item);
    }
    if (item.interrupted || item.played === item.words.length) return;
    item.interrupted = true;
    item.inProgress = false;
    this.changed.add(item);
  }

  _setPlayed(item, played) {
    if (played <= item.played) return;
    item.played = played;
    this.changed.add(item);
  }
}

const PENDING = "pending"; // id of words that arrived before the event of their speech

const EVENT_HANDLERS = {
  "input_audio_buffer.speech_started": (conversation, { item_id }) => {
    const text = conversation.item(PENDING)?.text ?? "";
    conversation.remove(PENDING);
    conversation.awaitsAddress = conversation.needsAddress && !text;
    if (!conversation.awaitsAddress) conversation.setItem(item_id, { text, inProgress: true });
  },
  "repartee.partial": (conversation, { item_id, text, rough }) => {
    const item = conversation.item(item_id) ?? conversation.items.findLast((one) => one.role === "user" && one.inProgress);
    conversation.awaitsAddress &&= !text;
    if (!item || item.inProgress) conversation.setItem(item?.id ?? (conversation.needsAddress ? item_id : null) ?? PENDING, { text, lowConfidence: rough, inProgress: true });
  },
  "input_audio_buffer.speech_stopped": (conversation, { item_id }) => {
    if (conversation.item(item_id)?.inProgress) conversation.setItem(item_id, { speechStopped: true });
  },
  // Speech that is answered is in the history before its reply begins. Other speech that has stopped had no words.
  "response.created": (conversation) => conversation.removeSpeech(({ speechStopped }) => speechStopped),
  "input_audio_buffer.cleared": (conversation) => conversation.remove(PENDING),
  "repartee.nothing_said": (conversation, { item_id }) => {
    conversation.remove(PENDING);
    conversation.remove(item_id);
  },
  "conversation.item.added": (conversation, { item, previous_item_id }) => {
    addItem(conversation, item, previous_item_id);
    conversation.order(item.id, previous_item_id);
  },
  "conversation.item.input_audio_transcription.completed": (conversation, { item_id, transcript, repartee }) => {
    if (!transcript) return conversation.remove(item_id); // it was committed and has no words
    const { speaker = "", language = "" } = { ...conversation.item(item_id), ...repartee };
    conversation.setItem(item_id, { text: transcript, inProgress: false, speaker, language });
  },
  "conversation.item.input_audio_transcription.failed": (conversation, { item_id }) => {
    if (conversation.item(item_id)?.text) conversation.setItem(item_id, { inProgress: false });
    else conversation.remove(item_id);
  },
  "conversation.item.deleted": (conversation, { item_id }) => conversation.remove(item_id),
  "response.output_item.added": (conversation, { item, response_id }) => {
    // A new connection sends a reply in progress again from its beginning.
    const started = { text: "", markup: "", heard: null, unheard: "", wordTimes: [], inProgress: true, response: response_id };
    if (item.type === "message") conversation.setItem(item.id, { role: "assistant", ...started });
    else if (item.type === "function_call") conversation.setItem(item.id, { role: "call", text: item.name, inProgress: true });
  },
  "response.content_part.added": (conversation, { item_id, part }) => {
    conversation.setItem(item_id, { spoken: part.type.endsWith("audio") }); // "audio" in the API, "output_audio" in its items
  },
  "response.output_audio_transcript.delta": appendText,
  "response.output_text.delta": appendText,
  "repartee.markup": (conversation, { item_id, delta }) => {
    const item = conversation.item(item_id);
    if (item) conversation.setItem(item_id, { markup: item.markup + delta });
  },
  "repartee.heard": (conversation, { item_id, markup, unheard = "", continued = false }) => {
    const item = conversation.item(item_id);
    if (item && continued) conversation.cutToHeard(item, markup);
    else if (item) conversation.setItem(item_id, { heard: markup, unheard });
  },
  "repartee.words": (conversation, { item_id, words }) => {
    const item = conversation.item(item_id);
    if (!item) return;
    item.wordTimes.push(...words);
    conversation.updateWords(item);
  },
  "response.output_item.done": (conversation, { item }) => {
    if (item.type === "function_call" && conversation.item(item.id)) conversation.setItem(item.id, { text: item.name, inProgress: false });
  },
  "response.done": (conversation, { response }) => {
    const item = conversation.replyItem(response.id);
    if (item) conversation.setItem(item.id, { inProgress: false });
  },
  "conversation.item.truncated": (conversation, { item_id, audio_end_ms }) => {
    const item = conversation.item(item_id);
    if (!item?.response) return;
    conversation.markPlayed(item.response, audio_end_ms);
    conversation.markInterrupted(item.response);
  },
};

function appendText(conversation, { item_id, delta }) {
  const item = conversation.item(item_id);
  if (!item) return;
  item.text += delta;
  conversation.updateWords(item);
}

/**
 * @param {string} text the words that were heard
 * @param {string} markup the same with its Markdown, where that is known
 * @param {string} unheard what was written after it
 * @returns {Partial<Item>} the fields of a reply from a history
 */
export function pastReply(text, markup, unheard) {
  return { text, markup: unheard ? (markup || text) + unheard : markup, heard: markup, unheard, words: splitWords(text) };
}

/** Returns whether messages show who spoke: several people, or a voice with a name. @param {{speaker?: string}[]} messages */
export function showsSpeakers(messages) {
  const speakers = new Set(messages.map(({ speaker }) => speaker).filter(Boolean));
  return speakers.size > 1 || [...speakers].some((one) => !/^S\d+$/.test(one));
}

/** Adds an item of the history, which may have been shown while it grew. */
function addItem(conversation, item, previous) {
  const text = (item.content ?? []).map((part) => part.text ?? part.transcript ?? "").join(" ").trim();
  if (item.role === "user") {
    const typed = (item.content ?? []).every((part) => part.type === "input_text");
    conversation.remove(PENDING);
    const known = conversation.item(item.id);
    const inProgress = (item.content ?? []).some((part) => part.transcript === null); // its transcript follows
    conversation.setItem(item.id, { role: "user", spoken: known?.spoken ?? !typed, inProgress, speechStopped: false, text: text || known?.text || "", speaker: item.repartee?.speaker ?? known?.speaker ?? "", language: item.repartee?.language ?? known?.language ?? "" });
    if (!known) moveAfter(conversation, item.id, previous);
  } else if (item.role === "assistant") {
    if (!conversation.item(item.id)) {
      const { markup = "", unheard = "" } = item.repartee ?? {};
      const put = conversation.setItem(item.id, { role: "assistant", ...pastReply(text, markup, unheard) });
      put.played = put.words.length;
      put.interrupted = item.status === "incomplete";
    }
    moveAfter(conversation, item.id, previous); // to the place where its response began
  }
}

function moveAfter(conversation, id, previous) {
  const after = previous ? conversation.items.findIndex((one) => one.id === previous) : -1;
  const at = conversation.items.findIndex((one) => one.id === id);
  if (after < 0 || at === after + 1) return;
  const [item] = conversation.items.splice(at, 1);
  conversation.changed.add(item);
  conversation.items.splice(conversation.items.findIndex((one) => one.id === previous) + 1, 0, item);
}
