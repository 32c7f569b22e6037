/** What a person has set, kept in the browser: the page works as well where nothing may be kept. */

const KEY = "repartee";
const AT_FIRST = {
  theme: "", // the system's
  volume: 100,
  deviceId: "",
  echoCancellation: true,
  noiseSuppression: true,
  autoGainControl: true,
  pushToTalk: false,
};

/** @returns {typeof AT_FIRST} */
export function preferences() {
  try {
    return { ...AT_FIRST, ...JSON.parse(localStorage.getItem(KEY) ?? "{}") };
  } catch {
    return { ...AT_FIRST };
  }
}

/** @returns {import("../sound/audio-in.js").Wishes} */
export function wishes() {
  const { deviceId, echoCancellation, noiseSuppression, autoGainControl } = preferences();
  return { deviceId, echoCancellation, noiseSuppression, autoGainControl };
}

/** @param {Partial<typeof AT_FIRST>} changed */
export function prefer(changed) {
  try {
    localStorage.setItem(KEY, JSON.stringify({ ...preferences(), ...changed }));
  } catch {
    // Private browsing: it holds until the page is closed.
  }
}
