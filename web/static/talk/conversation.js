/** What has been said by whom, out of the server's events and of what was heard. Pure: no page, no clock, no sound. */

import { startsOf, wordsOf } from "./words.js";

/**
 * @typedef {object} Item
 * @property {string} id the server's; empty once that has forgotten it
 * @property {"user" | "assistant" | "call"} role
 * @property {string} text
 * @property {boolean} partial more may come
 * @property {boolean} stopped the speech is over; whether it was words is not known yet
 * @property {boolean} unfinished the conversation ended while it was said
 * @property {boolean} rough the recognizer calls it a guess
 * @property {boolean} spoken as sound; else typed or only shown
 * @property {string[]} words of the text, for an assistant's item
 * @property {number} heard how many of them were heard
 * @property {boolean} cut it was interrupted: the words after `heard` were never heard
 * @property {string | null} response its reply
 * @property {import("./words.js").Placed[]} placed
 * @property {number[]} starts_ms of its words, from the reply's first sample
 */

export class Conversation {
  constructor() {
    /** @type {Item[]} */
    this.items = [];
    /** @type {Set<Item>} items that changed, or went, since somebody last looked and cleared it */
    this.changed = new Set();
  }

  /** @param {string} id @returns {Item | undefined} */
  item(id) {
    return this.items.find((one) => one.id === id);
  }

  /** @param {string} response @returns {Item | undefined} the words of a reply */
  replyItem(response) {
    return this.items.findLast((one) => one.response === response && one.role === "assistant");
  }

  /** Take note of a server's event; those that say nothing about words change nothing. */
  tell(event) {
    HEARD[event.type]?.(this, event);
  }

  /**
   * So much of a reply has left the loudspeaker.
   * @param {string} response
   * @param {number} ms from its first sample
   */
  heard(response, ms) {
    const item = this.replyItem(response);
    if (!item || item.cut) return;
    const heard = item.starts_ms.findIndex((start) => start > ms);
    this._hear(item, heard < 0 ? item.words.length : heard);
  }

  /** All of a reply has been played. */
  heardAll(response) {
    const item = this.replyItem(response);
    if (item && !item.cut) this._hear(item, item.words.length);
  }

  /** A reply was stopped here: what was not heard of it never will be. */
  cut(response) {
    const item = this.replyItem(response);
    if (item) this._cut(item);
  }

  /** The conversation is over: a line that waits for more is settled with the words it has, or goes if it has none. */
  end() {
    for (const item of [...this.items]) {
      if (!item.text) this.drop(item.id);
      else if (item.response) this._cut(item);
      if (item.role === "user" && item.partial) item.unfinished = true;
      if (item.partial) this.changed.add(item);
      item.partial = false;
    }
  }

  /** The connection is back, and the history comes again: what was being said is in it, or is told anew, or was nothing. */
  resumed() {
    this._dropSpeech(() => true);
  }

  /** Another conversation gives its items and replies the same names: what was said stays as it is, above it. */
  forget() {
    this.end();
    for (const item of this.items) {
      Object.assign(item, { id: "", response: null });
      this.changed.add(item);
    }
  }

  /** The item of this id, made if it is new; `fields` are written into it. */
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

  /** Speech that is in no history yet and of which this is true. */
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

  /** Text or places of a reply's words have changed. */
  place(item) {
    item.words = wordsOf(item.text);
    item.starts_ms = startsOf(item.words, item.placed);
    if (!item.spoken) item.heard = item.words.length;
    this.changed.add(item);
  }
}

const PENDING = "pending"; // words that came before the server told of the speech they belong to

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
  // Speech that is answered is in the history before its reply begins: any other that is over was without words.
  "response.created": (talk) => talk._dropSpeech(({ stopped }) => stopped),
  "input_audio_buffer.cleared": (talk) => talk.drop(PENDING),
  "repartee.nothing_said": (talk, { item_id }) => {
    talk.drop(PENDING);
    talk.drop(item_id);
  },
  "conversation.item.added": (talk, { item, previous_item_id }) => added(talk, item, previous_item_id),
  "conversation.item.input_audio_transcription.completed": (talk, { item_id, transcript }) => {
    if (!transcript) return talk.drop(item_id); // it was committed, and nothing was said in it
    talk.put(item_id, { text: transcript, partial: false });
  },
  "conversation.item.input_audio_transcription.failed": (talk, { item_id }) => {
    if (talk.item(item_id)?.text) talk.put(item_id, { partial: false });
    else talk.drop(item_id);
  },
  "conversation.item.deleted": (talk, { item_id }) => talk.drop(item_id),
  "response.output_item.added": (talk, { item, response_id }) => {
    // On a new connection a reply under way is told again from its beginning.
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

/** An item of the history: new, or one that has been shown while it grew. */
function added(talk, item, previous) {
  const text = (item.content ?? []).map((part) => part.text ?? part.transcript ?? "").join(" ").trim();
  if (item.role === "user") {
    const typed = (item.content ?? []).every((part) => part.type === "input_text");
    talk.drop(PENDING);
    const known = talk.item(item.id);
    const partial = (item.content ?? []).some((part) => part.transcript === null); // its words follow
    talk.put(item.id, { role: "user", spoken: !typed, partial, stopped: false, text: text || known?.text || "" });
    if (!known) move(talk, item.id, previous);
  } else if (item.role === "assistant") {
    if (!talk.item(item.id)) {
      const put = talk.put(item.id, { role: "assistant", text, words: wordsOf(text) });
      put.heard = put.words.length; // out of a history: it is there because it was heard
    }
    move(talk, item.id, previous); // where its response began, whatever came in between
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
