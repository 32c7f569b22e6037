/** The sections of the settings whose values are this page's own: microphone, connection, keys, keeping. */

import { keepChoice, PLACES, setKeepChoice } from "../history/keeping.js";
import { makeElement } from "../view/dom.js";
import { makeField, makeSwitch } from "./rows.js";

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
  row.querySelector("span").append(makeElement("small", { text: "hold the button or " }, makeElement("kbd", { text: "space" }), " while you speak"));
  return row;
}

export function keysHint() {
  const keys = [["M", " mute · "], ["space", " hold to talk · "], ["Esc", " interrupt the reply"]];
  return makeElement("p", { class: "hint keys-hint" }, ...keys.flatMap(([key, text]) => [makeElement("kbd", { text: key }), text]));
}

/** Where conversations are kept. Reads and writes the storage that the history uses. */
export function keepField() {
  const names = Object.fromEntries(Object.entries(PLACES).map(([place, [name]]) => [place, name]));
  const field = makeField("setting-keep", "Keep conversations", names);
  const select = field.querySelector("select");
  const draw = () => (select.value = keepChoice());
  draw();
  select.onchange = () => {
    setKeepChoice(select.value);
    draw();
  };
  return { field, draw };
}
