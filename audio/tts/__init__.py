"""Text to speech: one speakable unit in, sound out as it is made."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Protocol

from audio.units import Pcm, ReplySamples


@dataclass(frozen=True, slots=True)
class WordMark:
    """Where a word of the unit sounds.

    Attributes:
        text_start: Offset of the word's first character in the unit's text.
        text_end: Offset after its last character.
        start: Where it begins, from the unit's first sample (after trimming).
        end: Where it ends.
        estimated: True where the engine gives no positions and they were derived from lengths.
    """

    text_start: int
    text_end: int
    start: ReplySamples
    end: ReplySamples
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a unit's sound: int16 mono at REPLY_RATE_HZ, with the marks of the words that begin in it."""

    pcm: Pcm
    marks: tuple[WordMark, ...] = ()


class Voice(Protocol):
    """A synthesizer. Units of one reply are spoken one after the other; engines serialize what they must.

    Attributes:
        name: As in the configuration.
        detail: One line for the screen: voice, language, speed.
    """

    name: str

    @property
    def detail(self) -> str: ...

    async def load(self) -> None:
        """Load, or load again after a death, and speak once into nothing. Raises EngineLoadError.

        Safe to cancel: other conversations may need it, and the loading goes on.
        """
        ...

    def speak(self, text: str, speed: float = 1.0) -> AsyncGenerator[Chunk]:
        """The sound of one unit, chunk by chunk (at most 200 ms each), without leading silence.

        `speed`: faster (above 1) or slower than the voice was set to, 0.25 to 4; engines keep to what they can.

        Closing the generator cancels at once: the engine stops within 20 ms. Text without anything to say gives
        no chunk. Raises TtsError.
        """
        ...

    async def aclose(self) -> None:
        """Stop the engine. Idempotent; bounded in time."""
        ...
