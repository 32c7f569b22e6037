"""Declaration of a voice activity detector: the object that its package offers in the group `repartee.vad`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from audio.vad import Vad


@dataclass(frozen=True, slots=True)
class VadEngine:
    """A voice activity detector.

    Attributes:
        name: As in `vad.engine`; also the name of the entry point.
        make: Returns a detector for one microphone. Raises EngineLoadError. It imports the engine's libraries.
        about: One clause for the list of engines.
        is_default: Whether it is used if none is configured. One is.
        is_spare: Whether it replaces one that has failed: it has nothing that can fail. One is.
        has_threshold: Whether its threshold can be set during a conversation; see `AdjustableVad`.
        packages: Distributions that it needs, with the module of each.
    """

    name: str
    make: "Callable[[], Vad]"
    about: str
    is_default: bool = False
    is_spare: bool = False
    has_threshold: bool = False
    packages: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
