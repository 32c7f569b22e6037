/** Keeps a microphone open: opens it, detects that it was removed, and opens it again when it is back. */

import { microphoneTrouble } from "./troubles.js";

/** Events: `trouble` (detail: {name, said}), `well` (the microphone is open), `devices` (their list may have changed). */
export class Ear extends EventTarget {
  /**
   * @param {import("../sound/audio-in.js").AudioIn} input
   * @param {() => import("../sound/audio-in.js").Wishes} wishes
   */
  constructor(input, wishes) {
    super();
    this._input = input;
    this._wishes = wishes;
    this._open = this._closed = false;
    this._opening = null;
    this._changed = () => this._devicesChanged();
    input.addEventListener("lost", () => this._lost());
    navigator.mediaDevices?.addEventListener("devicechange", this._changed);
    this._watchPermission();
  }

  /** @returns {boolean} whether there is a microphone, also while it is opened again */
  get hears() {
    return this._open;
  }

  /** Opens it, or opens it again with other settings. Never throws; reports problems as events. @returns {Promise<boolean>} */
  open() {
    this._opening ??= this._openAsWished().finally(() => (this._opening = null));
    return this._opening;
  }

  async _openAsWished() {
    const wishes = this._wishes();
    const opened = await this._try(wishes);
    const meanwhile = JSON.stringify(wishes) !== JSON.stringify(this._wishes());
    return meanwhile && !this._closed ? this._openAsWished() : opened;
  }

  close() {
    this._open = false;
    this._closed = true;
    navigator.mediaDevices?.removeEventListener("devicechange", this._changed);
    if (this._permission) this._permission.onchange = null;
    this._input.close();
  }

  async _try(wishes) {
    try {
      if (!(await this._input.open(wishes))) return false;
    } catch (exception) {
      this._open = false;
      const name = microphoneTrouble(exception);
      this._tell("trouble", { name, said: "" });
      if (name === "wish" && wishes.deviceId) return this._try({ ...wishes, deviceId: "" });
      return false;
    }
    this._open = true;
    this._tell("well");
    this._tell("devices");
    return true;
  }

  _lost() {
    this._open = false;
    this._tell("trouble", { name: "unplugged", said: "" });
    this._tell("devices");
  }

  _devicesChanged() {
    this._tell("devices");
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

  _tell(type, detail = null) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}
