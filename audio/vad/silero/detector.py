"""Runs Silero VAD v6 window by window on the network file that comes with faster-whisper."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from audio.frame import Frame
from audio.units import FRAME_SAMPLES, FULL_SCALE, Pcm, Samples, samples_of_ms
from audio.vad import LIKELY_SPEECH, VadResult
from audio.vad.fast_onset import FastOnset
from audio.vad.hysteresis import HysteresisSettings
from audio.vad.quiet import QuietRest, is_quiet
from audio.vad.silero.network import CONTEXT_SAMPLES, STATE_SHAPE, WINDOW_SAMPLES, SileroNetwork, shared_network
from audio.vad.silero.telephone_line import TelephoneLine, mirror_weights
from audio.vad.speech_tracker import SpeechTracker, TrackSettings

# Convert PCM to full scale 1.0.
_WEIGHTS = np.full(CONTEXT_SAMPLES + WINDOW_SAMPLES, 1 / FULL_SCALE, dtype=np.float32)
_NARROW_WEIGHTS = mirror_weights(CONTEXT_SAMPLES + WINDOW_SAMPLES) / np.float32(FULL_SCALE)

# Brings the median error of the end, as dated in speech_tracker.py, within the labels' 30 ms: -10 ms on 87 clips of
# 43 voices, -2 ms in clean conversation, +10 ms at 20 dB (bench/vad.py).
END_BIAS_MS = 12.0

# The network's customary thresholds are 0.5 and 0.35. Opening at 0.4 causes false onsets in noise. Closing at 0.15
# splits a third as often and closes 30 ms later. A hold of 32 ms closes 30 ms sooner and splits twice as often
# (bench/vad.py).
SETTINGS = TrackSettings(
    hysteresis=HysteresisSettings(
        open_score=LIKELY_SPEECH, close_score=0.35, open_samples=samples_of_ms(32), hold_samples=samples_of_ms(64)
    ),
    margin_db=6.0,
    end_bias_ms=END_BIAS_MS,
)


class SileroStream:
    """Computes a probability per 32 ms window from frames of 20 ms; keeps the remainder and the network's state.

    Sound from a telephone line is prepared, and its probability corrected, as `telephone_line.py` describes.
    """

    def __init__(self, network: SileroNetwork) -> None:
        self._network = network
        self._line = TelephoneLine()
        self._samples = np.zeros((1, CONTEXT_SAMPLES + WINDOW_SAMPLES), dtype=np.float32)
        self._peeked = np.zeros_like(self._samples)
        self.reset()

    def reset(self) -> None:
        """Resets all state."""
        self.skip()
        self._line.reset()
        self._h = np.zeros(STATE_SHAPE, dtype=np.float32)
        self._c = np.zeros(STATE_SHAPE, dtype=np.float32)

    def skip(self) -> None:
        """Drops the samples but keeps the network's state: the next frame does not follow the last one."""
        self._samples.fill(0)
        self._filled = 0

    @property
    def between_windows(self) -> bool:
        """Whether the last window ended with the last frame."""
        return self._filled == 0

    def pass_quiet(self, samples: int) -> None:
        """Passes over this much quiet sound, whole windows and an even number of frames."""
        self._line.pass_quiet(samples)

    def push_frame(self, pcm: Pcm) -> tuple[float, int] | None:
        """Appends a frame.

        Returns None, or when a window is complete: its speech probability and how many samples of the frame follow it.
        """
        self._line.push_frame(pcm)
        # Pieces have an even number of samples, so the weights of each begin alike.
        weights = self._weights
        window = self._samples[0, CONTEXT_SAMPLES:]
        take = min(WINDOW_SAMPLES - self._filled, FRAME_SAMPLES)
        np.multiply(pcm[:take], weights[:take], out=window[self._filled : self._filled + take])
        self._filled += take
        if self._filled < WINDOW_SAMPLES:
            return None
        probability, self._h, self._c = self._network.run(self._samples, self._h, self._c)
        self._samples[0, :CONTEXT_SAMPLES] = window[-CONTEXT_SAMPLES:]
        left = FRAME_SAMPLES - take
        np.multiply(pcm[take:], weights[:left], out=window[:left])
        self._filled = left
        return self._line.corrected(probability, WINDOW_SAMPLES), left

    def peek(self, pcm: Pcm) -> float:
        """Returns the probability of the last window of `pcm`, int16, at least 576 samples, as if it ended here.

        Does not change the network's state. The probability is not corrected for a telephone line: on one, an early
        onset needs as much as any other. Raises VadError.
        """
        np.multiply(pcm[-self._peeked.size :], self._weights, out=self._peeked[0])
        return self._network.run(self._peeked, self._h, self._c)[0]

    @property
    def _weights(self) -> npt.NDArray[np.float32]:
        return _NARROW_WEIGHTS if self._line.is_narrow else _WEIGHTS


class SileroVad:
    """Runs Silero on every window. Implements `Vad`."""

    name = "silero"

    def __init__(self, network: SileroNetwork | None = None) -> None:
        """Uses the network of the process if `network` is None. Raises EngineLoadError."""
        network = network or shared_network()
        self.end_bias_ms = END_BIAS_MS
        self.runtime = network.runtime
        self._stream = SileroStream(network)
        self._tracker = SpeechTracker(SETTINGS)
        self._fast_onset = FastOnset(self._tracker, self._stream.peek, SETTINGS.hysteresis)
        self._quiet_rest = QuietRest()
        self._probability = 0.0

    def set_threshold(self, threshold: float) -> None:
        """See `AdjustableVad`."""
        scores = SETTINGS.hysteresis.at_threshold(threshold)
        self._tracker.set_scores(scores)
        self._fast_onset.set_scores(scores)

    def process(self, frame: Frame) -> VadResult:
        """Processes the next frame (gapless, in order) and returns its result. Raises VadError."""
        self._tracker.push_frame(frame)
        self._fast_onset.push_frame(frame.pcm)
        rest, quiet = self._quiet_rest, is_quiet(frame.pcm)
        if not rest.rests:
            self._push_samples(frame.pcm, frame.end)
            whole, speaking = self._stream.between_windows, self._tracker.speaking
            rest.note_run(self._probability, quiet=quiet, whole=whole, speaking=speaking)
        elif rest.rest(frame.pcm, quiet=quiet):
            self._stream.pass_quiet(rest.dropped_frames() * FRAME_SAMPLES)
        else:
            self._catch_up(rest.take_kept(), frame.end)
        if not quiet:  # no quiet frame is louder than the silence before it
            self._fast_onset.check(frame.end)
        return self._tracker.result(self._probability)

    def _catch_up(self, frames: Sequence[Pcm], now: Samples) -> None:
        """Runs the network on the newest frames, as if it had not rested."""
        for after, pcm in enumerate(frames, 1 - len(frames)):
            self._push_samples(pcm, Samples(now + after * FRAME_SAMPLES))

    def _push_samples(self, pcm: Pcm, frame_end: Samples) -> None:
        """Passes a frame to the network, and a score to the tracker if a window is complete."""
        window = self._stream.push_frame(pcm)
        if window is not None:
            self._probability, left = window
            end = Samples(frame_end - left)
            self._tracker.step(self._probability, Samples(end - WINDOW_SAMPLES), end)

    def reset(self) -> None:
        """Resets all state for a new conversation."""
        self._stream.reset()
        self._tracker.reset()
        self._fast_onset.reset()
        self._quiet_rest.reset()
        self._probability = 0.0
