import { Capture } from "/static/audio/capture.js";
import { CaptureTimeline } from "/static/audio/capture-timeline.js";
import { fromBase64, levelDbfs, toBase64, toInt16 } from "/static/audio/pcm.js";
import { PlaybackTimeline } from "/static/audio/playback-timeline.js";
import { StreamResampler } from "/static/audio/resampler.js";
import { near, run, same, tones } from "./check.js";

const RATES = [8000, 16000, 22050, 24000, 32000, 44100, 48000, 88200, 96000, 192000];

/** Splits sound into pieces of different sizes, as a sound card and a network do. */
function resampled(from, to, seconds) {
  const sound = tones(from, from * seconds);
  const resampler = new StreamResampler(from, to);
  const out = [];
  for (let at = 0, n = 1; at < sound.length; at += n, n = (n * 7) % 331 + 1) out.push(...resampler.pushBlock(sound.subarray(at, at + n)));
  return out;
}

export default () => run({
  "base64 round trip keeps every int16"() {
    const pcm = Int16Array.from([0, 1, -1, 32767, -32768, 258]);
    same([...fromBase64(toBase64(pcm))], [...pcm]);
  },
  "an odd number of bytes is rejected"() {
    let rejected = false;
    try { fromBase64(btoa("abc")); } catch { rejected = true; }
    same(rejected, true);
  },
  "floats are clipped, not wrapped"() {
    same([...toInt16(Float32Array.of(2, -2, 0.5, 0))], [32767, -32768, 16384, 0]);
  },
  "levels are in dB of full scale"() {
    near(levelDbfs(new Float32Array(480).fill(0.1)), -20, 0.01);
    same(levelDbfs(new Float32Array(480)), -120);
  },
  "every sample rate is converted to 24 kHz in phase, with an error below -60 dB"() {
    for (const from of RATES.filter((hz) => hz >= 16000)) {
      const out = resampled(from, 24000, 0.5);
      const wanted = tones(24000, out.length);
      const error = Math.max(...out.slice(400, -400).map((value, n) => Math.abs(value - wanted[n + 400])));
      near(error, 0, 0.001, `error from ${from} Hz`);
      near(out.length, 12000, 70, `length from ${from} Hz`);
    }
  },
  "frequencies above 12 kHz are removed, not aliased"() {
    const sound = Float32Array.from({ length: 24000 }, (_, n) => Math.sin((2 * Math.PI * 15000 * n) / 48000));
    near(Math.max(...new StreamResampler(48000, 24000).pushBlock(sound).slice(200)), 0, 0.001);
  },
  "chunks carry the context frame of their first sample"() {
    const capture = new Capture(44100);
    const frames = [];
    for (let frame = 1280; frame < 46000; frame += 128) for (const chunk of capture.process(frame, new Float32Array(128))) frames.push(chunk);
    frames.forEach(({ frame, pcm }, n) => {
      near(frame, 1280 + n * 882, 1e-6);
      same(pcm.length, 480);
    });
    near(frames.length, 50, 1);
  },
  "a click is found at the frame at which it was captured"() {
    const capture = new Capture(48000);
    const chunks = [];
    for (let frame = 0; frame < 12800; frame += 128) {
      const block = new Float32Array(128);
      if (frame === 6400) block[17] = 1;
      chunks.push(...capture.process(frame, block));
    }
    const loudest = chunks.flatMap(({ pcm, frame }) => [...pcm].map((value, n) => ({ value: Math.abs(value), frame: frame + 2 * n })))
      .reduce((a, b) => (a.value >= b.value ? a : b));
    near(loudest.frame, 6417, 1);
  },
  "a jump of the context frames starts a new stream"() {
    const capture = new Capture(48000);
    capture.process(0, new Float32Array(700));
    const [chunk] = capture.process(5000, new Float32Array(1100));
    same(chunk.frame, 5000);
  },
  "sent audio is mapped to context frames across a break"() {
    const timeline = new CaptureTimeline(24000);
    same(timeline.frameAt(100), null);
    for (let n = 0; n < 50; n++) timeline.addSent(240 + n * 480, 480);
    for (let n = 0; n < 50; n++) timeline.addSent(72000 + n * 480, 480); // muted in between
    same([500, 1000, 1500].map((ms) => timeline.frameAt(ms)), [240 + 12000, 240 + 24000, 72000 + 12000]);
  },
  "sent audio is mapped at the context's sample rate"() {
    const timeline = new CaptureTimeline(48000);
    for (let n = 0; n < 100; n++) timeline.addSent(1000 + n * 960, 480);
    same(timeline.frameAt(1500), 1000 + 72000);
  },
  "audio lost with a connection does not count as sent"() {
    const timeline = new CaptureTimeline(24000);
    for (let n = 0; n < 50; n++) timeline.addSent(n * 480, 480);
    for (let n = 0; n < 50; n++) timeline.addSent(72000 + n * 480, 480);
    timeline.dropAfter(1200); // of 2000 ms
    for (let n = 0; n < 50; n++) timeline.addSent(240000 + n * 480, 480);
    same([500, 1100, 1200, 1300].map((ms) => timeline.frameAt(ms)), [12000, 72000 + 2400, 72000 + 4800, 240000 + 2400]);
    timeline.dropAfter(800);
    timeline.addSent(300000, 480);
    same([800, 820].map((ms) => timeline.frameAt(ms)), [19200, 300480]);
    timeline.dropAfter(0);
    timeline.addSent(400000, 480);
    same(timeline.frameAt(20), 400480);
  },
  "another server that continues the conversation counts from the beginning"() {
    const timeline = new CaptureTimeline(24000);
    for (let n = 0; n < 300; n++) timeline.addSent(n * 2000, 480); // more runs than are kept
    timeline.dropAfter(0);
    timeline.addSent(5000000, 480);
    same(timeline.frameAt(10), 5000240);
  },
  "playback maps frames to samples across an underrun"() {
    const playback = new PlaybackTimeline(48000);
    playback.addRun(1000, 0);
    playback.setRendered(2400);
    playback.addRun(9000, 2400);
    playback.setRendered(4800);
    same([playback.sampleAt(999), playback.sampleAt(2000), playback.sampleAt(8000), playback.sampleAt(9002), playback.sampleAt(1e6)],
      [0, 500, 2400, 2401, 4800]);
  },
});
