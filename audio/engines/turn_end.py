"""Declaration of an end-of-turn estimator: what its package offers as an entry point of the group `repartee.turn`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from declarations.models import ModelKind

if TYPE_CHECKING:
    from audio.end_of_turn import TurnEndModel
    from audio.execution_provider import ProviderInUse, ProviderRequest
    from audio.units import Pcm


class ReplicaTurnEnd(Protocol):
    """A loaded estimator in a replica of a cluster. Its methods block.

    Attributes:
        provider: Where it computes.
        fallback: See `OpenedSession.fallback`.
    """

    provider: "ProviderInUse"
    fallback: str

    def probabilities(self, pcms: "Sequence[Pcm]") -> list[float]:
        """Returns the probability, 0..1, after each of several sounds. Raises EngineError."""
        ...

    def use_batches(self) -> bool:
        """Judges several sounds in one run from now on, if the results are the same. Returns whether."""
        ...


@dataclass(frozen=True, slots=True)
class TurnEndEngine:
    """An end-of-turn estimator.

    Attributes:
        name: Name of the entry point.
        label: Name on the screen: "Smart Turn".
        make: Returns an estimator, not loaded yet, with the model at a path (None without models).
        about: One clause for the list of engines.
        rank: How much it is preferred; the highest whose packages are installed is used.
        models: Its models; the first of the catalogue is used. None: it needs none.
        packages: Distributions that it needs, with the module of each.
        replica: Loads the model at a path in a replica. Blocks. Raises EngineLoadError. None: it runs on no cluster.
    """

    name: str
    label: str
    make: "Callable[[Path | None, ProviderRequest], TurnEndModel]"
    about: str
    rank: int
    models: ModelKind | None = None
    packages: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    replica: "Callable[[Path, ProviderRequest], ReplicaTurnEnd] | None" = None
