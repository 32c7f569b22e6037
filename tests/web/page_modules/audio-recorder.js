/** Records what the page captures and renders, on the page's audio clock. */

export async function start() {
  const { context, microphone, player } = window.repartee.tap;
  await context.audioWorklet.addModule("/test/audio-recorder-worklet.js");
  const node = new AudioWorkletNode(context, "recorder", { numberOfInputs: 2, numberOfOutputs: 1 });
  microphone?.connect(node, 0, 0);
  player.connect(node, 0, 1);
  node.connect(context.destination); // silent, but required for rendering
  const audioRecording = { frame: null, microphone: [], player: [], rate: context.sampleRate };
  node.port.onmessage = ({ data }) => {
    audioRecording.frame ??= data.frame;
    audioRecording.microphone.push(data.microphone);
    audioRecording.player.push(data.player);
  };
  window.audioRecording = audioRecording;
  window.now = () => context.currentTime;
}

/** @returns {{frame: number, rate: number, microphone: string, player: string}} base64 of float32 */
export function read() {
  const { frame, rate, microphone, player } = window.audioRecording;
  return { frame, rate, microphone: toBase64(microphone), player: toBase64(player) };
}

function toBase64(blocks) {
  const bytes = new Uint8Array(blocks.length * 512);
  blocks.forEach((block, n) => bytes.set(new Uint8Array(block.buffer), n * 512));
  let text = "";
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(text);
}
