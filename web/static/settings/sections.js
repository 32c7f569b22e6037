/** The sections of the settings whose values are this page's own: microphone, connection, keys, keeping. */

import { keepChoice, PLACES, setKeepChoice } from "../history/keeping.js";
import { PAGE_LANGUAGES, text } from "../texts/texts.js";
import { makeElement } from "../view/dom.js";
import { preferences, setPreferences } from "../view/preferences.js";
import { makeField, makeSwitch } from "./rows.js";

export function soundRows() {
  return [
    makeSwitch("text-only", text("settings.text_only"), text("settings.text_only_hint")),
    makeField("microphone", text("settings.microphone"), { "": text("control.browser_default") }),
    makeSwitch("echoCancellation", text("settings.echo"), text("settings.echo_hint")),
    makeSwitch("noiseSuppression", text("settings.noise")),
    makeSwitch("autoGainControl", text("settings.gain")),
    makeElement("p", { class: "hint", id: "granted", text: text("settings.granted") }),
    makeField("transport", text("settings.connection"), { auto: text("settings.connection_auto"), websocket: "WebSocket", webrtc: "WebRTC" }),
  ];
}

export function pushToTalkSwitch() {
  const row = makeSwitch("push-to-talk", text("settings.push_to_talk"));
  const [before, after] = text("settings.push_to_talk_hint", { key: "|" }).split("|");
  row.querySelector("span").append(makeElement("small", { text: before }, makeElement("kbd", { text: text("control.space") }), after));
  return row;
}

export function keysHint() {
  const keys = [["M", text("settings.key_mute")], [text("control.space"), text("settings.key_hold")], ["Esc", text("settings.key_interrupt")]];
  return makeElement("p", { class: "hint keys-hint" }, ...keys.flatMap(([key, effect], n) => [n ? " · " : "", makeElement("kbd", { text: key }), ` ${effect}`]));
}

/** The language of the page's own texts. A change loads the page again; a conversation that runs can be continued then. */
export function pageLanguageField() {
  const field = makeField("page-language", text("settings.page_language"), { "": text("settings.page_language_auto"), ...PAGE_LANGUAGES });
  const select = field.querySelector("select");
  select.value = preferences().pageLanguage;
  select.onchange = () => {
    setPreferences({ pageLanguage: select.value });
    location.reload();
  };
  return field;
}

const MAX_ROOM_CHARS = 80; // as the server checks it

/** The room of this device. @param {import("./choices.js").Choices} choices */
export function roomField(choices) {
  const input = makeElement("input", { type: "text", id: "setting-room", maxlength: String(MAX_ROOM_CHARS), autocomplete: "off", dir: "auto", "aria-describedby": "setting-room-hint" });
  input.value = choices.get("room") ?? "";
  input.onchange = () => choices.set("room", input.value.trim() || undefined);
  const hint = makeElement("p", { class: "hint", id: "setting-room-hint", text: text("settings.room_hint") });
  return [makeElement("label", { class: "field" }, makeElement("span", { text: text("settings.room") }), input), hint];
}

/** Where conversations are kept. Reads and writes the storage that the history uses. */
export function keepField() {
  const names = Object.fromEntries(PLACES.map((place) => [place, text(`keep.${place}`)]));
  const field = makeField("setting-keep", text("settings.keep"), names);
  const select = field.querySelector("select");
  const draw = () => (select.value = keepChoice());
  draw();
  select.onchange = () => {
    setKeepChoice(select.value);
    draw();
  };
  return { field, draw };
}
