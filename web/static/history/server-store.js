/** The conversations that the server keeps for this browser. */

import { capitalized, serverText, text } from "../texts/texts.js";
import { storedToken } from "../view/preferences.js";
import { browserSecret } from "./keeping.js";

const TIMEOUT_MS = 8000;

export class ServerStore {
  place = "server";

  /** @param {URL} url of /v1/repartee/conversations */
  constructor(url) {
    this._url = url;
    /** Whether the server keeps conversations; null: not known yet. */
    this.offered = null;
  }

  /** @param {string} query "" for the newest @param {number | null} before `changed_s` of the last one in the list so far */
  async list(query, before = null) {
    const { data, has_more, keeps } = await (await this._fetch("", { query, ...(before !== null && { before: String(before) }) })).json();
    this.offered = keeps;
    return { found: data, more: has_more };
  }

  async one(id) {
    return (await this._fetch(`/${id}`)).json();
  }

  /** @param {"markdown" | "json"} format @returns {Promise<Blob>} */
  async exported(id, format) {
    return (await this._fetch(`/${id}/export`, { format })).blob();
  }

  /** @returns {Promise<string>} the title as it is kept; "" gives the first message back */
  async rename(id, title) {
    const url = new URL("conversation_title", this._url);
    return (await (await this._request(url, "POST", JSON.stringify({ conversation: id, title }))).json()).title;
  }

  async delete(id) {
    await this._fetch(`/${id}`, {}, "DELETE");
  }

  async deleteAll() {
    await this._fetch("", {}, "DELETE");
  }

  _fetch(path, query = {}, method = "GET") {
    const url = new URL(this._url.href + path);
    for (const [name, value] of Object.entries(query)) if (value) url.searchParams.set(name, value);
    return this._request(url, method);
  }

  _request(url, method, body) {
    return requestAsBrowser(url, method, body);
  }
}

/** What is remembered of the user of this browser. */
export class MemoryStore {
  /** @param {URL} url of /v1/repartee/memory */
  constructor(url) {
    this._url = url;
  }

  /** @returns {Promise<{data: {key: string, text: string, said_at: string}[], enabled: boolean, offered: boolean}>} the newest first */
  async list() {
    return (await requestAsBrowser(this._url, "GET")).json();
  }

  async edit(key, words) {
    await requestAsBrowser(this._url, "POST", JSON.stringify({ fact: key, text: words }));
  }

  async enable(enabled) {
    await requestAsBrowser(this._url, "POST", JSON.stringify({ enabled }));
  }

  async delete(key) {
    await requestAsBrowser(new URL(`${this._url.href}/${key}`), "DELETE");
  }

  async deleteAll() {
    await requestAsBrowser(this._url, "DELETE");
  }
}

/** Sends a request with the secret of this browser. Throws an error with a sentence for the user. */
async function requestAsBrowser(url, method, body) {
  const headers = { "Repartee-Browser": browserSecret(), ...(body && { "Content-Type": "application/json" }) };
  if (storedToken()) headers.Authorization = `Bearer ${storedToken()}`;
  let response;
  try {
    response = await fetch(url, { method, headers, body, cache: "no-store", signal: AbortSignal.timeout(TIMEOUT_MS) });
  } catch {
    throw new Error(text("server.unreachable"));
  }
  if (response.ok) return response;
  const message = serverText((await response.json().catch(() => null))?.error);
  if (response.status === 401) throw new Error(text("server.token_first"));
  throw new Error(message ? capitalized(message) : text("server.status", { status: response.status }));
}
