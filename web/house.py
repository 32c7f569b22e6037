"""What a server serves: the engines and the conversation. The one place where both are plugged into the shell."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version

from assistant import build
from assistant.settings import Settings
from web.connection import Connections
from web.hall import EngineHall
from web.health import Hall
from web.metrics import Metrics
from web.reception import Converse, never_resumable


@dataclass(frozen=True, slots=True)
class House:
    """One server's inside.

    Attributes:
        hall: The engines.
        converse: What happens on a connection.
        resumable: Whether a conversation with this token waits for its client to come back.
    """

    hall: Hall
    converse: Converse
    resumable: Callable[[str], bool] = never_resumable


OpenHouse = Callable[[Settings, Mapping[str, str], Metrics], House]


def open_house(settings: Settings, environ: Mapping[str, str], metrics: Metrics) -> House:
    """The real one."""
    hall = EngineHall(build.Workshop(settings, environ), metrics)
    connections = Connections(hall, metrics, version("repartee"))
    return House(hall, connections.converse, connections.resumable)
