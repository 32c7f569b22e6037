"""Interfaces of text to speech: text of one chunk in, audio chunks out as they are synthesized."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # declarations of engines import this at every start, without numpy
    from audio.units import Pcm, ReplySamples


@dataclass(frozen=True, slots=True)
class WordMark:
    """The position of a word in the synthesized audio.

    Attributes:
        text_start: Offset of the word's first character in the text.
        text_end: Offset after its last character.
        start: Where it begins, counted from the first sample (after trimming).
        end: Where it ends.
        estimated: True if the engine gives no positions and they were derived from text lengths.
    """

    text_start: int
    text_end: int
    start: "ReplySamples"
    end: "ReplySamples"
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class Chunk:
    """An audio chunk: int16 mono at REPLY_RATE_HZ, with the marks of the words that begin in it."""

    pcm: "Pcm"
    marks: tuple[WordMark, ...] = ()


class Voice(Protocol):
    """A synthesizer. The texts of one reply are spoken one after the other; engines serialize what they must.

    Attributes:
        name: The engine's name in the configuration.
        detail: One line for the screen: voice, language, speed.
    """

    name: str

    @property
    def detail(self) -> str: ...

    async def load(self) -> None:
        """Loads the engine, or reloads it after a failure, and synthesizes once. Raises EngineLoadError.

        Safe to cancel: the loading continues, because other conversations may need it.
        """
        ...

    def speak(self, text: str, speed: float = 1.0, ahead_s: float = 0.0) -> AsyncGenerator[Chunk]:
        """Yields the audio of one text, in chunks of at most 200 ms, without leading silence.

        Closing the generator cancels the synthesis: the engine stops within 20 ms. Text without anything to speak gives
        no chunk.

        Args:
            text: The text to speak.
            speed: Factor on the voice's configured speed, 0.25 to 4; engines apply as much of it as they support.
            ahead_s: How much sound of the same reply was synthesized and not played yet, in seconds. A voice that
                several conversations share first makes the sound that is needed first.

        Raises:
            TtsError: The engine failed.
        """
        ...

    async def aclose(self) -> None:
        """Stops the engine. Idempotent; bounded in time."""
        ...
