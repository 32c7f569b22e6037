"""Acoustic end-of-turn models: prosody and Smart Turn."""

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # declarations of engines import this at every start, without numpy
    from audio.units import Pcm


class TurnEndModel(Protocol):
    """A model that estimates from audio whether a turn is over. It computes in a thread or a process of its own.

    Attributes:
        slow: After loading, why it uses less than it could, as a sentence; "" if it does not.
    """

    slow: str

    async def load(self) -> None:
        """Loads it and runs it once. Raises EngineLoadError or EngineError."""
        ...

    async def probability(self, pcm: "Pcm") -> float:
        """Returns the probability, 0..1, that the turn is over after this audio. Raises EngineError."""
        ...
