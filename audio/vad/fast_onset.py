"""Detects speech onset one to three frames before a whole window of the network does."""

from collections.abc import Callable

import numpy as np

from audio.units import FRAME_SAMPLES, Pcm, Samples
from audio.vad.hysteresis import HysteresisSettings
from audio.vad.speech_tracker import SpeechTracker

SOUND_SAMPLES = 2 * FRAME_SAMPLES
"""Length of the audio that `peek` receives: a window of 32 ms and the network's context before it."""


class FastOnset:
    """Opens a speech segment if the audio is louder than the preceding silence and the network scores it half likely.

    A network with windows of 32 ms reports an onset late: a window must fill, and with its state full of silence the
    network needs another one or two. So when the audio stands out from the silence, the network scores the last 32 ms,
    regardless of window boundaries. The score that keeps speech open is then enough to open it
    (docs/lab/experiments.md, "The first syllable").
    """

    def __init__(self, tracker: SpeechTracker, peek: Callable[[Pcm], float], settings: HysteresisSettings) -> None:
        """Creates a detector for one tracker.

        Args:
            tracker: The tracker to open.
            peek: Returns the score of the last `settings.open_samples` of SOUND_SAMPLES samples without changing the
                network's state.
            settings: Thresholds and lengths of the tracker's hysteresis.
        """
        self._tracker = tracker
        self._peek = peek
        self._settings = settings
        self._sound = np.zeros(SOUND_SAMPLES, dtype=np.int16)

    def set_scores(self, settings: HysteresisSettings) -> None:
        """Replaces the thresholds; see `SpeechTracker.set_scores`."""
        self._settings = settings

    def reset(self) -> None:
        """Resets all state."""
        self._sound.fill(0)

    def push_frame(self, pcm: Pcm) -> None:
        """Appends the audio of the next frame."""
        self._sound[:-FRAME_SAMPLES] = self._sound[FRAME_SAMPLES:]
        self._sound[-FRAME_SAMPLES:] = pcm

    def check(self, now: Samples) -> None:
        """Checks the newest frame, which ends at `now` and was pushed to the tracker, for an onset. Raises VadError."""
        if self._tracker.speaking or not self._tracker.above_silence:
            return
        if self._peek(self._sound) >= self._settings.close_score:
            self._tracker.step(self._settings.open_score, Samples(now - self._settings.open_samples), now)
