/** Checks of the first steps: the verdict on the microphone, and the names of voices. */

import { judge, levelOf, refusalText, shareOf } from "/static/first-run/microphone-level.js";
import { voiceName } from "/static/settings/voice-name.js";
import { near, run, same } from "./check.js";

const windows = (count, dbfs, peak = 0.1) => Array.from({ length: count }, () => ({ dbfs, peak }));
const verdict = (...parts) => judge(parts.flat()).verdict;

export default () =>
  run({
    "level of a full sine": () => {
      const { dbfs, peak } = levelOf(Float32Array.from({ length: 4800 }, (_, n) => Math.sin(n / 10)));
      near(dbfs, -3, 0.1, "level");
      near(peak, 1, 0.01, "peak");
    },
    "silence has no level": () => same(levelOf(new Float32Array(100)).dbfs, null), // -Infinity as JSON
    "no sound is no signal": () => same(verdict(), "silent"),
    "digital silence is no signal": () => same(verdict(windows(80, -Infinity, 0)), "silent"),
    "a click in silence is no signal": () => same(verdict(windows(78, -80), windows(2, -10, 1)), "silent"),
    "a whisper is too quiet": () => same(verdict(windows(60, -70), windows(20, -50)), "quiet"),
    "speech is fine": () => same(verdict(windows(50, -65), windows(30, -25, 0.5)), "fine"),
    "speech with one clipped moment is fine": () => same(verdict(windows(50, -65), windows(28, -25, 0.5), windows(2, -8, 1)), "fine"),
    "shouting is clipped": () => same(verdict(windows(50, -40), windows(30, -6, 1)), "clipped"),
    "every verdict has words": () => same([-Infinity, -50, -20].map((dbfs) => judge(windows(9, dbfs)).text.endsWith(".")), [true, true, true]),
    "share of the level": () => same([shareOf(-Infinity), shareOf(-60), shareOf(-30), shareOf(3)], [0, 0, 0.5, 1]),
    "a refusal names the remedy": () => same(/Allow it/.test(refusalText({ name: "NotAllowedError" })), true),
    "voices have names": () => {
      const shown = (name) => voiceName(name, [{ name: "one", label: "One (DE)" }, { name: "two", label: "" }]);
      const names = ["en_US-joe-medium", "en_GB-southern_english_female-low", "espeak-ng", "one", "two", "x"];
      same(names.map(shown), ["Joe (US, medium)", "Southern English Female (GB, low)", "espeak-ng (robotic)", "One (DE)", "two", "x"]);
      same(voiceName("x"), "x");
    },
  });
