/** How long a rendered sample takes until it leaves the loudspeaker, as far as the browser knows. */

const KEPT = 15;
const LONGEST_S = 1; // a longer one is a clock that has not started yet

export class DeviceDelay {
  /** @param {AudioContext} context */
  constructor(context) {
    this._context = context;
    this._seen = [];
  }

  /** Look once; called now and then while sound plays. */
  look() {
    const seconds = this._measured() ?? this._declared();
    this._seen.push(seconds);
    if (this._seen.length > KEPT) this._seen.shift();
  }

  /** @returns {number} seconds: the median of the last looks, since the context's clock moves in steps */
  get seconds() {
    if (!this._seen.length) this.look();
    return [...this._seen].sort((a, b) => a - b)[Math.floor(this._seen.length / 2)];
  }

  /** From the two clocks of the output: what is being rendered now, and what leaves now. */
  _measured() {
    const leaving = this._context.getOutputTimestamp?.();
    if (!leaving?.performanceTime || !leaving.contextTime) return null;
    const sinceS = (performance.now() - leaving.performanceTime) / 1000;
    const seconds = this._context.currentTime - (leaving.contextTime + sinceS);
    return seconds > 0 && seconds < LONGEST_S ? seconds : null;
  }

  _declared() {
    return this._context.outputLatency || this._context.baseLatency || 0;
  }
}
