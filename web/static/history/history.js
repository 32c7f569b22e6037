/**
 * Keeps the conversations: follows the running one, continues an earlier one, and survives a reload of the page.
 *
 * The server keeps a conversation once the session asks for it. This module has the copy of this tab, the conversations
 * that only this browser keeps, and the panel that shows them all.
 */

import { text } from "../texts/texts.js";
import { BrowserStore } from "./browser-store.js";
import { HistoryPanel } from "./history-panel.js";
import { browserSecret, hasSecret, KEEP_CHANGED, keepChoice } from "./keeping.js";
import { conversationOf, messagesOf, titleOf } from "./messages.js";
import { MemoryStore, ServerStore } from "./server-store.js";
import { claim, newRecord, readRecord, writeRecord } from "./tab-record.js";

const SAVE_EVERY_MS = 1000;

/** @returns {import("../session/conversation.js").Conversation} what the tab showed */
function shownOf({ earlier = [], messages }) {
  return conversationOf([...earlier, ...messages]);
}

/**
 * @typedef {object} HistoryPage what the page does for the history
 * @property {() => Promise<void>} stop ends the running conversation
 * @property {(conversation: import("../session/conversation.js").Conversation) => void} show shows a conversation that does not run
 * @property {() => void} changed called when `continues` has changed
 * @property {(text: string) => void} note shows one sentence
 */
export class ConversationHistory {
  /** @param {HistoryPage} page */
  constructor(page) {
    this._page = page;
    this._session = null;
    this._record = null; // of the running conversation, or of the one that the next start continues
    this._begun = false; // whether the server has created or resumed the running session
    this._saveTimer = 0;
    this._server = new ServerStore(new URL("v1/repartee/conversations", document.baseURI));
    this._browser = new BrowserStore();
    this._panel = new HistoryPanel({
      stores: () => (keepChoice() === "server" || hasSecret() ? [this._server, this._browser] : [this._browser]),
      continue: (kept, place) => this.continue(kept, place),
      startNew: () => this.startNew(),
      deleted: (id) => this._deleted(id),
      memory: new MemoryStore(new URL("v1/repartee/memory", document.baseURI)),
      runningId: () => (this._session ? this._record.id : ""),
    });
    addEventListener(KEEP_CHANGED, () => this._choiceChanged());
    addEventListener("pagehide", () => this._save());
    Promise.resolve().then(() => this._restore()); // once the page is complete
  }

  /** Whether the next start continues the conversation that is shown. */
  get continues() {
    return !this._session && this._record !== null;
  }

  /** Follows a session; call it before the session starts. @param {import("../session/realtime-session.js").RealtimeSession} session */
  attach(session) {
    const continued = this._record;
    this._record = continued ?? newRecord();
    if (!continued) claim(this._record.key);
    this._session = session;
    if (continued?.token) session.resumeFrom(continued.token);
    session.keeping = this._keeping();
    const on = (type, handle) => session.addEventListener(type, ({ detail }) => this._session === session && handle(detail));
    this._begun = false;
    on("session", ({ repartee }) => {
      this._record.token = repartee?.resume_token ?? "";
      if (!this._begun && continued && !repartee?.resumed && !session.keeping?.id) session.addPast(continued.messages);
      this._begun = true;
      this._saveSoon();
    });
    on("kept", ({ id, kept }) => {
      if (kept) Object.assign(this._record, { id, place: "server" });
      else if (this._record.place === "server") Object.assign(this._record, { id: "", place: "" });
      this._saveSoon();
    });
    on("items", () => this._saveSoon());
  }

  /** The conversation ends here and is continued by the next start, for example with other sound. */
  pause() {
    if (!this._session) return;
    this._save();
    this._record.token = "";
    this._session = null;
  }

  /** The conversation has ended. */
  detach() {
    if (!this._session) return;
    if (!this._begun && this._record.messages.length) { // the server did not answer: the conversation to be continued stays
      this._session = null;
      this._page.show(shownOf(this._record));
      return;
    }
    this._record.running = false;
    this._record.token = "";
    this._save();
    this._session = this._record = null;
  }

  /** Prepares the next start to continue a conversation. @param {import("./messages.js").Kept} kept @param {"server" | "browser"} place */
  async continue(kept, place) {
    await this._page.stop();
    this._record = { ...newRecord(), id: kept.id, place, began_at: kept.began_at, messages: kept.messages };
    claim(this._record.key);
    writeRecord(this._record);
    this._page.show(conversationOf(kept.messages));
    this._page.changed();
  }

  /** Ends the conversation and clears the transcript. */
  async startNew() {
    await this._page.stop();
    this._record = null;
    writeRecord(null);
    this._page.show(conversationOf([]));
    this._page.changed();
  }

  /** Where the server is to keep the running conversation; null: nowhere. */
  _keeping() {
    if (keepChoice() !== "server" || this._record.deleted) return null;
    const { id, place } = this._record;
    return { browser: browserSecret(), ...(id && place === "server" && { id }) };
  }

  _choiceChanged() {
    if (this._session) {
      if (keepChoice() !== this._record.place) Object.assign(this._record, { id: "", place: "" });
      this._session.setKeeping(this._keeping());
      this._save();
    }
  }

  _deleted(id) {
    if (this._record && (this._record.id === id || id === null)) {
      Object.assign(this._record, { id: "", place: "", deleted: true });
      if (this._session) this._session.setKeeping(null);
      writeRecord(this._record);
    }
  }

  // The copy of this tab ----------------------------------------------------------------------------------------

  async _restore() {
    const record = readRecord();
    if (!record?.messages) return;
    if (record.running && !(await claim(record.key))) return; // a duplicated tab: the conversation runs in the other one
    if (this._session || this._record) return; // the user has started a conversation meanwhile
    if (record.messages.length) this._page.show(shownOf(record));
    if (record.running) this._record = record;
    this._page.changed();
  }

  _saveSoon() {
    this._saveTimer ||= setTimeout(() => this._save(), SAVE_EVERY_MS);
  }

  _save() {
    clearTimeout(this._saveTimer);
    this._saveTimer = 0;
    if (!this._session) return;
    const record = this._record;
    if (this._begun) {
      const shown = messagesOf(this._session.conversation.items);
      record.earlier = shown.filter(({ earlier }) => earlier);
      record.messages = shown.filter(({ earlier }) => !earlier);
    }
    if (keepChoice() === "browser" && !record.deleted && record.messages.length) this._keepInBrowser(record);
    writeRecord(record.messages.length || record.token ? record : null);
  }

  async _keepInBrowser(record) {
    if (record.place !== "browser") Object.assign(record, { id: record.key, place: "browser" });
    const { id, began_at, messages } = record;
    try {
      await this._browser.storeConversation({ id, began_at, messages, title: titleOf(messages), changed_at: new Date().toISOString() });
    } catch (error) {
      if (!this._failed) this._page.note(text("notice.not_kept", { message: error.message }));
      this._failed = true;
    }
  }
}
