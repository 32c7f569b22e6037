/** Follows the playback of replies: highlights their words, measures the response latency, and reports to the server. */

const REPORT_EVERY_MS = 100;

export class ReplyPlayback {
  /**
   * @param {import("../audio/audio-io.js").AudioIO} audio
   * @param {import("./realtime-connection.js").RealtimeConnection} connection
   * @param {import("../timing/turn-log.js").TurnLog} turns
   * @param {import("./conversation.js").Conversation} conversation
   * @param {(type: string, detail?: unknown) => void} emit dispatches an event of the session
   */
  constructor(audio, connection, turns, conversation, emit) {
    this._audio = audio;
    this._connection = connection;
    this._turns = turns;
    this._conversation = conversation;
    this._emit = emit;
    this._reportedMs = -Infinity;
    /** @type {string | null} id of the reply that plays */
    this.playing = null;
    const { output } = audio;
    output.addEventListener("began", ({ detail }) => this._began(detail.reply));
    output.addEventListener("audible", ({ detail }) => this._audible(detail));
    output.addEventListener("progress", ({ detail }) => this._progress(detail));
    output.addEventListener("finished", ({ detail }) => this._ended(detail, true));
    output.addEventListener("flushed", ({ detail }) => this._ended(detail, false));
    output.addEventListener("dropped", () => emit("problem", { problem: "overflow", message: "" }));
  }

  /** Highlights words as they leave the loudspeaker; called once per animation frame. */
  highlightWords() {
    if (!this.playing) return;
    this._conversation.markPlayed(this.playing, this._audio.output.playedMs(this.playing));
    if (this._conversation.changed.size) this._emit("items");
  }

  _began(reply) {
    this.playing = reply;
    this._reportedMs = -Infinity;
    this._emit("phase");
  }

  _audible({ reply, leaves_s, device_ms }) {
    const turn = this._turns.ofReply(reply);
    const report = { played_ms: this._audio.output.playedMs(reply), finished: false, device_ms };
    if (turn) {
      this._turns.setReplyOnset(turn, leaves_s, device_ms);
      if (turn.speech_latency_ms !== null) report.latency_ms = turn.speech_latency_ms;
      this._emit("turn", turn);
    }
    this._report(reply, report);
  }

  _progress({ reply, level }) {
    this._emit("output-level", { level });
    const nowMs = this._audio.context.currentTime * 1000;
    if (nowMs - this._reportedMs < REPORT_EVERY_MS) return;
    this._reportedMs = nowMs;
    this._report(reply, { played_ms: this._audio.output.playedMs(reply), finished: false });
  }

  _ended({ reply, played_ms }, finished) {
    this._report(reply, { played_ms, finished });
    if (finished) this._conversation.markAllPlayed(reply);
    else {
      this._conversation.markPlayed(reply, played_ms);
      this._conversation.markInterrupted(reply);
    }
    if (this.playing === reply) this.playing = null;
    this._emit("items");
    this._emit("phase");
  }

  _report(reply, fields) {
    this._connection.send({ type: "repartee.playout", response_id: reply, ...fields });
  }
}
