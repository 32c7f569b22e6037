"""Measures how much of a turn was certainly speech, by the VAD alone. Pure.

The recognizer takes some speech for noise, above all letters and digits that are dictated one by one. Where the VAD is
certain, its words are better answered as a guess than dropped (docs/lab/stt.md, "Words taken for noise").
"""

from dataclasses import dataclass

from audio.units import FRAME_MS
from audio.vad import CERTAIN_SPEECH

_LIKELY_WORDS_MS = 800.0
"""Certain speech from which words that the recognizer takes for noise are answered. Wordless sounds of people reach
360 ms."""

_CLEAR_SPEECH_MS = 2000.0
"""Speech from which the user is told that no word was recognized."""

_CLEAR_SHARE = 0.6
"""Share of certain frames in clear speech. Voices of a coffee shop reach 0.42."""

_CERTAIN_SHARE = 0.9
"""Share of certain frames from which the VAD is certain throughout."""


@dataclass(slots=True)
class SpeechEvidence:
    """The evidence of one turn.

    Attributes:
        speech_ms: Length of its frames with speech.
        certain_ms: Those of them that are certainly speech.
    """

    speech_ms: float = 0.0
    certain_ms: float = 0.0

    def add_speech(self, probability: float) -> None:
        """Adds a frame with speech."""
        self.speech_ms += FRAME_MS
        self.certain_ms += FRAME_MS if probability >= CERTAIN_SPEECH else 0

    @property
    def makes_words_likely(self) -> bool:
        """Whether words that the recognizer takes for noise are likely to have been said."""
        return self.certain_ms >= _LIKELY_WORDS_MS and self._share >= _CLEAR_SHARE

    @property
    def is_clear(self) -> bool:
        """Whether somebody has certainly spoken so long that they expect to be understood."""
        return self.speech_ms >= _CLEAR_SPEECH_MS and self._share >= _CLEAR_SHARE

    @property
    def is_certain_throughout(self) -> bool:
        """Whether nearly all of it is certainly speech."""
        return self._share >= _CERTAIN_SHARE

    @property
    def _share(self) -> float:
        return self.certain_ms / self.speech_ms if self.speech_ms else 0.0
