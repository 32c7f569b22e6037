"""Declaration of a wake-word detector: the object that its package offers in the group `repartee.wake`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from audio.wake import WakeWordDetector


@dataclass(frozen=True, slots=True)
class WakeWordEngine:
    """Detects wake words by their sound.

    Attributes:
        name: The name of the entry point.
        words: The wake words that it knows: the words as they are said, by name.
        make: Returns a detector of some of these words, for one microphone. Raises EngineLoadError. It imports the
            engine's libraries.
        about: One clause for the list of engines.
        packages: Distributions that it needs, with the module of each.
        extra: The extra that installs them; "" if there is none.
    """

    name: str
    words: Mapping[str, str]
    make: "Callable[[Sequence[str]], WakeWordDetector]"
    about: str
    packages: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    extra: str = ""
