"""A cascade of two detectors: webrtcvad activates Silero. Costs a fraction of Silero's CPU time in a quiet room."""

import numpy as np
import webrtcvad

from audio.frame import Frame
from audio.units import FRAME_MS, FRAME_SAMPLES, MIC_RATE_HZ, Samples
from audio.vad import VadResult
from audio.vad.silero.detector import SETTINGS, SileroStream
from audio.vad.silero.network import WINDOW_SAMPLES, SileroNetwork, shared_network
from audio.vad.speech_tracker import SpeechTracker

# Silero determines the ends, so the median error is Silero's (bench/vad.py).
END_BIAS_MS = SETTINGS.end_bias_ms

# A false activation costs 1.5 ms of CPU time; a late one costs speech. So webrtcvad runs in its middle mode, and one
# voiced frame is enough. Silero is then fed the last 480 ms, and stays active for 400 ms after the last activation.
_ACTIVATOR_MODE = 2
_CATCH_UP_FRAMES = 480 // FRAME_MS
_ACTIVE_FRAMES = 400 // FRAME_MS


class CascadeVad:
    """Runs Silero only while webrtcvad detects voice above the noise floor.

    On activation Silero first processes the last 480 ms, so that its state is close to that of continuous operation.
    """

    name = "cascade"

    def __init__(self, network: SileroNetwork | None = None) -> None:
        """Uses the network of the process if `network` is None. Raises EngineLoadError."""
        network = network or shared_network()
        self.end_bias_ms = END_BIAS_MS
        self.runtime = network.runtime
        self._stream = SileroStream(network)
        self._tracker = SpeechTracker(SETTINGS)
        self._recent = np.zeros((_CATCH_UP_FRAMES, FRAME_SAMPLES), dtype=np.int16)
        self.reset()

    def reset(self) -> None:
        """Resets all state for a new conversation."""
        self._stream.reset()
        self._tracker.reset()
        self._activator = webrtcvad.Vad(_ACTIVATOR_MODE)
        self._frames_seen = 0
        self._active_frames = 0
        self._probability = 0.0

    def set_threshold(self, threshold: float) -> None:
        """See `AdjustableVad`."""
        scores = SETTINGS.hysteresis.at_threshold(threshold)
        self._tracker.set_scores(scores)

    def process(self, frame: Frame) -> VadResult:
        """Processes the next frame (gapless, in order) and returns its result. Raises VadError."""
        self._tracker.push_frame(frame)
        # Called for every frame, because webrtcvad keeps its own noise model.
        voiced = self._activator.is_speech(frame.pcm.tobytes(), MIC_RATE_HZ)
        was_active = self._active_frames > 0
        if (voiced and self._tracker.above_noise_floor) or self._tracker.speaking:
            self._active_frames = _ACTIVE_FRAMES
        elif was_active:
            self._active_frames -= 1
        if self._active_frames == 0:
            self._probability = 0.0
        else:
            if not was_active:
                self._catch_up(frame.start)
            self._process_frame(frame.pcm, frame.end)
        self._recent[self._frames_seen % _CATCH_UP_FRAMES] = frame.pcm
        self._frames_seen += 1
        return self._tracker.result(self._probability)

    def _catch_up(self, now: Samples) -> None:
        self._stream.skip()
        frames = min(self._frames_seen, _CATCH_UP_FRAMES)
        for back in range(frames, 0, -1):
            pcm = self._recent[(self._frames_seen - back) % _CATCH_UP_FRAMES]
            self._process_frame(pcm, Samples(now - (back - 1) * FRAME_SAMPLES))

    def _process_frame(self, pcm: np.ndarray[tuple[int], np.dtype[np.int16]], frame_end: Samples) -> None:
        window = self._stream.push_frame(pcm)
        if window is not None:
            self._probability, left = window
            end = Samples(frame_end - left)
            self._tracker.step(self._probability, Samples(end - WINDOW_SAMPLES), end)
