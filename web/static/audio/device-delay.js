/** Estimates the delay from rendering a sample to its leaving the loudspeaker, as far as the browser reports it. */

const KEPT_MEASUREMENTS = 15;
const MAX_DELAY_S = 1; // a longer delay means that a clock has not started yet

export class DeviceDelay {
  /** @param {AudioContext} context */
  constructor(context) {
    this._context = context;
    this._measurements = [];
  }

  /** Takes one measurement; called regularly while sound plays. */
  measure() {
    const seconds = this._fromTimestamps() ?? this._fromBrowserEstimate();
    this._measurements.push(seconds);
    if (this._measurements.length > KEPT_MEASUREMENTS) this._measurements.shift();
  }

  /** @returns {number} seconds: the median of the last measurements, because the context's clock moves in steps */
  get seconds() {
    if (!this._measurements.length) this.measure();
    return [...this._measurements].sort((a, b) => a - b)[Math.floor(this._measurements.length / 2)];
  }

  /** Computes the delay from the context times of the sample being rendered and of the sample that leaves now. */
  _fromTimestamps() {
    const output = this._context.getOutputTimestamp?.();
    if (!output?.performanceTime || !output.contextTime) return null;
    const sinceS = (performance.now() - output.performanceTime) / 1000;
    const seconds = this._context.currentTime - (output.contextTime + sinceS);
    return seconds > 0 && seconds < MAX_DELAY_S ? seconds : null;
  }

  _fromBrowserEstimate() {
    return this._context.outputLatency || this._context.baseLatency || 0;
  }
}
