/** A minimal test harness: runs named checks in the page and reports them to the test that opened it. */

export function same(actual, wanted, what = "") {
  const [a, w] = [JSON.stringify(actual), JSON.stringify(wanted)];
  if (a !== w) throw new Error(`${what} is ${a}, should be ${w}`);
}

export function near(actual, wanted, within, what = "") {
  if (!(Math.abs(actual - wanted) <= within)) throw new Error(`${what} is ${actual}, should be ${wanted} ± ${within}`);
}

export async function run(checks) {
  const failures = [];
  for (const [name, check] of Object.entries(checks)) {
    try {
      await check();
    } catch (error) {
      failures.push(`${name}: ${error.message}`);
    }
  }
  return { failures, count: Object.keys(checks).length };
}

/** Generates band-limited sound: three tones. */
export function tones(rateHz, samples) {
  return Float32Array.from({ length: samples }, (_, n) =>
    [300, 1710, 5200].reduce((sum, hz) => sum + 0.2 * Math.sin((2 * Math.PI * hz * n) / rateHz), 0));
}
