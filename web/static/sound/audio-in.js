/** Captures the microphone. */

/**
 * @typedef {object} Wishes the requested microphone and processing
 * @property {string} deviceId "" for the browser's choice
 * @property {boolean} echoCancellation
 * @property {boolean} noiseSuppression
 * @property {boolean} autoGainControl
 */

/**
 * Events: `chunk` (detail: Chunk, see capture.js), `lost` (the device was removed or its permission was withdrawn).
 */
export class AudioIn extends EventTarget {
  /** @param {AudioContext} context with capture-worklet.js loaded */
  constructor(context) {
    super();
    this._context = context;
    this._stream = null;
    this._source = null;
    this._asked = 0; // number of calls of open and close
        /** The capture node; other nodes may be connected to the microphone too. */
    this.node = new AudioWorkletNode(context, "repartee-capture", { numberOfInputs: 1, numberOfOutputs: 0 });
    this.node.port.onmessage = ({ data }) => this.dispatchEvent(new CustomEvent("chunk", { detail: data }));
  }

  /** @returns {MediaStreamAudioSourceNode | null} the microphone's node, for recording */
  get source() {
    return this._source;
  }

  /** @returns {MediaTrackSettings | null} the settings that the browser granted */
  get granted() {
    return this._stream?.getAudioTracks()[0].getSettings() ?? null;
  }

  /**
   * Opens a microphone; one that is open is closed first.
   * @param {Wishes} wishes
   * @returns {Promise<boolean>} false if it was closed before it was granted
   * @throws {DOMException} NotAllowedError, NotFoundError, NotReadableError ...
   */
  async open(wishes) {
    const { deviceId, ...processing } = wishes;
    const audio = { ...processing, channelCount: 1, ...(deviceId && { deviceId: { exact: deviceId } }) };
    const asked = ++this._asked;
    this._giveBack(); // first, because Chromium processes a second stream of an open microphone like the first
    const stream = await navigator.mediaDevices.getUserMedia({ audio });
    if (asked !== this._asked) {
      stop(stream);
      return false;
    }
    this._stream = stream;
    this._source = this._context.createMediaStreamSource(stream);
    this._source.connect(this.node);
    const track = stream.getAudioTracks()[0];
    track.onended = () => {
      if (this._stream !== stream) return;
      this._giveBack();
      this.dispatchEvent(new Event("lost"));
    };
    return true;
  }

  /** Closes the microphone, so that the browser shows no recording. A pending request is dropped. */
  close() {
    this._asked++;
    this._giveBack();
  }

  /** Closes the microphone and ends the capture processor. */
  end() {
    this.close();
    this.node.port.postMessage("end");
  }

  _giveBack() {
    this._source?.disconnect();
    if (this._stream) stop(this._stream);
    this._stream = this._source = null;
  }
}

function stop(stream) {
  stream.getTracks().forEach((track) => track.stop());
}

/** @returns {Promise<{id: string, label: string}[]>} the microphones; labels are empty until permission is granted */
export async function microphones() {
  const devices = await navigator.mediaDevices.enumerateDevices();
  return devices.filter((one) => one.kind === "audioinput").map((one) => ({ id: one.deviceId, label: one.label }));
}
