/** Keeps the screen of a phone or tablet on while a conversation runs. */

export class WakeLock {
  /** @param {() => void} onUnavailable called once in a conversation if the browser does not keep the screen on */
  constructor(onUnavailable = () => {}) {
    this._onUnavailable = onUnavailable;
    this._wanted = this._reported = this._asking = false;
    this._lock = null;
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
    else if (!this._lock && !this._reported && !document.hidden) {
      this._reported = true;
      this._onUnavailable();
    }
  }

  _release() {
    this._reported = false;
    this._lock?.release().catch(() => {});
    this._lock = null;
  }
}
