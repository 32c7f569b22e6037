/** The page as an app: its service worker, and what it does while the server cannot be reached. */

const REGISTER_AFTER_MS = 4000; // storing the files must not delay the first conversation
const CHECK_EVERY_MS = 5000;

export class InstalledApp {
  /**
   * @param {object} page
   * @param {() => boolean} page.isBusy whether a conversation runs
   * @param {(reachable: boolean) => void} page.onReachable called when the server cannot be reached, and when it can again
   */
  constructor({ isBusy, onReachable }) {
    this._isBusy = isBusy;
    this._onReachable = onReachable;
    if (!isSecureContext || !("serviceWorker" in navigator)) return;
    setTimeout(() => this._register(), REGISTER_AFTER_MS);
    if (navigator.serviceWorker.controller) this._check(true);
  }

  _register() {
    if (this._isBusy()) return setTimeout(() => this._register(), REGISTER_AFTER_MS);
    const script = new URL("service-worker.js", document.baseURI);
    // Without it the page works as well, but does not open without the server.
    navigator.serviceWorker.register(script, { updateViaCache: "none" }).catch(() => {});
  }

  /** Checks whether the server can be reached, until it can. Then replaces a page from the store by the server's. */
  async _check(first = false) {
    let reached = false;
    try {
      reached = (await fetch(new URL("healthz", document.baseURI), { cache: "no-store", signal: AbortSignal.timeout(CHECK_EVERY_MS) })).ok;
    } catch {
      // not reached
    }
    if (reached && first) return;
    this._onReachable(reached);
    if (!reached) setTimeout(() => this._check(), CHECK_EVERY_MS);
    else if (!this._isBusy()) location.reload();
  }
}
