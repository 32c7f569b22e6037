/** Stands in for `AudioIO` where the page neither records nor plays: it has a clock, and its input and output do nothing. */

class SilentInput extends EventTarget {
  source = null;
  track = null;
  grantedSettings = null;
}

class SilentOutput extends EventTarget {
  node = null;
  deviceDelayMs = 0;
  volume = 0;

  pushChunk() {}

  end() {}

  hasUnplayedAudio() {
    return false;
  }

  flush() {}

  reset() {}

  playSound() {}

  stopSound() {}

  duck() {}

  receivedMs() {
    return 0;
  }

  playedMs() {
    return 0;
  }
}

export class SilentAudio extends EventTarget {
  context = { state: "running", sampleRate: 48_000, get currentTime() {
    return performance.now() / 1000;
  } };
  input = new SilentInput();
  output = new SilentOutput();

  setTransport() {}

  async resume() {}

  async close() {}
}
