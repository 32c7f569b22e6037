/**
 * The replies of a WebRTC connection: the browser plays their track, and its echo canceller hears it. The server says
 * which reply the track has; this module measures when it becomes audible. Same interface as SpeakerOutput.
 */

const DUCKED = 10 ** (-18 / 20);
const FIRST_BUFFER_S = 0.06; // the browser's jitter buffer, until it is measured
const CLEARED_AFTER_MS = 300; // sound that was on its way when the server dropped the rest

/** Events: as SpeakerOutput. */
export class TrackOutput extends EventTarget {
  /**
   * @param {AudioContext} context with listener-worklet.js loaded
   * @param {import("./speaker-output.js").SpeakerOutput} speaker plays short sounds, and knows the delay of the device
   */
  constructor(context, speaker) {
    super();
    this._context = context;
    this._speaker = speaker;
    this._element = new Audio();
    this._loudness = 1;
    this._ducked = false;
    this._source = null;
    /** The received sound, for tests. */
    this.node = new AudioWorkletNode(context, "repartee-listener", { outputChannelCount: [1] });
    this.node.port.onmessage = ({ data }) => this._handleListenerEvent(data);
    this._silent = new GainNode(context, { gain: 0 }); // the element plays; an unconnected worklet would not run
    this.node.connect(this._silent).connect(context.destination);
    this._reply = null; // { id, began_s, audible }
    this._onset_s = null; // of sound whose reply is not known yet
    this._timer = 0;
    /** Seconds that the sound spends in the browser's jitter buffer. */
    this.bufferedS = FIRST_BUFFER_S;
  }

  /** @param {MediaStream} stream received from the server */
  attach(stream) {
    this._detach();
    this._element.srcObject = stream;
    this._element.play().catch(() => {}); // the context's state shows that the browser has paused the sound
    this._source = this._context.createMediaStreamSource(stream);
    this._source.connect(this.node);
  }

  // What the server says ----------------------------------------------------------------------------------------

  /** The first sound of a reply was sent. */
  startReply(id) {
    this.stopSound();
    if (this._reply) this._finish(true);
    else if (this._timer) this._listenAnew();
    this._cancelTimer();
    this._element.muted = false;
    this._reply = { id, began_s: this._context.currentTime + this.bufferedS, audible: false };
    this._emit("began", { reply: id });
    if (this._onset_s !== null) this._audible(this._onset_s);
  }

  /** The last sound of a reply was sent. */
  endReply(id) {
    if (this._reply?.id !== id) return;
    this._cancelTimer();
    this._timer = setTimeout(() => this._finish(true), (this.bufferedS + this._speaker.deviceDelayMs / 1000) * 1000);
  }

  /** The rest of a reply was dropped. */
  clearReply(id) {
    if (this._reply?.id === id) this.flush();
    this._cancelTimer();
    this._timer = setTimeout(() => this._listenAnew(), CLEARED_AFTER_MS);
  }

  // As SpeakerOutput --------------------------------------------------------------------------------------------

  get deviceDelayMs() {
    return this._speaker.deviceDelayMs;
  }

  /** @param {number} loudness 0..1 */
  set volume(loudness) {
    this._speaker.volume = loudness;
    this._loudness = loudness ** 2;
    this._setVolume();
  }

  pushChunk() {} // the track has the sound

  end() {} // `endReply` follows

  hasUnplayedAudio(reply) {
    return this._reply?.id === reply;
  }

  /** Stops playback at once; the server is told by the session. */
  flush() {
    this.stopSound();
    this.duck(false);
    if (!this._reply) return;
    this._element.muted = true;
    this._finish(false);
  }

  reset() {
    this.flush();
  }

  playSound(pcm) {
    this._speaker.playSound(pcm);
  }

  stopSound() {
    this._speaker.stopSound();
  }

  duck(on) {
    this._ducked = on;
    this._setVolume();
  }

  receivedMs(reply) {
    return this.playedMs(reply);
  }

  /** @returns {number} ms of the reply that have left the loudspeaker by now, as far as the page can know */
  playedMs(reply) {
    if (this._reply?.id !== reply) return 0;
    return Math.max(0, this._context.currentTime - this._speaker.deviceDelayMs / 1000 - this._reply.began_s) * 1000;
  }

  close() {
    this._cancelTimer();
    this._detach();
    this.node.port.postMessage("close");
    this.node.disconnect();
    this._silent.disconnect();
  }

  _detach() {
    this._source?.disconnect();
    this._source = this._element.srcObject = null;
  }

  _setVolume() {
    this._element.volume = this._loudness * (this._ducked ? DUCKED : 1);
  }

  _handleListenerEvent({ type, frame, level }) {
    if (type === "audible") {
      const leaves_s = frame / this._context.sampleRate + this._speaker.deviceDelayMs / 1000;
      if (this._reply && !this._reply.audible) this._audible(leaves_s);
      else this._onset_s = leaves_s; // the event about its reply is still on its way
    } else if (this._reply) this._emit("progress", { reply: this._reply.id, level });
  }

  _audible(leaves_s) {
    this._onset_s = null;
    this._reply.audible = true;
    const device_ms = this.bufferedS * 1000 + this._speaker.deviceDelayMs;
    this._emit("audible", { reply: this._reply.id, leaves_s, device_ms });
  }

  _cancelTimer() {
    clearTimeout(this._timer);
    this._timer = 0;
  }

  _finish(whole) {
    this._cancelTimer();
    const reply = this._reply.id;
    const played_ms = this.playedMs(reply);
    this._reply = null;
    if (whole) this._listenAnew();
    this._emit(whole ? "finished" : "flushed", { reply, played_ms });
  }

  /** Forgets the sound so far; also that of a reply that was dropped. */
  _listenAnew() {
    this._timer = 0;
    this._onset_s = null;
    this.node.port.postMessage("restart");
    if (!this._reply) this._element.muted = false;
  }

  _emit(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}
