"""Stands in for a voice where replies are text only."""

from collections.abc import AsyncGenerator

from audio.tts import Chunk


class NoVoice:
    """Speaks nothing. Implements `Voice`."""

    name = "no voice"
    detail = ""

    async def load(self) -> None:
        """Does nothing."""

    async def speak(self, text: str, speed: float = 1.0, ahead_s: float = 0.0) -> AsyncGenerator[Chunk]:
        """Yields nothing."""
        nothing: tuple[Chunk, ...] = ()
        for chunk in nothing:
            yield chunk

    async def aclose(self) -> None:
        """Does nothing."""
