/** The items of the conversation, built from the server's events and from what was played. Pure. */

import { startsOf, wordsOf } from "./words.js";

/**
 * @typedef {object} Item
 * @property {string} id the server's id; empty once the server has forgotten it
 * @property {"user" | "assistant" | "call"} role
 * @property {string} text
 * @property {boolean} partial whether more text may come
  * @property {boolean} stopped whether the speech is over and its transcript is still to come
  * @property {boolean} unfinished whether the conversation ended within it
  * @property {boolean} rough whether the recognizer has low confidence
  * @property {boolean} spoken whether it is audio; otherwise typed or only shown
  * @property {string[]} words the words of an assistant's item
  * @property {number} heard number of words that were heard
  * @property {boolean} cut whether it was interrupted: the words after `heard` were not heard
  * @property {string | null} response id of its reply
 * @property {import("./words.js").Placed[]} placed
 * @property {number[]} starts_ms start times of its words, from the reply's first sample
 */

export class Conversation {
  constructor() {
    /** @type {Item[]} */
    this.items = [];
    /** @type {Set<Item>} items that changed or were removed since the set was last cleared */
    this.changed = new Set();
  }

  /** @param {string} id @returns {Item | undefined} */
  item(id) {
    return this.items.find((one) => one.id === id);
  }

  /** @param {string} response @returns {Item | undefined} the item of a reply */
  replyItem(response) {
    return this.items.findLast((one) => one.response === response && one.role === "assistant");
  }

  /** Handles a server event; events that do not concern items change nothing. */
  tell(event) {
    HEARD[event.type]?.(this, event);
  }

  /**
   * Notes how much of a reply has left the loudspeaker.
   * @param {string} response
   * @param {number} ms from its first sample
   */
  heard(response, ms) {
    const item = this.replyItem(response);
    if (!item || item.cut) return;
    const heard = item.starts_ms.findIndex((start) => start > ms);
    this._hear(item, heard < 0 ? item.words.length : heard);
  }

  /** Notes that all of a reply was played. */
  heardAll(response) {
    const item = this.replyItem(response);
    if (item && !item.cut) this._hear(item, item.words.length);
  }

  /** Notes that a reply was stopped: its remaining words will not be heard. */
  cut(response) {
    const item = this.replyItem(response);
    if (item) this._cut(item);
  }

  /** Ends the conversation: unfinished items keep the words they have, and empty ones are removed. */
  end() {
    for (const item of [...this.items]) {
      if (!item.text) this.drop(item.id);
      else if (item.response) this._cut(item);
      if (item.role === "user" && item.partial) item.unfinished = true;
      if (item.partial) this.changed.add(item);
      item.partial = false;
    }
  }

  /** Prepares for the history that is sent again after a reconnect: removes speech that is in no history. */
  resumed() {
    this._dropSpeech(() => true);
  }

  /** Starts another conversation, which uses the same ids: earlier items stay unchanged above it. */
  forget() {
    this.end();
    for (const item of this.items) {
      Object.assign(item, { id: "", response: null });
      this.changed.add(item);
    }
  }

  /** Returns the item of this id, created if it is new, after writing `fields` into it. */
  put(id, fields) {
    let item = this.item(id);
    if (!item) {
      item = {
        id, role: "user", text: "", partial: false, stopped: false, unfinished: false, rough: false, spoken: true, words: [], heard: 0, cut: false,
        response: null, placed: [], starts_ms: [],
      };
      this.items.push(item);
    }
    Object.assign(item, fields);
    this.changed.add(item);
    return item;
  }

  drop(id) {
    const at = this.items.findIndex((one) => one.id === id);
    if (at < 0) return;
    this.changed.add(...this.items.splice(at, 1));
  }

  /** Removes speech that is in no history yet and matches. */
  _dropSpeech(isMeant) {
    for (const item of this.items.filter((one) => one.role === "user" && one.partial && isMeant(one))) this.drop(item.id);
  }

  _cut(item) {
    if (item.cut || item.heard === item.words.length) return;
    item.cut = true;
    item.partial = false;
    this.changed.add(item);
  }

  _hear(item, heard) {
    if (heard <= item.heard) return;
    item.heard = heard;
    this.changed.add(item);
  }

  /** Updates the words of a reply after its text or word times have changed. */
  place(item) {
    item.words = wordsOf(item.text);
    item.starts_ms = startsOf(item.words, item.placed);
    if (!item.spoken) item.heard = item.words.length;
    this.changed.add(item);
  }
}

const PENDING = "pending"; // words that arrived before the event of their speech

const HEARD = {
  "input_audio_buffer.speech_started": (talk, { item_id }) => {
    const text = talk.item(PENDING)?.text ?? "";
    talk.drop(PENDING);
    talk.put(item_id, { text, partial: true });
  },
  "repartee.partial": (talk, { item_id, text, rough }) => {
    const item = talk.item(item_id) ?? talk.items.findLast((one) => one.role === "user" && one.partial);
    if (!item || item.partial) talk.put(item?.id ?? PENDING, { text, rough, partial: true });
  },
  "input_audio_buffer.speech_stopped": (talk, { item_id }) => {
    if (talk.item(item_id)?.partial) talk.put(item_id, { stopped: true });
  },
  // Speech that is answered is in the history before its reply begins. Other finished speech had no words.
  "response.created": (talk) => talk._dropSpeech(({ stopped }) => stopped),
  "input_audio_buffer.cleared": (talk) => talk.drop(PENDING),
  "repartee.nothing_said": (talk, { item_id }) => {
    talk.drop(PENDING);
    talk.drop(item_id);
  },
  "conversation.item.added": (talk, { item, previous_item_id }) => added(talk, item, previous_item_id),
  "conversation.item.input_audio_transcription.completed": (talk, { item_id, transcript }) => {
    if (!transcript) return talk.drop(item_id); // it was committed and has no words
    talk.put(item_id, { text: transcript, partial: false });
  },
  "conversation.item.input_audio_transcription.failed": (talk, { item_id }) => {
    if (talk.item(item_id)?.text) talk.put(item_id, { partial: false });
    else talk.drop(item_id);
  },
  "conversation.item.deleted": (talk, { item_id }) => talk.drop(item_id),
  "response.output_item.added": (talk, { item, response_id }) => {
    // A new connection sends a reply in progress again from its beginning.
    if (item.type === "message") talk.put(item.id, { role: "assistant", text: "", placed: [], partial: true, response: response_id });
    else if (item.type === "function_call") talk.put(item.id, { role: "call", text: item.name, partial: true });
  },
  "response.content_part.added": (talk, { item_id, part }) => {
    talk.put(item_id, { spoken: part.type.endsWith("audio") }); // "audio" in the API, "output_audio" in its items
  },
  "response.output_audio_transcript.delta": spoken,
  "response.output_text.delta": spoken,
  "repartee.words": (talk, { item_id, words }) => {
    const item = talk.item(item_id);
    if (!item) return;
    item.placed.push(...words);
    talk.place(item);
  },
  "response.output_item.done": (talk, { item }) => {
    if (item.type === "function_call" && talk.item(item.id)) talk.put(item.id, { text: item.name, partial: false });
  },
  "response.done": (talk, { response }) => {
    const item = talk.replyItem(response.id);
    if (item) talk.put(item.id, { partial: false });
  },
  "conversation.item.truncated": (talk, { item_id, audio_end_ms }) => {
    const item = talk.item(item_id);
    if (!item?.response) return;
    talk.heard(item.response, audio_end_ms);
    talk.cut(item.response);
  },
};

function spoken(talk, { item_id, delta }) {
  const item = talk.item(item_id);
  if (!item) return;
  item.text += delta;
  talk.place(item);
}

/** Adds an item of the history, which may have been shown while it grew. */
function added(talk, item, previous) {
  const text = (item.content ?? []).map((part) => part.text ?? part.transcript ?? "").join(" ").trim();
  if (item.role === "user") {
    const typed = (item.content ?? []).every((part) => part.type === "input_text");
    talk.drop(PENDING);
    const known = talk.item(item.id);
    const partial = (item.content ?? []).some((part) => part.transcript === null); // its transcript follows
    talk.put(item.id, { role: "user", spoken: !typed, partial, stopped: false, text: text || known?.text || "" });
    if (!known) move(talk, item.id, previous);
  } else if (item.role === "assistant") {
    if (!talk.item(item.id)) {
      const put = talk.put(item.id, { role: "assistant", text, words: wordsOf(text) });
      put.heard = put.words.length; // from a history, which contains only what was heard
    }
    move(talk, item.id, previous); // to the place where its response began
  }
}

function move(talk, id, previous) {
  const after = previous ? talk.items.findIndex((one) => one.id === previous) : -1;
  const at = talk.items.findIndex((one) => one.id === id);
  if (after < 0 || at === after + 1) return;
  const [item] = talk.items.splice(at, 1);
  talk.changed.add(item);
  talk.items.splice(talk.items.findIndex((one) => one.id === previous) + 1, 0, item);
}
