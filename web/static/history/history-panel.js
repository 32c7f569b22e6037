/** The panel of kept conversations: list, search, one conversation, export, deletion, and where they are kept. */

import { RichText } from "../rich-text/rich-text.js";
import { countText, formatDate, text } from "../texts/texts.js";
import { confirmed } from "../view/confirmed.js";
import { byId, makeElement } from "../view/dom.js";
import { hasSecret, keepChoice, PLACES, setKeepChoice } from "./keeping.js";
import { MemorySection } from "./memory-section.js";
import { conversationOf } from "./messages.js";

const NARROW = "(max-width: 699.9px)"; // as in history.css: the panel covers the screen
const SEARCH_AFTER_MS = 250;

/**
 * @typedef {object} PanelActions
 * @property {() => (import("./server-store.js").ServerStore | import("./browser-store.js").BrowserStore)[]} stores
 * @property {(kept: import("./messages.js").Kept, place: string) => void} continue
 * @property {() => void} startNew
 * @property {(id: string | null) => void} deleted called with the id of a deleted conversation, or null for all
 * @property {import("./server-store.js").MemoryStore} memory what is remembered of the user
 * @property {() => string} runningId id of the conversation that runs
 */
export class HistoryPanel {
  /** @param {PanelActions} actions */
  constructor(actions) {
    this._actions = actions;
    this._panel = byId("history");
    this._button = byId("history-open");
    this._button.hidden = false;
    this._button.onclick = () => (this._panel.hidden ? this.open() : this.close());
    this._request = {}; // a unique object for each request: answers of earlier ones are dropped
    this._searchTimer = 0;
    this._build();
    this._panel.onkeydown = (event) => {
      if (event.key === "Escape") {
        if (this._detail.hidden) this.close();
        else this._showList();
      }
      if (!event.ctrlKey && !event.metaKey && !event.altKey) event.stopPropagation(); // its keys are no shortcuts of the page
    };
    addEventListener("popstate", () => this.close());
  }

  open() {
    this._panel.hidden = false;
    this._button.setAttribute("aria-expanded", "true");
    if (matchMedia(NARROW).matches) history.pushState({ panel: "history" }, ""); // so that "back" closes it
    this._setCovered(matchMedia(NARROW).matches);
    this._search.value = "";
    this._showList();
    this._drawChoice();
    this._title.focus();
  }

  close() {
    if (this._panel.hidden) return;
    this._panel.hidden = true;
    this._button.setAttribute("aria-expanded", "false");
    this._setCovered(false);
    if (history.state?.panel === "history") history.back();
    this._button.focus();
  }

  /** What the panel covers gets neither focus nor touch. */
  _setCovered(covered) {
    for (const element of [document.querySelector("header"), document.querySelector("main"), document.querySelector("footer")]) element.inert = covered;
  }

  _build() {
    this._title = makeElement("h2", { text: text("frame.conversations"), tabindex: "-1" });
    const close = iconButton(text("history.close"), "M6 6l12 12M18 6L6 18");
    close.onclick = () => this.close();
    const fresh = makeElement("button", { type: "button", class: "small", text: text("history.new") });
    fresh.onclick = () => {
      this._actions.startNew();
      this.close();
    };
    this._search = makeElement("input", { type: "search", placeholder: text("history.search"), "aria-label": text("history.search_label"), autocomplete: "off", maxlength: "200", dir: "auto" });
    this._search.oninput = () => {
      clearTimeout(this._searchTimer);
      this._searchTimer = setTimeout(() => this._load(), SEARCH_AFTER_MS);
    };
    this._status = makeElement("p", { class: "hint", role: "status" });
    this._list = makeElement("ul", { class: "kept" });
    this._more = makeElement("button", { type: "button", class: "small", text: text("history.older") });
    this._more.onclick = () => this._load(true);
    this._memory = new MemorySection(this._actions.memory);
    this._overview = makeElement("div", { class: "overview-kept" }, this._search, this._status, this._list, this._more, this._buildChoice());
    this._detail = makeElement("div", { class: "detail-kept" });
    this._panel.append(makeElement("div", { class: "heading" }, this._title, fresh, close), this._overview, this._detail);
  }

  _buildChoice() {
    const choices = PLACES.map((place) => {
      const input = makeElement("input", { type: "radio", name: "keep", value: place });
      input.onchange = () => {
        setKeepChoice(place);
        this._load();
        this._loadMemory();
      };
      return makeElement("label", { class: "choice" }, input, makeElement("span", { text: text(`keep.${place}`) }, makeElement("small", { text: text(`keep.${place}_meaning`) })));
    });
    this._deleteAll = makeElement("button", { type: "button", class: "small danger" });
    confirmed(this._deleteAll, text("history.delete_all"), text("history.delete_all_really"), () => this._delete(null));
    this._choice = makeElement("fieldset", { class: "keep" }, makeElement("legend", { text: text("keep.title") }), ...choices);
    return makeElement("div", { class: "keep-choice" }, this._memory.element, this._choice, this._deleteAll);
  }

  _drawChoice() {
    for (const input of this._choice.querySelectorAll("input")) input.checked = input.value === keepChoice();
    const server = this._actions.stores().find(({ place }) => place === "server");
    const input = this._choice.querySelector("[value=server]");
    input.disabled = server?.offered === false;
    input.nextElementSibling.querySelector("small").textContent = text(input.disabled ? "keep.not_offered" : "keep.server_meaning");
  }

  _showList() {
    this._overview.hidden = false;
    this._detail.hidden = true;
    this._load();
    this._loadMemory();
    (this._rowOf(this._opened) ?? this._title).focus();
    this._opened = null;
  }

  _loadMemory() {
    this._memory.load(keepChoice() === "server" || hasSecret());
  }

  _rowOf(id) {
    return [...this._list.querySelectorAll(".kept-row")].find((row) => row.dataset.id === id);
  }

  /** @param {boolean} older whether to add to the list */
  async _load(older = false) {
    const request = (this._request = {});
    const query = this._search.value.trim();
    const results = await Promise.allSettled(this._actions.stores().map(async (store) => {
      if (older && store.place !== "server") return { store, found: [], more: false };
      return { store, ...(await store.list(query, older ? this._oldest : null)) };
    }));
    if (request !== this._request) return;
    const failed = results.find(({ status }) => status === "rejected")?.reason.message ?? "";
    const lists = results.filter(({ status }) => status === "fulfilled").map(({ value }) => value);
    const found = lists.flatMap(({ store, found: some }) => some.map((kept) => ({ kept, store }))).sort((one, other) => other.kept.changed_s - one.kept.changed_s);
    const fromServer = lists.find(({ store }) => store.place === "server");
    this._oldest = fromServer?.found.at(-1)?.changed_s ?? null;
    this._more.hidden = !fromServer?.more || Boolean(query);
    const focused = this._list.contains(document.activeElement) ? document.activeElement.dataset.id : null;
    if (!older) this._list.replaceChildren();
    this._list.append(...found.map(({ kept, store }) => this._row(kept, store)));
    if (focused !== null) (this._rowOf(focused) ?? this._title).focus(); // its row was replaced or is gone
    const count = this._list.childElementCount;
    const none = text(query ? "history.nothing_found" : keepChoice() === "no" ? "history.none_kept" : "history.none_yet");
    this._status.textContent = failed || (count ? (query ? text("history.found", { count }) : "") : none);
    this._status.classList.toggle("error", Boolean(failed));
    this._deleteAll.hidden = !count;
    this._drawChoice();
  }

  _row(kept, store) {
    const turns = countText("turns.count", kept.turns);
    const where = store.place === "browser" ? ` · ${text("history.this_browser")}` : "";
    const running = kept.id === this._actions.runningId() ? ` · ${text("history.running")}` : "";
    const row = makeElement("button", { type: "button", class: "kept-row", "data-id": kept.id },
      makeElement("span", { class: "name", dir: "auto", text: kept.title || text("history.untitled") }),
      makeElement("small", { text: `${formatDate(kept.changed_at)} · ${turns}${where}${running}` }));
    if (kept.found) row.append(makeElement("small", { class: "found", dir: "auto", text: kept.found }));
    row.onclick = () => this._open(kept.id, store);
    return makeElement("li", {}, row);
  }

  async _open(id, store) {
    const request = (this._request = {});
    let kept;
    try {
      kept = await store.one(id);
    } catch (error) {
      this._status.textContent = error.message;
      this._status.classList.add("error");
      return;
    }
    if (request !== this._request) return;
    this._opened = id;
    this._overview.hidden = true;
    this._detail.hidden = false;
    this._drawDetail(kept, store);
  }

  _drawDetail(kept, store) {
    const back = makeElement("button", { type: "button", class: "quiet small back", text: text("history.all") });
    back.onclick = () => this._showList();
    const button = (label, act, kind = "small") => {
      const made = makeElement("button", { type: "button", class: kind, text: label });
      made.onclick = act;
      return made;
    };
    const running = kept.id === this._actions.runningId();
    const go = button(text("history.continue"), () => {
      this._actions.continue(kept, store.place);
      this.close();
      byId("start").focus();
    }, "small primary");
    go.hidden = running;
    const remove = makeElement("button", { type: "button", class: "small danger" });
    confirmed(remove, text("history.delete"), text("history.delete_really"), () => this._delete(kept.id, store));
    const error = makeElement("p", { class: "error", role: "alert" });
    const save = async (format, end) => {
      try {
        saveFile(await store.exported(kept.id, format), `conversation-${kept.id}.${end}`);
      } catch (problem) {
        error.textContent = problem.message;
      }
    };
    const title = makeElement("h3", { dir: "auto", text: kept.title || text("history.untitled") });
    const rename = button(text("history.rename"), () => this._startRename(title, rename, kept, store, error));
    const buttons = makeElement("div", { class: "actions", role: "group", "aria-label": text("history.this") },
      go, rename, button(text("history.save_markdown"), () => save("markdown", "md")), button(text("history.save_json"), () => save("json", "json")), remove);
    this._detail.replaceChildren(back,
      title,
      makeElement("p", { class: "hint", text: text("history.began", { date: formatDate(kept.began_at) }) }),
      buttons, error, transcript(kept.messages));
    back.focus();
  }

  /** Puts a field in place of the title. Enter keeps the name, Escape the former one; an empty one gives the first message back. */
  _startRename(title, button, kept, store, error) {
    const field = makeElement("input", { type: "text", class: "rename", dir: "auto", maxlength: "80", "aria-label": text("history.name") });
    field.value = kept.title;
    let open = true;
    const close = async (keep) => {
      if (!open) return;
      open = false;
      try {
        if (keep && field.value.trim() !== kept.title) kept.title = await store.rename(kept.id, field.value.trim());
      } catch (problem) {
        error.textContent = problem.message;
      }
      title.textContent = kept.title || text("history.untitled");
      const focused = document.activeElement === field;
      field.replaceWith(title);
      if (focused) button.focus();
    };
    field.onblur = () => close(true);
    field.onkeydown = (event) => {
      if (event.key !== "Enter" && event.key !== "Escape") return;
      event.preventDefault();
      event.stopPropagation(); // Escape must not leave the conversation
      close(event.key === "Enter");
    };
    title.replaceWith(field);
    field.focus();
    field.select();
  }

  async _delete(id, store) {
    try {
      if (id === null) await Promise.all(this._actions.stores().map((one) => one.deleteAll()));
      else await store.delete(id);
      this._actions.deleted(id);
      this._showList();
    } catch (error) {
      this._showList();
      this._status.textContent = error.message;
      this._status.classList.add("error");
    }
  }
}

/** Returns the messages as a list. @param {import("./messages.js").Message[]} messages */
function transcript(messages) {
  const conversation = conversationOf(messages);
  const named = conversation.showsSpeakers;
  const lines = conversation.items.map((item) => {
    const shown = makeElement("div", { class: "text", dir: "auto" });
    if (item.role === "assistant") new RichText(shown).draw({ ...item, source: item.markup || item.text, open: false, interrupted: item.interrupted });
    else shown.textContent = item.text;
    const line = makeElement("li", { class: `item ${item.role}` }, makeElement("span", { class: "who", text: item.role === "user" ? (named && item.speaker) || text("transcript.you") : "Repartee" }), shown);
    if (item.interrupted) line.append(makeElement("span", { class: "note", text: text("transcript.interrupted") }));
    return line;
  });
  return makeElement("ol", { class: "messages", tabindex: "0", "aria-label": text("history.what_was_said") }, ...lines);
}

function iconButton(name, path) {
  const button = makeElement("button", { type: "button", class: "quiet icon", "aria-label": name, title: name });
  const icon = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  icon.setAttribute("viewBox", "0 0 24 24");
  icon.setAttribute("aria-hidden", "true");
  const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
  line.setAttribute("d", path);
  icon.append(line);
  button.append(icon);
  return button;
}

function saveFile(blob, name) {
  const address = URL.createObjectURL(blob);
  makeElement("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
