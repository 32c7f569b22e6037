/** Estimates the delay from rendering a sample to its leaving the loudspeaker, as far as the browser reports it. */

const KEPT = 15;
const LONGEST_S = 1; // a longer delay means that a clock has not started yet

export class DeviceDelay {
  /** @param {AudioContext} context */
  constructor(context) {
    this._context = context;
    this._seen = [];
  }

  /** Takes one measurement; called regularly while sound plays. */
  look() {
    const seconds = this._measured() ?? this._declared();
    this._seen.push(seconds);
    if (this._seen.length > KEPT) this._seen.shift();
  }

  /** @returns {number} seconds: the median of the last measurements, because the context's clock moves in steps */
  get seconds() {
    if (!this._seen.length) this.look();
    return [...this._seen].sort((a, b) => a - b)[Math.floor(this._seen.length / 2)];
  }

  /** Computes the delay from the context times of the sample being rendered and of the sample that leaves now. */
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
