/** Opens a microphone and captures its audio. */

/**
 * @typedef {object} MicrophoneSettings the requested microphone and processing
 * @property {string} deviceId "" for the browser's default
 * @property {boolean} echoCancellation
 * @property {boolean} noiseSuppression
 * @property {boolean} autoGainControl
 */

/**
 * Events: `chunk` (detail: Chunk, see capture.js), `lost` (the device was removed or its permission was withdrawn),
 * `stream` (`track` has changed), `mute` (the system sends silence, for example during a phone call), `unmute`.
 */
export class MicrophoneInput extends EventTarget {
  /** @param {AudioContext} context with capture-worklet.js loaded */
  constructor(context) {
    super();
    this._context = context;
    this._stream = null;
    this._source = null;
    this._requests = 0; // number of calls of open and close
    /** The capture node; other nodes may be connected to the microphone too. */
    this.node = new AudioWorkletNode(context, "repartee-capture", { numberOfInputs: 1, numberOfOutputs: 0 });
    this.node.port.onmessage = ({ data }) => this.dispatchEvent(new CustomEvent("chunk", { detail: data }));
  }

  /** @returns {MediaStreamAudioSourceNode | null} the microphone's node, for recording */
  get source() {
    return this._source;
  }

  /** @returns {MediaStreamTrack | null} the microphone's track, for WebRTC */
  get track() {
    return this._stream?.getAudioTracks()[0] ?? null;
  }

  /** @returns {MediaTrackSettings | null} the settings that the browser granted */
  get grantedSettings() {
    return this._stream?.getAudioTracks()[0].getSettings() ?? null;
  }

  /**
   * Opens a microphone; one that is open is closed first.
   * @param {MicrophoneSettings} settings
   * @returns {Promise<boolean>} false if it was closed before it was granted
   * @throws {DOMException} NotAllowedError, NotFoundError, NotReadableError ...
   */
  async open(settings) {
    const { deviceId, ...processing } = settings;
    const audio = { ...processing, channelCount: 1, ...(deviceId && { deviceId: { exact: deviceId } }) };
    const request = ++this._requests;
    this._releaseStream(); // first, because Chromium processes a second stream of an open microphone like the first
    const stream = await navigator.mediaDevices.getUserMedia({ audio });
    if (request !== this._requests) {
      stopTracks(stream);
      return false;
    }
    this._stream = stream;
    this._source = this._context.createMediaStreamSource(stream);
    this._source.connect(this.node);
    const track = stream.getAudioTracks()[0];
    track.onended = () => {
      if (this._stream !== stream) return;
      this._releaseStream();
      this.dispatchEvent(new Event("lost"));
    };
    for (const type of ["mute", "unmute"]) track.addEventListener(type, () => this._stream === stream && this.dispatchEvent(new Event(type)));
    this.dispatchEvent(new Event("stream"));
    return true;
  }

  /** Closes the microphone, so that the browser shows no recording. A pending request is dropped. */
  close() {
    this._requests++;
    this._releaseStream();
  }

  /** Closes the microphone and ends the capture processor. */
  end() {
    this.close();
    this.node.port.postMessage("end");
  }

  _releaseStream() {
    this._source?.disconnect();
    if (!this._stream) return;
    stopTracks(this._stream);
    this._stream = this._source = null;
    this.dispatchEvent(new Event("stream"));
  }
}

function stopTracks(stream) {
  stream.getTracks().forEach((track) => track.stop());
}

/** @returns {Promise<{id: string, label: string}[]>} the microphones; labels are empty until permission is granted */
export async function microphoneDevices() {
  const devices = await navigator.mediaDevices.enumerateDevices();
  return devices.filter((one) => one.kind === "audioinput").map((one) => ({ id: one.deviceId, label: one.label }));
}
