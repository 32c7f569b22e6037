"""A voice of its own package: it beeps each word.

To use it: `pip install ./examples/voice`, then `repartee serve --set tts.engine=beeps`.
"""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Annotated

from audio.engines.voice import VoiceEngine, VoiceInfo, VoiceRequest
from audio.tts import Chunk, Voice, WordMark
from declarations.settings import KeyInfo

WORD_S = 0.2


@dataclass(frozen=True, slots=True)
class BeepSettings:
    """A voice that beeps."""

    pitch_hz: Annotated[int, KeyInfo("Pitch of the beeps.", unit="Hz", low=100, high=2000)] = 440


class BeepVoice:
    """Implements `Voice`: each word is a beep of 0.2 s, three quarters of it sound."""

    name = "beeps"

    def __init__(self, pitch_hz: int, speed: float, volume_dbfs: float) -> None:
        self._pitch_hz = pitch_hz
        self._speed = speed
        self._level = 2**0.5 * 10 ** (volume_dbfs / 20)
        self.detail = f"{pitch_hz} Hz"

    async def load(self) -> None:
        """Loads nothing."""

    async def speak(self, text: str, speed: float = 1.0, ahead_s: float = 0.0) -> AsyncGenerator[Chunk]:
        """Yields a beep for each word, with its mark."""
        import numpy as np  # on use: the declaration below is read at every start

        from audio.units import FULL_SCALE, REPLY_RATE_HZ, ReplySamples

        size, start = round(WORD_S * REPLY_RATE_HZ / (self._speed * speed)), 0
        sound = self._level * np.sin(2 * np.pi * self._pitch_hz * np.arange(size) / REPLY_RATE_HZ)
        sound[3 * size // 4 :] = 0
        for number, word in enumerate(text.split()):
            at = text.index(word, start)
            start = at + len(word)
            begin = number * size  # from the beginning of the text
            mark = WordMark(at, start, ReplySamples(begin), ReplySamples(begin + 3 * size // 4))
            yield Chunk((sound * FULL_SCALE).astype(np.int16), (mark,))

    async def aclose(self) -> None:
        """Closes nothing."""


def make(request: VoiceRequest) -> Voice:
    """Returns the voice, not loaded yet."""
    assert isinstance(request.settings, BeepSettings)
    return BeepVoice(request.settings.pitch_hz, request.speed, request.volume_dbfs)


ENGINE = VoiceEngine(
    name="beeps",
    make=make,
    about="beeps each word",
    settings=BeepSettings,
    voices=(VoiceInfo("beeps", "", "Beeps"),),
)
