"""What a server serves: the engines and the conversation. The one place where both are plugged into the shell."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import version

from assistant.config.settings import Settings
from assistant.setup.build import span_export
from assistant.setup.engine_loader import EngineLoader
from web.app import Errand
from web.connection import Connections
from web.engine_pool import EnginePool
from web.health import EngineHealth
from web.metrics import Metrics
from web.session_acceptor import Converse, never_resumable, no_room
from web.trace_stream import TraceStream

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Services:
    """One server's inside.

    Attributes:
        hall: The engines.
        converse: What happens on a connection.
        resumable: Whether a conversation with this token waits for its client to come back.
        make_room: Ends a conversation that waits so: somebody else needs its seat.
        errands: What runs as long as the server does.
        traces: Who follows its turns.
    """

    hall: EngineHealth
    converse: Converse
    resumable: Callable[[str], bool] = never_resumable
    make_room: Callable[[], bool] = no_room
    errands: tuple[Errand, ...] = ()
    traces: TraceStream = field(default_factory=TraceStream)


OpenHouse = Callable[[Settings, Mapping[str, str], Metrics], Services]


def open_house(settings: Settings, environ: Mapping[str, str], metrics: Metrics) -> Services:
    """The real one. Raises EngineLoadError where `trace.otlp_url` is set and its extra is missing."""
    workshop = EngineLoader(settings, environ)
    workshop.export = export = span_export(settings, environ, lambda what: _log.warning("%s", what))
    hall = EnginePool(workshop, metrics)
    connections = Connections(hall, metrics, version("repartee"))
    house = Services(
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
