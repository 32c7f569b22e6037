/** The conversations that are kept in this browser only, in IndexedDB. */

import { text } from "../texts/texts.js";
import { asJson, asMarkdown, folded, MAX_TITLE, titleOf } from "./messages.js";

const DATABASE = "repartee";
const CONVERSATIONS = "conversations";
const MAX_CONVERSATIONS = 200; // beyond it the oldest are deleted
const SNIPPET_CHARS = 120;

export class BrowserStore {
  place = "browser";
  offered = true;

  async list(query) {
    const terms = folded(query).split(/\s+/).filter(Boolean);
    const found = [];
    for (const kept of (await this._all()).reverse()) {
      const message = kept.messages.find(({ text: said, markup }) => terms.every((term) => folded(markup || said).includes(term)));
      if (message || !terms.length) found.push({ ...kept, turns: kept.messages.filter(({ role }) => role === "user").length, found: terms.length ? snippet(message.markup || message.text, terms[0]) : "" });
    }
    return { found, more: false };
  }

  async one(id) {
    const kept = await this._use("readonly", (store) => store.get(id));
    if (!kept) throw new Error(text("history.deleted"));
    return kept;
  }

  /** @param {"markdown" | "json"} format @returns {Promise<Blob>} */
  async exported(id, format) {
    const kept = await this.one(id);
    return new Blob([format === "json" ? asJson(kept) : asMarkdown(kept)], { type: format === "json" ? "application/json" : "text/markdown" });
  }

  /** @param {import("./messages.js").Kept} kept stored in place of an earlier version of it */
  async storeConversation(kept) {
    const before = await this._use("readonly", (store) => store.get(kept.id));
    if (before?.renamed) Object.assign(kept, { title: before.title, renamed: true });
    await this._use("readwrite", (store) => store.put({ ...kept, changed_s: Date.parse(kept.changed_at) / 1000 }));
    const all = await this._all();
    for (const { id } of all.slice(0, -MAX_CONVERSATIONS)) await this.delete(id);
  }

  /** @returns {Promise<string>} the title as it is kept; "" gives the first message back */
  async rename(id, title) {
    const kept = await this.one(id);
    const own = title.trim().replace(/\s+/g, " ").slice(0, MAX_TITLE);
    const now = own || titleOf(kept.messages);
    await this._use("readwrite", (store) => store.put({ ...kept, title: now, renamed: Boolean(own) }));
    return now;
  }

  async delete(id) {
    await this._use("readwrite", (store) => store.delete(id));
  }

  async deleteAll() {
    await this._use("readwrite", (store) => store.clear());
  }

  /** @returns {Promise<import("./messages.js").Kept[]>} the oldest first */
  async _all() {
    return (await this._use("readonly", (store) => store.getAll())).sort((one, other) => one.changed_s - other.changed_s);
  }

  async _use(mode, act) {
    this._database ??= open();
    let database;
    try {
      database = await this._database;
    } catch {
      this._database = null;
      throw new Error(text("keep.blocked"));
    }
    return new Promise((resolve, reject) => {
      const transaction = database.transaction(CONVERSATIONS, mode);
      const request = act(transaction.objectStore(CONVERSATIONS));
      transaction.oncomplete = () => resolve(request.result);
      transaction.onabort = transaction.onerror = () => reject(new Error(text("keep.blocked")));
    });
  }
}

function open() {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(DATABASE, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(CONVERSATIONS, { keyPath: "id" });
    request.onsuccess = () => resolve(request.result);
    request.onerror = request.onblocked = () => reject(new Error(text("keep.blocked")));
  });
}

function snippet(words, term) {
  const at = Math.max(0, folded(words).indexOf(term) - SNIPPET_CHARS / 3);
  const begin = at ? words.lastIndexOf(" ", at) + 1 : 0;
  return `${begin ? "…" : ""}${words.slice(begin, begin + SNIPPET_CHARS)}${begin + SNIPPET_CHARS < words.length ? "…" : ""}`;
}
