/** The user's settings, stored in the browser. The page also works if storage is blocked. */

const KEY = "repartee";
const TOKEN_KEY = "repartee-token";
const AT_FIRST = {
  theme: "", // system setting
  volume: 100,
  deviceId: "",
  echoCancellation: true,
  noiseSuppression: true,
  autoGainControl: true,
  pushToTalk: false,
};

// The current settings. The browser stores a copy for the next visit, if it can.
let set = { ...AT_FIRST, ...parsed(stored("localStorage", KEY)) };
let token = stored("sessionStorage", TOKEN_KEY);

/** @returns {typeof AT_FIRST} */
export function preferences() {
  return { ...set };
}

/** @returns {import("../sound/audio-in.js").Wishes} */
export function wishes() {
  const { deviceId, echoCancellation, noiseSuppression, autoGainControl } = preferences();
  return { deviceId, echoCancellation, noiseSuppression, autoGainControl };
}

/** @param {Partial<typeof AT_FIRST>} changed */
export function prefer(changed) {
  set = { ...set, ...changed };
  store("localStorage", KEY, JSON.stringify(set));
}

/** @returns {string} the server's token, stored until the tab is closed; "" for none */
export function keptToken() {
  return token;
}

/** @param {string} text "" to forget it */
export function keepToken(text) {
  token = text;
  store("sessionStorage", TOKEN_KEY, text);
}

function stored(storage, key) {
  try {
    return window[storage].getItem(key) ?? "";
  } catch {
    return ""; // storage is blocked
  }
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

function store(storage, key, text) {
  try {
    if (text) window[storage].setItem(key, text);
    else window[storage].removeItem(key);
  } catch {
    // Storage is blocked or full.
  }
}
