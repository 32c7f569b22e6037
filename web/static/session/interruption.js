/** Stops or lowers the sound of a reply (barge-in): the user speaks, types, presses the key or Stop, or the server says so. */

export class Interruption {
  /**
   * @param {import("../audio/audio-io.js").AudioIO} audio
   * @param {import("./realtime-connection.js").RealtimeConnection} connection
   * @param {import("./conversation.js").Conversation} conversation
   */
  constructor(audio, connection, conversation) {
    this._audio = audio;
    this._connection = connection;
    this._conversation = conversation;
    /** @type {string | null} id of the reply that the user stopped: its further audio is dropped */
    this.stopped = null;
  }

  /**
   * Stops the reply for the user.
   * @param {string | null} generated id of the reply that is being generated
   * @param {string | null} playing id of the reply that plays
   */
  interrupt(generated, playing) {
    const stopped = generated ?? playing;
    if (!stopped) return;
    this._connection.send(generated ? { type: "response.cancel", response_id: stopped } : { type: "output_audio_buffer.clear" });
    this.stopped = stopped;
    this._audio.output.flush();
  }

  /** The server has heard the user speak, or was told to drop what is not played. Audio that has not started to play is dropped, too. */
  stop() {
    this._audio.output.flush();
  }

  /** Speech that may be an interruption lowers the reply; restores it if it was none. @param {boolean} on */
  duck(on) {
    this._audio.output.duck(on);
  }

  /** The server has cancelled a reply. */
  cancelled(reply) {
    if (this._audio.output.hasUnplayedAudio(reply)) this._audio.output.flush();
  }

  /** The server has cut a message to what was heard. @param {string} itemId */
  truncated(itemId) {
    const reply = this._conversation.item(itemId)?.response;
    if (reply) this.cancelled(reply);
  }

  /** Another conversation begins, which uses the same reply ids. */
  startAnother() {
    this._audio.output.reset();
    this.stopped = null;
  }

  /** The connection is back. What was sent just before it was lost, or meanwhile, may not have arrived. @param {boolean} resumed whether the conversation continues */
  reconnected(resumed) {
    this.duck(false);
    if (resumed && this.stopped) this._connection.send({ type: "response.cancel", response_id: this.stopped });
  }
}
