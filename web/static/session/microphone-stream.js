/** Keeps a microphone open: opens it, detects that it was removed, and opens it again when it is back. */

import { microphoneProblem } from "./problems.js";

/**
 * Events: `problem` (detail: {problem, message}), `opened` (detail: whether the system had taken it from a hidden page),
 * `unmuted` (the system sends its sound again), `devices` (the list of devices may have changed).
 */
export class MicrophoneStream extends EventTarget {
  /**
   * @param {import("../audio/microphone-input.js").MicrophoneInput} input
   * @param {() => import("../audio/microphone-input.js").MicrophoneSettings} settings returns the requested settings
   */
  constructor(input, settings) {
    super();
    this._input = input;
    this._settings = settings;
    this._open = this._closed = this._wasOpen = this._wasTaken = false;
    this._opening = null;
    this._onDeviceChange = () => this._devicesChanged();
    input.addEventListener("lost", () => this._lost());
    input.addEventListener("mute", () => this._emit("problem", { problem: "taken", message: "" }));
    input.addEventListener("unmute", () => this._emit("unmuted"));
    navigator.mediaDevices?.addEventListener("devicechange", this._onDeviceChange);
    this._onVisible = () => this._pageShown();
    document.addEventListener("visibilitychange", this._onVisible);
    this._watchPermission();
  }

  /** @returns {boolean} whether a microphone is open; also true while it is opened again with other settings */
  get isOpen() {
    return this._open;
  }

  /** Opens it, or opens it again with other settings. Never throws; reports problems as events. @returns {Promise<boolean>} */
  open() {
    this._opening ??= this._openWithSettings().finally(() => (this._opening = null));
    return this._opening;
  }

  /** Opens it, again if the settings were changed in the meantime. */
  async _openWithSettings() {
    const settings = this._settings();
    const opened = await this._tryOpen(settings);
    const changed = JSON.stringify(settings) !== JSON.stringify(this._settings());
    return changed && !this._closed ? this._openWithSettings() : opened;
  }

  close() {
    this._open = false;
    this._closed = true;
    navigator.mediaDevices?.removeEventListener("devicechange", this._onDeviceChange);
    document.removeEventListener("visibilitychange", this._onVisible);
    if (this._permission) this._permission.onchange = null;
    this._input.close();
  }

  async _tryOpen(settings) {
    try {
      if (!(await this._input.open(settings))) return false;
    } catch (exception) {
      this._open = false;
      const problem = microphoneProblem(exception);
      this._emit("problem", { problem, message: "" });
      if (problem === "device-missing" && settings.deviceId) return this._tryOpen({ ...settings, deviceId: "" });
      return false;
    }
    this._open = this._wasOpen = true;
    this._emit("opened", this._wasTaken);
    this._wasTaken = false;
    this._emit("devices");
    return true;
  }

  _lost() {
    this._open = false;
    this._emit("problem", { problem: "unplugged", message: "" });
    this._emit("devices");
  }

  /** Opens it again if it was lost or muted while the page was hidden: phones take it from a page in the background. */
  _pageShown() {
    const { track } = this._input;
    if (document.hidden || !this._wasOpen || (this._open && track?.readyState === "live" && !track.muted)) return;
    this._wasTaken = true;
    this.open();
  }

  _devicesChanged() {
    this._emit("devices");
    if (!this._open) this.open();
  }

  async _watchPermission() {
    try {
      this._permission = await navigator.permissions.query({ name: "microphone" });
    } catch {
      return; // not every browser supports this
    }
    this._permission.onchange = () => {
      if (this._permission.state === "granted" && !this._open) this.open();
    };
  }

  _emit(type, detail = null) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}
