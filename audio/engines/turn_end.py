"""Declaration of an end-of-turn estimator: what its package offers as an entry point of the group `repartee.turn`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from declarations.models import ModelKind

if TYPE_CHECKING:
    from audio.end_of_turn import TurnEndModel
    from audio.execution_provider import ProviderRequest


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
    """

    name: str
    label: str
    make: "Callable[[Path | None, ProviderRequest], TurnEndModel]"
    about: str
    rank: int
    models: ModelKind | None = None
    packages: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
