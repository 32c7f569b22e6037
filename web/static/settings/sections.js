/** The sections of the settings whose values are this page's own: microphone, connection, keys, keeping. */

import { makeElement } from "../view/dom.js";
import { makeField, makeSwitch } from "./rows.js";

const KEEP_KEY = "repartee.keep";

/** Event on window when the user has chosen where conversations are kept; other parts of the page may listen. */
export const KEEP_CHANGED = "repartee:keep";

export function soundRows() {
  return [
    makeField("microphone", "Microphone", { "": "Browser default" }),
    makeSwitch("echoCancellation", "Echo cancellation", "needed with loudspeakers"),
    makeSwitch("noiseSuppression", "Noise suppression"),
    makeSwitch("autoGainControl", "Automatic gain control"),
    makeElement("p", { class: "hint", id: "granted", text: "The browser may ignore the last three settings." }),
    makeField("transport", "Connection", { auto: "Automatic", websocket: "WebSocket", webrtc: "WebRTC" }),
  ];
}

export function pushToTalkSwitch() {
  const row = makeSwitch("push-to-talk", "Push to talk");
  row.querySelector("span").append(makeElement("small", { text: "hold " }, makeElement("kbd", { text: "space" }), " while you speak"));
  return row;
}

export function keysHint() {
  const keys = [["M", " mute · "], ["space", " hold to talk · "], ["Esc", " interrupt the reply"]];
  return makeElement("p", { class: "hint" }, ...keys.flatMap(([key, text]) => [makeElement("kbd", { text: key }), text]));
}

/** Where conversations are kept. Reads and writes the storage that the history uses. */
export function keepField() {
  const field = makeField("setting-keep", "Keep conversations", { no: "Nowhere", browser: "In this browser only", server: "On the server" });
  const select = field.querySelector("select");
  const draw = () => (select.value = storedKeep());
  draw();
  select.onchange = () => {
    try {
      localStorage.setItem(KEEP_KEY, select.value);
    } catch {
      // Storage is blocked: nothing is kept.
    }
    window.dispatchEvent(new CustomEvent(KEEP_CHANGED, { detail: select.value }));
    draw();
  };
  return { field, draw };
}

function storedKeep() {
  try {
    const kept = localStorage.getItem(KEEP_KEY);
    return ["browser", "server"].includes(kept) ? kept : "no";
  } catch {
    return "no";
  }
}
