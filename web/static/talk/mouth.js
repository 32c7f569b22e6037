/** Follows the playback of replies: highlights their words, measures the latency, and reports to the server. */

const REPORT_EVERY_MS = 100;

export class Mouth {
  /**
   * @param {import("../sound/sound.js").Sound} sound
   * @param {import("./wire.js").Wire} wire
   * @param {import("../timing/turns.js").Turns} turns
   * @param {import("./conversation.js").Conversation} conversation
   * @param {(type: string, detail?: unknown) => void} tell dispatches an event of the Talk
   */
  constructor(sound, wire, turns, conversation, tell) {
    this._sound = sound;
    this._wire = wire;
    this._turns = turns;
    this._conversation = conversation;
    this._tell = tell;
    this._reportedMs = -Infinity;
    /** @type {string | null} the reply that plays */
    this.playing = null;
    const { output } = sound;
    output.addEventListener("began", ({ detail }) => this._began(detail.reply));
    output.addEventListener("audible", ({ detail }) => this._audible(detail));
    output.addEventListener("progress", ({ detail }) => this._progress(detail));
    output.addEventListener("finished", ({ detail }) => this._over(detail, true));
    output.addEventListener("flushed", ({ detail }) => this._over(detail, false));
    output.addEventListener("dropped", () => tell("trouble", { name: "overflow", said: "" }));
  }

  /** Highlights words as they leave the loudspeaker; called once per animation frame. */
  lightUp() {
    if (!this.playing) return;
    this._conversation.heard(this.playing, this._sound.output.heardMs(this.playing));
    if (this._conversation.changed.size) this._tell("words");
  }

  _began(reply) {
    this.playing = reply;
    this._reportedMs = -Infinity;
    this._tell("phase");
  }

  _audible({ reply, leaves_s, device_ms }) {
    const turn = this._turns.of(reply);
    const report = { played_ms: this._sound.output.heardMs(reply), finished: false, device_ms };
    if (turn) {
      this._turns.audible(turn, leaves_s, device_ms);
      if (turn.latency_ms !== null) report.latency_ms = turn.latency_ms;
      this._tell("turn", turn);
    }
    this._report(reply, report);
  }

  _progress({ reply, level }) {
    this._tell("spoke", { level });
    const nowMs = this._sound.context.currentTime * 1000;
    if (nowMs - this._reportedMs < REPORT_EVERY_MS) return;
    this._reportedMs = nowMs;
    this._report(reply, { played_ms: this._sound.output.heardMs(reply), finished: false });
  }

  _over({ reply, played_ms }, finished) {
    this._report(reply, { played_ms, finished });
    if (finished) this._conversation.heardAll(reply);
    else {
      this._conversation.heard(reply, played_ms);
      this._conversation.cut(reply);
    }
    if (this.playing === reply) this.playing = null;
    this._tell("words");
    this._tell("phase");
  }

  _report(reply, fields) {
    this._wire.send({ type: "repartee.playout", response_id: reply, ...fields });
  }
}
