/** What this browser has chosen in place of the server's settings. Stored in this browser; the page also works without storage. */

const KEY = "repartee.settings";

/** Types of the values, by name. A stored value of another type is ignored. */
const TYPES = {
  language: "string",
  voice: "string",
  speed: "number",
  endpoint: "string",
  instructions: "string",
  profile: "string",
  words: "boolean",
  room: "string",
};

export const MAX_INSTRUCTIONS = 4000;

/** Event: `changed` (detail: the name). */
export class Choices extends EventTarget {
  constructor(storage = storageOfPage()) {
    super();
    this._storage = storage;
    this._values = parsed(read(storage));
  }

  /** @returns {string | number | boolean | undefined} undefined: the server's setting applies */
  get(name) {
    return this._values[name];
  }

  get all() {
    return { ...this._values };
  }

  /** @param {string | number | boolean | undefined} value undefined for the server's setting */
  set(name, value) {
    if (this._values[name] === value) return;
    if (value === undefined) delete this._values[name];
    else this._values[name] = value;
    try {
      if (Object.keys(this._values).length) this._storage?.setItem(KEY, JSON.stringify(this._values));
      else this._storage?.removeItem(KEY);
    } catch {
      // Storage is full or blocked: the choice lasts until the page is closed.
    }
    this.dispatchEvent(new CustomEvent("changed", { detail: name }));
  }
}

function storageOfPage() {
  try {
    return window.localStorage;
  } catch {
    return null; // blocked
  }
}

function read(storage) {
  try {
    return storage?.getItem(KEY) ?? "{}";
  } catch {
    return "{}";
  }
}

function parsed(text) {
  try {
    const entries = Object.entries(JSON.parse(text) ?? {});
    return Object.fromEntries(entries.filter(([name, value]) => TYPES[name] === typeof value));
  } catch {
    return {};
  }
}
