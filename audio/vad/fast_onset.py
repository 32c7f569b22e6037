"""The first syllable: taken for a voice one to three frames before a whole window of the network says so."""

from collections.abc import Callable

import numpy as np

from audio.units import FRAME_SAMPLES, Pcm, Samples
from audio.vad.hysteresis import HysteresisSettings
from audio.vad.speech_tracker import SpeechTracker

SOUND_SAMPLES = 2 * FRAME_SAMPLES
"""What `peek` is given: a window of 32 ms and what the network wants to know of the sound before it."""


class FastOnset:
    """Opens a track where sound is clear of the silence before it, and the network half believes in a voice.

    A network that hears windows of 32 ms, its memory full of silence, is late by what it waits for a window to fill,
    and by another one or two until it believes its ears. So where sound is clear of the silence it is asked of the
    last 32 ms, wherever its own windows end, and what would keep speech open is enough to open it
    (docs/lab/experiments.md, "The first syllable").
    """

    def __init__(self, track: SpeechTracker, peek: Callable[[Pcm], float], settings: HysteresisSettings) -> None:
        """`peek`: the score of the last `settings.open_samples` of SOUND_SAMPLES samples; the network forgets them."""
        self._track = track
        self._peek = peek
        self._settings = settings
        self._sound = np.zeros(SOUND_SAMPLES, dtype=np.int16)

    def reset(self) -> None:
        """Forget everything heard."""
        self._sound.fill(0)

    def take(self, pcm: Pcm) -> None:
        """Take the sound of the next frame."""
        self._sound[:-FRAME_SAMPLES] = self._sound[FRAME_SAMPLES:]
        self._sound[-FRAME_SAMPLES:] = pcm

    def look(self, now: Samples) -> None:
        """The frame that was taken ends at `now`, and the track has it: it may be open behind this. Raises VadError."""
        if self._track.speaking or not self._track.clear:
            return
        if self._peek(self._sound) >= self._settings.close_score:
            self._track.step(self._settings.open_score, Samples(now - self._settings.open_samples), now)
