"""Creates the services of a server: the engines and the conversations."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version

from assistant.config.mcp_hosts import McpHosts
from assistant.config.settings import Settings
from assistant.setup.answering.user_files import list_keeper, timer_keeper
from assistant.setup.answering.user_memory import user_memory
from assistant.setup.build import span_export
from assistant.setup.engine_loader import EngineLoader
from assistant.storage.conversation_file import ConversationFile, Retention
from assistant.storage.conversation_store import conversations_path
from assistant.support.paths import HomeError
from assistant.tools.client_mcp_thread import load_package
from web.app import BackgroundTask
from web.connections.connection import Connections
from web.connections.engine_pool import EnginePool
from web.handover.handovers import Handovers, handovers_of
from web.limits.session_acceptor import Conversations
from web.observation.health import EngineHealth
from web.observation.metrics import Metrics
from web.observation.trace_stream import TraceStream
from web.routes import ApiParts

KEEP_PER_BROWSER = 500
"""Conversations kept for one browser; the oldest goes first: more than one a day for the year that they are kept."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Services:
    """The services of one server.

    Attributes:
        engine_pool: The engines.
        conversations: The conversations.
        handovers: Hands conversations over to other gateways; None: there are none.
        background_tasks: Background tasks that run as long as the server does.
        traces: Serves turn records.
        api_parts: What the HTTP endpoints of OpenAI's API need; None: the server has none.
    """

    engine_pool: EngineHealth
    conversations: Conversations
    handovers: Handovers | None = None
    background_tasks: tuple[BackgroundTask, ...] = ()
    traces: TraceStream = field(default_factory=TraceStream)
    api_parts: ApiParts | None = None


ServicesFactory = Callable[[Settings, Mapping[str, str], Metrics], Services]


def create_services(settings: Settings, environ: Mapping[str, str], metrics: Metrics) -> Services:
    """Creates the services. Raises EngineLoadError if `trace.otlp_url` is set and its extra is not installed.

    Raises ConfigError as `handovers_of` does.
    """
    engine_loader = EngineLoader(settings, environ, show_measuring=lambda what: _log.warning("measuring %s", what))
    engine_loader.export = export = span_export(settings, lambda what: _log.warning("%s", what))
    timers = timer_keeper(settings, environ, lambda what: _log.warning("%s", what))
    if timers is not None:
        engine_loader.make_timers, engine_loader.homes = timers.timers.join, timers.timers.homes
    lists = list_keeper(settings, environ, lambda what: _log.warning("%s", what))
    if lists is not None:
        engine_loader.make_lists = lists.shared
    conversations = kept_conversations(settings, environ)
    memory = engine_loader.memory = (
        None
        if conversations is None
        else user_memory(settings, environ, lambda: engine_loader.language_model, lambda what: _log.warning("%s", what))
    )
    engine_pool = EnginePool(engine_loader, metrics)
    metrics.watch_degradation(lambda: engine_loader.lateness.level)
    metrics.load.queue_waits = lambda: engine_loader.queue_waits
    hosts = McpHosts.of(settings.tools.client_mcp_hosts)
    handovers = handovers_of(settings.server, environ, metrics)
    connections = Connections(engine_pool, metrics, version("repartee"), conversations, handovers)
    connections.settles = tuple(keeper.settle for keeper in (timers, lists, memory) if keeper is not None)
    services = Services(
        engine_pool,
        connections,
        handovers,
        background_tasks=(
            connections.losses.run,
            *([partial(load_package, hosts)] if hosts.entries else []),
            *(() if timers is None else (timers.run,)),
            *(() if lists is None else (lists.run,)),
            *(() if memory is None else (memory.run,)),
            *(() if handovers is None else (handovers.run,)),
        ),
        traces=connections.traces,
        api_parts=ApiParts(
            engine_loader,
            connections.initial_config,
            connections.service,
            connections.rooms,
            engine_pool.choices,
            conversations,
        ),
    )
    if export is None:
        return services
    metrics.watch_export(lambda: export.dropped)
    return replace(services, background_tasks=(*services.background_tasks, export.run))


def kept_conversations(settings: Settings, environ: Mapping[str, str]) -> ConversationFile | None:
    """Returns the file in which the server keeps conversations; None: it keeps none. Nothing is opened yet."""
    section = settings.server
    if not section.keep_conversations:
        return None
    try:
        path = conversations_path(environ)
    except HomeError as error:
        _log.warning("%s Conversations are not kept.", error)
        return None
    retention = Retention(section.keep_days * 86400, KEEP_PER_BROWSER)
    now_s, pauses = lambda: datetime.now(UTC).timestamp(), settings.turn.remember_pauses
    return ConversationFile(path, now_s, retention, keeps_pauses=pauses)
