/** Handles buttons, keys and switches: calls actions for user input and draws the current state. */

import { microphoneDevices } from "../audio/microphone-input.js";
import { text, textParts } from "../texts/texts.js";
import { byId, makeElement } from "./dom.js";
import { setPreferences, preferences } from "./preferences.js";

const PROCESSING = ["echoCancellation", "noiseSuppression", "autoGainControl"];
const TEXT_INPUTS = "input:not([type=range]):not([type=checkbox]), textarea, select, [contenteditable]";
const OPERATED_BY_SPACE = "input[type=checkbox], summary"; // operated by the space bar only

const NARROW = "(max-width: 860px)"; // as in the style sheets

/** Puts the volume among the controls if there is room, otherwise into the settings, so that opening them moves nothing. */
function placeVolume(narrow) {
  const volume = byId("volume").parentElement;
  if (narrow) byId("microphone").parentElement.after(volume);
  else byId("settings-open").before(volume);
}

/** Enables or disables a control. Keeps its focus: with `disabled` it would lose the focus, and typed keys would become shortcuts. */
function setEnabled(id, on) {
  byId(id).setAttribute("aria-disabled", String(!on));
}

function isEnabled(id) {
  return byId(id).getAttribute("aria-disabled") !== "true";
}

/**
 * @typedef {object} ControlActions
 * @property {() => void} toggle start or stop
 * @property {() => void} mute
 * @property {() => void} interrupt
 * @property {() => void} pressKey
 * @property {() => void} releaseKey
 * @property {(text: string) => boolean} sendText
 * @property {() => void} changeMicrophone called when the user has chosen another microphone or processing
 * @property {() => void} changeTransport called when the user has chosen another connection
 * @property {() => void} changeTextOnly called when the user has switched between voice and text only
 * @property {(on: boolean) => void} pushToTalk
 * @property {(loudness: number) => void} volume 0..1
 */
export class Controls {
  /** @param {ControlActions} actions */
  constructor(actions) {
    this._actions = actions;
    this._spaceHeld = false; // whether the space bar is held to talk
    this._bindButtons();
    this._bindSettings();
    this._bindTheme();
    addEventListener("keydown", (event) => this._handleKeyDown(event));
    addEventListener("keyup", (event) => this._handleKeyUp(event));
    addEventListener("blur", () => actions.releaseKey()); // the key may be released in another window
  }

  /** @param {{running: boolean, muted: boolean, pushToTalk: boolean, held: boolean, phase: string, continues: boolean}} state `continues`: the next start continues the conversation shown */
  draw({ running, muted, pushToTalk, held, phase, continues }) {
    const label = textParts(running ? "control.end" : continues ? "control.continue" : "control.start");
    byId("start-label").replaceChildren(...label.map(({ text: part, more }) => makeElement("span", { class: more ? "more" : "", text: part })));
    byId("start").classList.toggle("running", running);
    byId("start").classList.toggle("continues", continues);
    setEnabled("mute", running);
    setEnabled("interrupt", running && ["speaking", "thinking"].includes(phase));
    byId("mute").setAttribute("aria-pressed", String(muted));
    byId("mute").title = text(muted ? "control.unmute_title" : "control.mute_title");
    const showHold = running && pushToTalk;
    if (!showHold && document.activeElement === byId("hold")) byId("start").focus();
    byId("hold").hidden = !showHold;
    byId("hold").classList.toggle("held", held);
    byId("hold").setAttribute("aria-pressed", String(held));
  }

  /** @param {MediaTrackSettings | null} granted the settings that the browser granted */
  async listMicrophones(granted) {
    const select = byId("microphone");
    const devices = navigator.mediaDevices ? await microphoneDevices() : [];
    const options = devices.filter(({ id }) => id && id !== "default").map(({ id, label }, n) => makeElement("option", { value: id, text: label || text("control.microphone_number", { number: n + 1 }) }));
    select.replaceChildren(makeElement("option", { value: "", text: text("control.browser_default") }), ...options);
    const { deviceId } = preferences();
    select.value = options.some((one) => one.value === deviceId) ? deviceId : "";
    if (granted) {
      const on = PROCESSING.filter((setting) => granted[setting]).map((setting) => text(`control.granted_${setting}`));
      byId("granted").textContent = text("control.granted", { names: on.join(", ") || text("control.granted_none") });
    }
  }

  /** Empties the input if it still has this text, which was sent. */
  clearText(sent) {
    if (byId("text-input").value.trim() === sent) byId("text-input").value = "";
  }

  /** @param {number} level dBFS of the microphone */
  showLevel(level) {
    byId("level-ring").style.transform = `scale(${1 + Math.max(0, Math.min(1, (level + 50) / 36)) * 0.22})`;
  }

  _bindButtons() {
    const { toggle, mute, interrupt, pressKey, releaseKey, sendText } = this._actions;
    byId("start").onclick = toggle;
    byId("mute").onclick = mute;
    byId("interrupt").onclick = () => isEnabled("interrupt") && interrupt();
    byId("hold").onpointerdown = (event) => {
      byId("hold").setPointerCapture(event.pointerId);
      pressKey();
    };
    byId("hold").onclick = ({ detail }) => {
      if (detail) return; // from a pointer, which is handled already
      if (byId("hold").classList.contains("held")) releaseKey();
      else pressKey();
    };
    byId("hold").onpointerup = byId("hold").onpointercancel = releaseKey;
    byId("hold").oncontextmenu = (event) => event.preventDefault(); // a long touch must not open a menu
    byId("text-form").onsubmit = (event) => {
      event.preventDefault();
      const typed = byId("text-input").value.trim();
      if (typed && sendText(typed)) byId("text-input").value = "";
    };
  }

  _bindSettings() {
    const current = preferences();
    byId("settings-open").onclick = () => this._showSettings(byId("settings").hidden);
    const narrow = matchMedia(NARROW);
    narrow.onchange = () => placeVolume(narrow.matches);
    placeVolume(narrow.matches);
    const dock = document.querySelector(".dock"); // the panel uses the space above it
    new ResizeObserver(() => document.documentElement.style.setProperty("--dock-height", `${dock.offsetHeight}px`)).observe(dock);
    for (const setting of PROCESSING) {
      byId(setting).checked = current[setting];
      byId(setting).onchange = () => {
        setPreferences({ [setting]: byId(setting).checked });
        this._actions.changeMicrophone();
      };
    }
    byId("microphone").onchange = () => {
      setPreferences({ deviceId: byId("microphone").value });
      this._actions.changeMicrophone();
    };
    byId("transport").value = current.transport;
    byId("transport").onchange = () => {
      setPreferences({ transport: byId("transport").value });
      this._actions.changeTransport();
    };
    const textOnly = byId("text-only");
    textOnly.checked = current.textOnly;
    const drawTextOnly = () => document.body.classList.toggle("text-only", textOnly.checked);
    drawTextOnly();
    textOnly.onchange = () => {
      setPreferences({ textOnly: textOnly.checked });
      drawTextOnly();
      this._actions.changeTextOnly();
    };
    byId("push-to-talk").checked = current.pushToTalk;
    byId("push-to-talk").onchange = () => {
      setPreferences({ pushToTalk: byId("push-to-talk").checked });
      this._actions.pushToTalk(byId("push-to-talk").checked);
    };
    byId("volume").value = String(current.volume);
    byId("volume").oninput = () => {
      setPreferences({ volume: Number(byId("volume").value) });
      this._actions.volume(byId("volume").value / 100);
    };
  }

  _bindTheme() {
    const apply = (theme) => {
      if (theme) document.documentElement.dataset.theme = theme;
      else delete document.documentElement.dataset.theme;
    };
    apply(preferences().theme);
    byId("theme").onclick = () => {
      const now = preferences().theme || (matchMedia("(prefers-color-scheme: light)").matches ? "light" : "dark");
      const theme = now === "light" ? "dark" : "light";
      setPreferences({ theme });
      apply(theme);
    };
  }

  _showSettings(open) {
    byId("settings").hidden = !open;
    byId("settings-open").setAttribute("aria-expanded", String(open));
    const options = { preventScroll: true }; // the panel is visible at every scroll position
    if (open) byId("settings-close").focus(options);
    else if (byId("settings").contains(document.activeElement) || document.activeElement === document.body) byId("settings-open").focus(options);
  }

  _handleKeyDown(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || byId("token-dialog").open) return;
    const typing = event.target.matches?.(TEXT_INPUTS);
    if (event.key === "Escape") {
      if (!byId("settings").hidden) this._showSettings(false);
      else this._actions.interrupt();
    } else if (typing) return;
    else if (event.key === "m" || event.key === "M") {
      if (!event.repeat) this._actions.mute();
    } else if (event.code === "Space" && byId("push-to-talk").checked && !byId("hold").hidden) {
      if (event.target.matches?.(OPERATED_BY_SPACE)) return;
      event.preventDefault(); // must not scroll or press the focused button
      if (event.repeat) return;
      this._spaceHeld = true;
      this._actions.pressKey();
    }
  }

  /** Ends the press of the space bar, wherever the focus is now. */
  _handleKeyUp(event) {
    if (event.code !== "Space" || !this._spaceHeld) return;
    this._spaceHeld = false;
    event.preventDefault();
    this._actions.releaseKey();
  }
}
