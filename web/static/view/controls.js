/** Buttons, keys and switches: calls actions for user input and draws the current state. */

import { microphones } from "../sound/audio-in.js";
import { by, make } from "./page.js";
import { prefer, preferences } from "./preferences.js";

const WISHES = ["echoCancellation", "noiseSuppression", "autoGainControl"];
const TYPED_INTO = "input:not([type=range]):not([type=checkbox]), textarea, select, [contenteditable]";
const WORKED_BY_SPACE = "input[type=checkbox], summary"; // operated by the space bar only

const NARROW = "(max-width: 860px)"; // as in the style sheets

/** Puts the volume among the controls if there is room, otherwise in the settings, so that opening them moves nothing. */
function placeVolume(narrow) {
  const volume = by("volume").parentElement;
  if (narrow) by("microphone").parentElement.after(volume);
  else by("settings").before(volume);
}

/** Enables or disables a control. Keeps its focus: with `disabled` it would lose it, and typed keys become shortcuts. */
function allow(id, on) {
  by(id).setAttribute("aria-disabled", String(!on));
}

function allowed(id) {
  return by(id).getAttribute("aria-disabled") !== "true";
}

/**
 * @typedef {object} Deeds
 * @property {() => void} toggle start or stop
 * @property {() => void} mute
 * @property {() => void} interrupt
 * @property {() => void} press
 * @property {() => void} release
 * @property {(text: string) => boolean} say
 * @property {() => void} wished called when the microphone or its processing was changed
 * @property {(on: boolean) => void} pushToTalk
 * @property {(loudness: number) => void} volume 0..1
 */
export class Controls {
  /** @param {Deeds} deeds */
  constructor(deeds) {
    this._deeds = deeds;
    this._talking = false; // whether the space bar is held to talk
    this._buttons();
    this._settings();
    this._theme();
    addEventListener("keydown", (event) => this._key(event));
    addEventListener("keyup", (event) => this._keyUp(event));
    addEventListener("blur", () => deeds.release()); // the key may be released in another window
  }

  /** @param {{running: boolean, muted: boolean, pushToTalk: boolean, held: boolean, phase: string}} state */
  draw({ running, muted, pushToTalk, held, phase }) {
    by("start-label").textContent = running ? "Stop" : "Start";
    by("start").classList.toggle("running", running);
    for (const id of ["mute", "say", "send"]) allow(id, running);
    allow("interrupt", running && ["speaking", "thinking"].includes(phase));
    by("say").readOnly = !running;
    by("mute").setAttribute("aria-pressed", String(muted));
    by("mute").title = muted ? "Unmute (M)" : "Mute (M)";
    const holds = running && pushToTalk;
    if (!holds && document.activeElement === by("hold")) by("start").focus();
    by("hold").hidden = !holds;
    by("hold").classList.toggle("held", held);
    by("hold").setAttribute("aria-pressed", String(held));
  }

  /** @param {MediaTrackSettings | null} granted the settings that the browser granted */
  async listMicrophones(granted) {
    const select = by("microphone");
    const devices = navigator.mediaDevices ? await microphones() : [];
    const options = devices.filter(({ id }) => id && id !== "default").map(({ id, label }, n) => make("option", { value: id, text: label || `Microphone ${n + 1}` }));
    select.replaceChildren(make("option", { value: "", text: "The browser’s choice" }), ...options);
    const { deviceId } = preferences();
    select.value = options.some((one) => one.value === deviceId) ? deviceId : "";
    if (granted) {
      const does = { echoCancellation: "echo cancellation", noiseSuppression: "noise suppression", autoGainControl: "gain control" };
      const on = WISHES.filter((wish) => granted[wish]).map((wish) => does[wish]);
      by("granted").textContent = `The browser does: ${on.length ? on.join(", ") : "none of these"}.`;
    }
  }

  /** @param {number} level dBFS of the microphone */
  meter(level) {
    by("ring").style.transform = `scale(${1 + Math.max(0, Math.min(1, (level + 50) / 36)) * 0.22})`;
  }

  _buttons() {
    const { toggle, mute, interrupt, press, release, say } = this._deeds;
    by("start").onclick = toggle;
    by("mute").onclick = mute;
    by("interrupt").onclick = () => allowed("interrupt") && interrupt();
    by("stand-ins").onclick = () => {
      by("engines").open = true;
      by("engines").querySelector("summary").focus();
    };
    by("hold").onpointerdown = (event) => {
      by("hold").setPointerCapture(event.pointerId);
      press();
    };
    by("hold").onclick = ({ detail }) => {
      if (detail) return; // from a pointer, which is handled already
      if (by("hold").classList.contains("held")) release();
      else press();
    };
    by("hold").onpointerup = by("hold").onpointercancel = release;
    by("hold").oncontextmenu = (event) => event.preventDefault(); // a long touch must not open a menu
    by("say-form").onsubmit = (event) => {
      event.preventDefault();
      const text = by("say").value.trim();
      if (text && say(text)) by("say").value = "";
    };
  }

  _settings() {
    const set = preferences();
    by("settings-open").onclick = () => this._open(by("settings").hidden);
    const narrow = matchMedia(NARROW);
    narrow.onchange = () => placeVolume(narrow.matches);
    placeVolume(narrow.matches);
    const dock = by("settings").parentElement; // the panel uses the space above it
    new ResizeObserver(() => document.documentElement.style.setProperty("--dock-height", `${dock.offsetHeight}px`)).observe(dock);
    for (const wish of WISHES) {
      by(wish).checked = set[wish];
      by(wish).onchange = () => {
        prefer({ [wish]: by(wish).checked });
        this._deeds.wished();
      };
    }
    by("microphone").onchange = () => {
      prefer({ deviceId: by("microphone").value });
      this._deeds.wished();
    };
    by("push-to-talk").checked = set.pushToTalk;
    by("push-to-talk").onchange = () => {
      prefer({ pushToTalk: by("push-to-talk").checked });
      this._deeds.pushToTalk(by("push-to-talk").checked);
    };
    by("volume").value = String(set.volume);
    by("volume").oninput = () => {
      prefer({ volume: Number(by("volume").value) });
      this._deeds.volume(by("volume").value / 100);
    };
  }

  _theme() {
    const apply = (theme) => {
      if (theme) document.documentElement.dataset.theme = theme;
      else delete document.documentElement.dataset.theme;
    };
    apply(preferences().theme);
    by("theme").onclick = () => {
      const now = preferences().theme || (matchMedia("(prefers-color-scheme: light)").matches ? "light" : "dark");
      const theme = now === "light" ? "dark" : "light";
      prefer({ theme });
      apply(theme);
    };
  }

  _open(open) {
    by("settings").hidden = !open;
    by("settings-open").setAttribute("aria-expanded", String(open));
    const still = { preventScroll: true }; // the panel is visible at every scroll position
    if (open) by("microphone").focus(still);
    else if (by("settings").contains(document.activeElement) || document.activeElement === document.body) by("settings-open").focus(still);
  }

  _key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || by("token-dialog").open) return;
    const typing = event.target.matches?.(TYPED_INTO);
    if (event.key === "Escape") {
      if (!by("settings").hidden) this._open(false);
      else this._deeds.interrupt();
    } else if (typing) return;
    else if (event.key === "m" || event.key === "M") {
      if (!event.repeat) this._deeds.mute();
    } else if (event.code === "Space" && by("push-to-talk").checked && !by("hold").hidden) {
      if (event.target.matches?.(WORKED_BY_SPACE)) return;
      event.preventDefault(); // must not scroll or press the focused button
      if (event.repeat) return;
      this._talking = true;
      this._deeds.press();
    }
  }

  /** Independent of the current focus. */
  _keyUp(event) {
    if (event.code !== "Space" || !this._talking) return;
    this._talking = false;
    event.preventDefault();
    this._deeds.release();
  }
}
