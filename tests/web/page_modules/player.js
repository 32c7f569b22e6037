import { Player } from "/static/audio/player.js";
import { toInt16 } from "/static/audio/pcm.js";
import { near, run, same, tones } from "./check.js";

const SOUND = toInt16(tones(24000, 24000));

/** Renders blocks of 128 samples; `at` is called before each block. */
function rendered(player, blocks, at = {}, from = 0) {
  const out = new Float32Array(blocks * 128);
  const events = [];
  for (let n = 0; n < blocks; n++) {
    at[n]?.();
    events.push(...player.render(out.subarray(n * 128, (n + 1) * 128), from + n * 128));
  }
  return { out, events };
}

function eventsOf(events, type) {
  return events.filter((one) => one.type === type);
}

export default () => run({
  "a reply starts with its first sample in the block after its arrival"() {
    for (const rate of [24000, 44100, 48000, 96000]) {
      const player = new Player(rate);
      const { out, events } = rendered(player, Math.ceil((rate * 1.2) / 128), { 3: () => player.pushChunk("a", SOUND), 9: () => player.end("a") });
      same(events[0], { type: "run", reply: "a", frame: 384, sample: 0 });
      const wanted = tones(rate, rate);
      const error = Math.max(...out.slice(384 + 100, 384 + rate - 200).map((value, n) => Math.abs(value - wanted[n + 100])));
      near(error, 0, 0.002, `error at ${rate} Hz`);
      const [finished] = eventsOf(events, "finished");
      same(finished.sample, 24000);
      near(finished.frame, 384 + rate, 1, `end at ${rate} Hz`);
    }
  },
  "audio chunks of any size are joined without a gap"() {
    const player = new Player(48000);
    const at = {};
    for (let n = 0, from = 0; from < SOUND.length; n++) {
      const [a, b] = [from, from + ((n * 37) % 900) + 300];
      at[n] = () => player.pushChunk("a", SOUND.slice(a, b));
      from = b;
    }
    const { out, events } = rendered(player, 340, at);
    same(eventsOf(events, "underrun").length, 0);
    const wanted = tones(48000, 40000);
    near(Math.max(...out.slice(100, 39000).map((value, n) => Math.abs(value - wanted[n + 100]))), 0, 0.002);
  },
  "after a flush it is silent within 4 ms, and further audio is dropped"() {
    const player = new Player(48000);
    player.pushChunk("a", SOUND);
    let stopped;
    const { out } = rendered(player, 60, { 30: () => (stopped = player.flush()), 40: () => same(player.pushChunk("a", SOUND), false) });
    same(stopped.reply, "a");
    near(stopped.sample, 30 * 64, 1);
    near(Math.max(...out.slice(30 * 128 + 192).map(Math.abs)), 0, 0);
    const step = Math.max(...out.slice(3700, 4100).map((value, n) => Math.abs(value - out[3700 + n - 1])));
    near(step, 0, 0.35, "the largest step at the fade");
  },
  "a reply after a flush is played"() {
    const player = new Player(48000);
    player.pushChunk("a", SOUND);
    rendered(player, 10);
    player.flush();
    player.pushChunk("b", SOUND);
    same(rendered(player, 10, {}, 1280).events[0].reply, "b");
  },
  "an underrun buffers 60 ms, the next one twice as much, and a reply without underrun halves it"() {
    const player = new Player(24000);
    player.pushChunk("a", SOUND.slice(0, 480));
    rendered(player, 10);
    player.pushChunk("a", SOUND.slice(480, 960));
    same(rendered(player, 10, {}, 1280).events, []);
    player.pushChunk("a", SOUND.slice(960, 2000));
    const again = rendered(player, 20, {}, 2560).events;
    same(eventsOf(again, "underrun").length, 1);
    near(eventsOf(again, "run")[0].sample, 480, 1);
    player.pushChunk("a", SOUND.slice(2000, 4000));
    same(rendered(player, 20, {}, 5120).events, []);
    player.pushChunk("a", SOUND.slice(4000, 5000));
    same(eventsOf(rendered(player, 40, {}, 7680).events, "underrun").length, 1);
    player.end("a");
    rendered(player, 5, {}, 12800);
    player.pushChunk("b", SOUND.slice(0, 2000)); // 83 ms, less than the buffer of 120 ms
    same(rendered(player, 5, {}, 20000).events, []);
    player.end("b");
    same(eventsOf(rendered(player, 20, {}, 21000).events, "finished").length, 1);
  },
  "an underrun makes no click"() {
    const player = new Player(48000);
    const low = Float32Array.from({ length: 24000 }, (_, n) => 0.5 * Math.cos((2 * Math.PI * 100 * n) / 24000));
    player.pushChunk("a", toInt16(low.subarray(0, 12030)));
    const { out, events } = rendered(player, 500, { 300: () => player.pushChunk("a", toInt16(low.subarray(12030))) });
    same(eventsOf(events, "underrun").length, 1);
    const steps = Array.from(out.slice(1000, 60000), (value, n) => Math.abs(value - out[1000 + n - 1]));
    near(Math.max(...steps), 0, 0.012); // 0.0065 for the tone alone
    same(Math.max(...out.slice(27000, 300 * 128).map(Math.abs)), 0);
  },
  "a late end of a reply is not an underrun"() {
    const player = new Player(48000);
    player.pushChunk("a", SOUND.slice(0, 2400));
    const { events } = rendered(player, 100, { 80: () => player.end("a") });
    same(eventsOf(events, "underrun").length, 0);
    same(eventsOf(events, "finished")[0].sample, 2400);
  },
  "the first audible sample is reported at its frame, after leading silence and a click"() {
    const player = new Player(48000);
    const pcm = new Int16Array(24000);
    pcm[1000] = 30000;
    pcm.set(SOUND.subarray(0, 12000), 7200); // 300 ms
    player.pushChunk("a", pcm);
    player.end("a");
    const { events } = rendered(player, 500, {}, 128000);
    near(eventsOf(events, "audible")[0].sample, 7200, 240);
    same(eventsOf(events, "audible")[0].frame, 128000 + eventsOf(events, "audible")[0].sample * 2);
  },
  "ducking lowers the level by 18 dB within 20 ms and restores it"() {
    const player = new Player(48000);
    player.pushChunk("a", toInt16(new Float32Array(24000).fill(0.5)));
    const { out } = rendered(player, 100, { 40: () => player.duck(true), 70: () => player.duck(false) });
    near(out[40 * 128 - 1], 0.5, 0.001);
    near(out[40 * 128 + 960], 0.5 * 10 ** (-18 / 20), 0.001);
    near(out[70 * 128 + 960], 0.5, 0.001);
  },
  "ducking ends with its reply"() {
    const player = new Player(48000);
    player.duck(true); // too late: the reply is over
    const half = toInt16(new Float32Array(4800).fill(0.5));
    for (const id of ["a", "b"]) {
      player.pushChunk(id, half);
      player.end(id);
    }
    const { out } = rendered(player, 150, { 40: () => player.duck(true) });
    near(out[40 * 128 - 1], 0.5, 0.001, "before");
    near(out[9600 - 200], 0.5 * 10 ** (-18 / 20), 0.001, "ducked");
    near(out[9600 + 1500], 0.5, 0.001, "the next");
  },
  "two replies follow each other without a gap"() {
    const player = new Player(24000);
    player.pushChunk("a", SOUND.slice(0, 1000));
    player.end("a");
    player.pushChunk("b", SOUND.slice(1000, 3000));
    const { out, events } = rendered(player, 22);
    same(eventsOf(events, "run").map((one) => one.frame), [0, 1000]);
    near(Math.max(...out.slice(0, 2800).map((value, n) => Math.abs(value - SOUND[n] / 32768))), 0, 1e-6);
  },
});
