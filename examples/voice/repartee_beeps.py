"""A voice of its own package: it beeps each word.

To use it: `pip install ./examples/voice`, then `repartee serve --set tts.engine=beeps`.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from audio.engines.voice import VoiceEngine, VoiceInfo, VoiceRequest
from audio.tts import Voice
from declarations.settings import KeyInfo

if TYPE_CHECKING:
    from audio.tts.streaming.sentence_sound import Sound

WORD_S = 0.2


@dataclass(frozen=True, slots=True)
class BeepSettings:
    """A voice that beeps."""

    pitch_hz: Annotated[int, KeyInfo("Pitch of the beeps.", unit="Hz", low=100, high=2000)] = 440


class Beeper:
    """Implements `TextEngine`: each word is a beep of 0.2 s, three quarters of it sound."""

    rate_hz = 24_000

    def __init__(self, pitch_hz: int) -> None:
        self._pitch_hz = pitch_hz

    def sound(self, text: str, speed: float) -> "Sound":
        """Returns a beep for each word."""
        import numpy as np  # on use: the declaration below is read at every start

        word = np.arange(round(WORD_S * self.rate_hz / speed), dtype=np.float32)
        beep = np.sin(2 * np.pi * self._pitch_hz * word / self.rate_hz) * (word < 0.75 * word.size)
        return np.tile(beep, len(text.split()))


def make(request: VoiceRequest) -> Voice:
    """Returns the voice, not loaded yet."""
    from audio.tts.streaming.whole_text_voice import TextEngineVoice

    assert isinstance(request.settings, BeepSettings)
    pitch_hz = request.settings.pitch_hz
    return TextEngineVoice("beeps", request, lambda: Beeper(pitch_hz), detail=f"{pitch_hz} Hz")


ENGINE = VoiceEngine(
    name="beeps",
    make=make,
    about="beeps each word",
    settings=BeepSettings,
    voices=(VoiceInfo("beeps", "", "Beeps"),),
)
