/** Records two inputs, block by block, with the context frame of the first. */

registerProcessor("recorder", class extends AudioWorkletProcessor {
  process(inputs) {
    const [microphone, player] = inputs.map(([channel]) => channel ?? new Float32Array(128));
    this.port.postMessage({ frame: currentFrame, microphone: microphone.slice(), player: player.slice() });
    return true;
  }
});
