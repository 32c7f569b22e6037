/** Low-pass filter of both resamplers: a Kaiser-windowed sinc, one row of weights per phase. Pure. */

const ZERO_CROSSINGS = 32; // on each side; with BETA: -80 dB above Nyquist, flat to 10 of 12 kHz
const BETA = 8;
const ROLLOFF = 0.92; // cutoff as a fraction of Nyquist: half of the transition band lies below it

/**
 * Weights that convert one sample rate to another.
 *
 * An output sample lies at input position i + p / phases. Weight j of row p applies to input sample i - half + 1 + j.
 * After each output sample, p increases by `step`; `phases` of it are one input sample. Integers avoid drift.
 */
export class ResamplingFilter {
  /**
   * @param {number} fromHz an integer
   * @param {number} toHz an integer
   */
  constructor(fromHz, toHz) {
    if (!(Number.isInteger(fromHz) && Number.isInteger(toHz) && fromHz > 0 && toHz > 0)) {
      throw new RangeError(`sample rates must be positive integers, not ${fromHz} and ${toHz} Hz`);
    }
    const common = gcd(fromHz, toHz);
    /** Phases from one output sample to the next. */
    this.step = fromHz / common;
    /** Phases per input sample. */
    this.phases = toHz / common;
    const same = fromHz === toHz;
    const narrow = Math.min(1, toHz / fromHz);
    /** Input samples needed after the current one. */
    this.half = same ? 1 : Math.ceil(ZERO_CROSSINGS / narrow);
    /** Weights per row. */
    this.taps = 2 * this.half;
    /** All rows, one after the other. */
    this.weights = new Float32Array(this.phases * this.taps);
    if (same) this.weights[0] = 1;
    else this._computeWeights(narrow * ROLLOFF);
  }

  _computeWeights(cutoff) {
    for (let phase = 0; phase < this.phases; phase++) {
      const row = this.weights.subarray(phase * this.taps, (phase + 1) * this.taps);
      let sum = 0;
      for (let j = 0; j < this.taps; j++) {
        const x = j - this.half + 1 - phase / this.phases; // distance from the output sample in input samples
        row[j] = sinc(cutoff * x) * kaiser(x / this.half);
        sum += row[j];
      }
      for (let j = 0; j < this.taps; j++) row[j] /= sum; // equal gain for every phase
    }
  }
}

function gcd(a, b) {
  return b ? gcd(b, a % b) : a;
}

function sinc(x) {
  return x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x);
}

function kaiser(x) {
  return Math.abs(x) >= 1 ? 0 : bessel(BETA * Math.sqrt(1 - x * x)) / bessel(BETA);
}

/** The modified Bessel function of order 0. */
function bessel(x) {
  let sum = 1;
  let term = 1;
  for (let k = 1; term > 1e-12 * sum; k++) {
    term *= (x / (2 * k)) ** 2;
    sum += term;
  }
  return sum;
}
