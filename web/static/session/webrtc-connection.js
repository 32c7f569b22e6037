/** A WebRTC connection: the sound goes by media tracks, events by a data channel. Same interface as RealtimeConnection. */

import { TrackTimeline } from "../audio/track-timeline.js";
import { text } from "../texts/texts.js";
import { explainClose, retryDelayMs } from "./close-reasons.js";

const CONNECT_TIMEOUT_MS = 10000;
const GATHER_TIMEOUT_MS = 1000;
const MAX_QUEUED_BYTES = 256 * 1024;
const COUNT_EVERY_MS = 125;
const COMMIT_DELAY_MS = 120; // the last sound is on its way by another path than the commit
const CHANNEL = "oai-events"; // as OpenAI's clients call it

/** Statuses of a server, or of a proxy, that has no WebRTC. */
const NO_WEBRTC = new Set([404, 405, 415, 501]);

/**
 * Events: as RealtimeConnection without `slow` and `probe`, and `unavailable` (detail: {message}): there is no way
 * through to this server by WebRTC. Use a WebSocket.
 */
export class WebRtcConnection extends EventTarget {
  /**
   * @param {URL} url of /v1/realtime
   * @param {import("../audio/audio-io.js").AudioIO} audio its output is a TrackOutput
   */
  constructor(url, audio) {
    super();
    this._url = new URL(`${url.pathname}/calls`, url);
    this._audio = audio;
    this._peer = this._channel = this._sender = null;
    this._timer = this._countTimer = this._commitTimer = 0;
    this._retries = 0;
    this._error = null;
    this._wasOpen = false;
    this._held = true; // no sound of the microphone is sent
    this._later = null; // events that wait for a commit
    /** Where in the sent sound the user's speech ended. */
    this.timeline = new TrackTimeline(audio.context.sampleRate);
    this.token = "";
    /** @type {() => Record<string, string>} */
    this.resumeQuery = () => ({});
    this._onMicrophone = () => this._sendMicrophone();
    audio.input.addEventListener("stream", this._onMicrophone);
  }

  get isOpen() {
    return this._channel?.readyState === "open";
  }

  get canSend() {
    return this.isOpen && this._channel.bufferedAmount <= MAX_QUEUED_BYTES;
  }

  connect() {
    this._close();
    this._error = null;
    const peer = (this._peer = new RTCPeerConnection());
    this._timer = setTimeout(() => this._ended(peer), CONNECT_TIMEOUT_MS);
    this._sender = peer.addTransceiver("audio", { direction: "sendrecv" }).sender;
    peer.ontrack = ({ track, streams }) => this._audio.output.attach(streams[0] ?? new MediaStream([track]));
    peer.onconnectionstatechange = () => ["failed", "closed"].includes(peer.connectionState) && this._ended(peer);
    const channel = (this._channel = peer.createDataChannel(CHANNEL));
    channel.onmessage = ({ data }) => this._handleMessage(data);
    channel.onclose = () => this._ended(peer);
    this._call(peer);
  }

  close() {
    this._audio.input.removeEventListener("stream", this._onMicrophone);
    this._close();
  }

  send(event) {
    if (!this.canSend) return false;
    if (this._later) this._later.push(event);
    else if (event.type === "input_audio_buffer.commit") this._commit(event);
    else this._channel.send(JSON.stringify(event));
    return true;
  }

  /** Lets the microphone's track be heard. @returns {boolean} whether it is */
  sendSound() {
    return this._hold(false);
  }

  /** Sends silence. */
  holdSound() {
    this._hold(true);
  }

  _hold(held) {
    this._held = held;
    const track = this._sender?.track;
    if (track && track.enabled === held) track.enabled = !held;
    return !held && this.isOpen;
  }

  _commit(event) {
    this._later = [event];
    const channel = this._channel;
    this._commitTimer = setTimeout(() => {
      const later = this._later;
      this._later = null;
      if (this._channel === channel && this.isOpen) for (const one of later) channel.send(JSON.stringify(one));
    }, COMMIT_DELAY_MS);
  }

  async _call(peer) {
    try {
      await peer.setLocalDescription(await peer.createOffer());
      await gathered(peer);
      const url = new URL(this._url);
      for (const [name, value] of Object.entries(this.resumeQuery())) url.searchParams.set(name, value);
      const headers = { "Content-Type": "application/sdp", ...(this.token && { Authorization: `Bearer ${this.token}` }) };
      const signal = AbortSignal.timeout(CONNECT_TIMEOUT_MS);
      const response = await fetch(url, { method: "POST", body: peer.localDescription.sdp, headers, signal, cache: "no-store" });
      if (this._peer !== peer) return;
      if (response.status !== 201) return this._refused(peer, response);
      await peer.setRemoteDescription({ type: "answer", sdp: await response.text() });
    } catch (error) {
      if (this._peer === peer) this._ended(peer, error.message);
    }
  }

  async _refused(peer, response) {
    const body = await response.json().catch(() => null); // a proxy's error page is not JSON
    if (this._peer !== peer) return;
    if (NO_WEBRTC.has(response.status)) return this._unavailable(body?.error?.message ?? "");
    const error = body?.error ?? null;
    if (error?.code === "server_busy") error.retry_after_s = Number(response.headers.get("Retry-After"));
    this._handleClose({ status: response.status, error });
  }

  _handleMessage(data) {
    const event = JSON.parse(data);
    const { output } = this._audio;
    if (event.type === "session.created") this._opened();
    else if (event.type === "error") this._error = event.error;
    else if (event.type === "output_audio_buffer.started") output.startReply(event.response_id);
    else if (event.type === "output_audio_buffer.stopped") output.endReply(event.response_id);
    else if (event.type === "output_audio_buffer.cleared") output.clearReply(event.response_id);
    this.dispatchEvent(new CustomEvent("event", { detail: event }));
  }

  /** The server is ready: from now on it counts the sound. */
  _opened() {
    clearTimeout(this._timer);
    this._retries = 0;
    this._wasOpen = true;
    this.timeline.reset();
    this._sendMicrophone();
    this._countTimer = setInterval(() => this._count(), COUNT_EVERY_MS);
  }

  async _sendMicrophone() {
    const track = this._audio.input.track;
    if (!this._sender || !this.isOpen) return;
    if (track) track.enabled = !this._held;
    await this._sender.replaceTrack(track).catch(() => {}); // the connection was closed
  }

  /** Reads from the browser's statistics how much was sent, and how long received sound waits. */
  async _count() {
    const peer = this._peer;
    const stats = await peer?.getStats();
    if (!stats || this._peer !== peer) return;
    const { context, output } = this._audio;
    for (const one of stats.values()) {
      if (one.type === "outbound-rtp") {
        const agoS = (performance.timeOrigin + performance.now() - one.timestamp) / 1000;
        this.timeline.addCount(one.packetsSent, context.currentTime - agoS);
      } else if (one.type === "inbound-rtp" && one.jitterBufferEmittedCount) {
        output.bufferedS = one.jitterBufferDelay / one.jitterBufferEmittedCount;
      }
    }
  }

  _ended(peer, message = "") {
    if (this._peer !== peer) return;
    if (!this._wasOpen && !this._error) return this._unavailable(message || text("notice.udp"));
    this._handleClose({ status: 0, error: this._error });
  }

  _unavailable(message) {
    this._close();
    this.dispatchEvent(new CustomEvent("unavailable", { detail: { message } }));
  }

  _handleClose(cause) {
    const { problem, retry, message } = explainClose({ code: 1006, reason: "", ...cause });
    this._close();
    if (retry) {
      const delayMs = retryDelayMs(this._retries++, cause.error);
      this._timer = setTimeout(() => this.connect(), delayMs);
    }
    this.dispatchEvent(new CustomEvent(retry ? "lost" : "ended", { detail: { problem, message } }));
  }

  _close() {
    clearTimeout(this._timer);
    clearTimeout(this._commitTimer);
    clearInterval(this._countTimer);
    const peer = this._peer;
    if (this._channel) this._channel.onmessage = this._channel.onclose = null;
    this._peer = this._channel = this._sender = this._later = null;
    peer?.close();
  }
}

/** Waits for the addresses of this machine, which the offer must contain. */
function gathered(peer) {
  if (peer.iceGatheringState === "complete") return Promise.resolve();
  return new Promise((done) => {
    setTimeout(done, GATHER_TIMEOUT_MS);
    peer.addEventListener("icegatheringstatechange", () => peer.iceGatheringState === "complete" && done());
  });
}
