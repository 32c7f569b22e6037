"""What a server serves: the engines and the conversation. The one place where both are plugged into the shell."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import version

from assistant.build import span_export
from assistant.config.settings import Settings
from assistant.workshop import Workshop
from web.app import Errand
from web.connection import Connections
from web.hall import EngineHall
from web.health import Hall
from web.metrics import Metrics
from web.reception import Converse, never_resumable, no_room
from web.trace_stream import TraceStream

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class House:
    """One server's inside.

    Attributes:
        hall: The engines.
        converse: What happens on a connection.
        resumable: Whether a conversation with this token waits for its client to come back.
        make_room: Ends a conversation that waits so: somebody else needs its seat.
        errands: What runs as long as the server does.
        traces: Who follows its turns.
    """

    hall: Hall
    converse: Converse
    resumable: Callable[[str], bool] = never_resumable
    make_room: Callable[[], bool] = no_room
    errands: tuple[Errand, ...] = ()
    traces: TraceStream = field(default_factory=TraceStream)


OpenHouse = Callable[[Settings, Mapping[str, str], Metrics], House]


def open_house(settings: Settings, environ: Mapping[str, str], metrics: Metrics) -> House:
    """The real one. Raises EngineLoadError where `trace.otlp_url` is set and its extra is missing."""
    workshop = Workshop(settings, environ)
    workshop.export = export = span_export(settings, environ, lambda what: _log.warning("%s", what))
    hall = EngineHall(workshop, metrics)
    connections = Connections(hall, metrics, version("repartee"))
    house = House(
        hall,
        connections.converse,
        connections.resumable,
        connections.make_room,
        errands=(connections.tell_losses,),
        traces=connections.traces,
    )
    if export is None:
        return house
    metrics.watch_export(lambda: export.dropped)
    return replace(house, errands=(*house.errands, export.run))
