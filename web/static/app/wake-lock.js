/** Keeps the screen of a phone or tablet on while a conversation runs. */

export class WakeLock {
  constructor() {
    this._wanted = false;
    this._lock = null;
    this._asking = false;
    document.addEventListener("visibilitychange", () => this._take()); // the browser releases it when the page is hidden
  }

  /** @param {boolean} running whether a conversation runs */
  draw(running) {
    this._wanted = running && matchMedia("(pointer: coarse)").matches;
    if (this._wanted) this._take();
    else this._release();
  }

  async _take() {
    if (!this._wanted || this._asking || document.hidden || (this._lock && !this._lock.released)) return;
    this._asking = true;
    try {
      this._lock = (await navigator.wakeLock?.request("screen")) ?? null;
    } catch {
      this._lock = null; // low battery, or not allowed: the screen goes off as usual
    }
    this._asking = false;
    if (!this._wanted) this._release();
  }

  _release() {
    this._lock?.release().catch(() => {});
    this._lock = null;
  }
}
