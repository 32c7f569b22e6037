/** The user's settings, stored in the browser. The page also works if storage is blocked. */

const KEY = "repartee";
const TOKEN_KEY = "repartee-token";
const DEFAULTS = {
  theme: "", // system setting
  textOnly: false, // whether the page neither records nor plays
  pageLanguage: "", // the browser's
  volume: 100,
  deviceId: "",
  echoCancellation: true,
  noiseSuppression: true,
  autoGainControl: true,
  pushToTalk: false,
  wake: false, // whether a wake phrase is needed
  wakePhrase: "hey computer",
  wakeWord: "", // name of a wake word that the server notices by its sound; empty: wakePhrase
  wakeWords: [], // those that the last server had
  wakeConsent: "", // host to which all speech may be sent, to recognize it
  wakeSoundConsent: "", // host to which all speech may be sent, to compare its sound only
  transport: "auto",
  panelsOpen: false, // whether the panels with the details of the latency are open
};

// The current settings. The browser stores a copy for the next visit, if it can.
let current = { ...DEFAULTS, ...parseJson(readStorage("localStorage", KEY)) };
let token = readStorage("sessionStorage", TOKEN_KEY);

/** @returns {typeof DEFAULTS} */
export function preferences() {
  return { ...current };
}

/** @returns {import("../audio/microphone-input.js").MicrophoneSettings} */
export function microphoneSettings() {
  const { deviceId, echoCancellation, noiseSuppression, autoGainControl } = preferences();
  return { deviceId, echoCancellation, noiseSuppression, autoGainControl };
}

/** @param {Partial<typeof DEFAULTS>} changed */
export function setPreferences(changed) {
  current = { ...current, ...changed };
  writeStorage("localStorage", KEY, JSON.stringify(current));
}

/** @returns {string} the server's token, stored until the tab is closed; "" for none */
export function storedToken() {
  return token;
}

/** @param {string} text "" to forget it */
export function storeToken(text) {
  token = text;
  writeStorage("sessionStorage", TOKEN_KEY, text);
}

function readStorage(storage, key) {
  try {
    return window[storage].getItem(key) ?? "";
  } catch {
    return ""; // storage is blocked
  }
}

function parseJson(text) {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

function writeStorage(storage, key, text) {
  try {
    if (text) window[storage].setItem(key, text);
    else window[storage].removeItem(key);
  } catch {
    // Storage is blocked or full.
  }
}
