"""Prometheus metrics of the server. Each app has its own registry, so that two apps in one process stay separate.

Updated from turn records and connection events. Labels have few values, none of which a client chooses.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Literal, get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import choose_encoder

from assistant.events import ReplySent, ReplyStopped
from assistant.trace.latency import STAGES
from assistant.trace.record import Outcome, TracedAnswer, TurnRecord
from llm.chat import CacheOutcome
from web.observation.health import EngineState
from web.observation.load_estimate import LoadEstimate
from web.process.process_usage import ProcessUsage
from web.process.stall_watchdog import Cause
from web.wire.outgoing.server_events import ending_of

Tokens = Literal["prompt", "cached", "completion", "wasted"]
"""Prompt tokens; those of them the service had cached; completion tokens; all tokens of dropped attempts."""

HandoverOutcome = Literal["continued", "none", "other_version", "in_progress", "damaged", "expired", "unreachable"]
"""Outcome for a client that wanted to resume a conversation of another gateway."""

LATENCY_BUCKETS_S = (
    0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.8, 1.0, 1.5, 2.5, 5.0, 10.0,
)  # fmt: skip
"""Fine-grained between 200 and 500 ms, the target range."""

STAGE_BUCKETS_S = (
    0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.0, 5.0,
)  # fmt: skip
LAG_BUCKETS_S = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 1.0)
SESSION_BUCKETS_S = (1, 5, 15, 60, 300, 900, 1800, 3600, 7200)

LAG_EVERY_S = 0.1
"""Interval of the measurements of the event loop's lag. It detects stalls of 100 ms and costs 0.02 % of a core."""


class Metrics:
    """The metrics of one server.

    Attributes:
        load: The rolling estimate of the load.
        usage: What the process uses.
    """

    def __init__(self, load: LoadEstimate | None = None) -> None:
        """Creates all metrics at zero. `load`: None: a new estimate."""
        self.load = load or LoadEstimate()
        self.registry = registry = CollectorRegistry()
        self._current = Gauge("repartee_sessions", "Sessions that are open.", registry=registry)
        self._began = Counter("repartee_sessions_begun", "Sessions that were opened.", registry=registry)
        self._lasted = Histogram(
            "repartee_session_seconds", "How long sessions lasted.", registry=registry, buckets=SESSION_BUCKETS_S
        )
        self._refused = Counter(
            "repartee_sessions_refused", "Sessions that were refused, by reason.", ["reason"], registry=registry
        )
        self._gate = Counter(
            "repartee_requests_refused", "Requests that were refused, by reason.", ["reason"], registry=registry
        )
        self._turns = Counter("repartee_turns", "Turns, by how they ended.", ["outcome"], registry=registry)
        self._latency = Histogram(
            "repartee_response_latency_seconds",
            "From the last speech sample to the first audible sample of the reply; without turns that failed.",
            registry=registry,
            buckets=LATENCY_BUCKETS_S,
        )
        self._apologies = Histogram(
            "repartee_failed_latency_seconds",
            "From the last speech sample to the first audible sample, of turns that failed: usually an apology.",
            registry=registry,
            buckets=LATENCY_BUCKETS_S,
        )
        self._refusals = Counter(
            "repartee_refusals", "Turns in which the skills could not do what was asked.", registry=registry
        )
        self._stages = Histogram(
            "repartee_stage_seconds",
            "A stage's share of the response latency.",
            ["stage"],
            registry=registry,
            buckets=STAGE_BUCKETS_S,
        )
        self._interruptions = Counter("repartee_interruptions", "Replies that were interrupted.", registry=registry)
        self._dropped = Counter(
            "repartee_attempts_dropped", "Attempts that were dropped before they were heard.", registry=registry
        )
        self._tokens = Counter(
            "repartee_llm_tokens", "Tokens as counted by the language model services, by kind.", ["kind"],
            registry=registry,
        )  # fmt: skip
        self._out_of_band = Counter(
            "repartee_out_of_band_responses", "Responses outside of the conversation, by status.", ["status"],
            registry=registry,
        )  # fmt: skip
        self._out_of_band_tokens = Counter(
            "repartee_out_of_band_tokens", "Their tokens as counted by the language model services, by kind.",
            ["kind"], registry=registry,
        )  # fmt: skip
        self._cache = Counter(
            "repartee_cache_lookups", "Lookups in the answer cache, by how they ended.", ["outcome"], registry=registry
        )
        self._not_exported = Gauge(
            "repartee_exports_dropped", "Turns whose spans did not reach the collector.", registry=registry
        )
        self._errors = Counter("repartee_errors", "Errors, by where they occurred.", ["where"], registry=registry)
        self._wire_errors = Counter(
            "repartee_wire_errors", "Error events sent to clients, by code.", ["code"], registry=registry
        )
        self._handovers = Counter(
            "repartee_handovers",
            "Conversations of other gateways that clients wanted to resume here, by outcome.",
            ["outcome"],
            registry=registry,
        )
        self._throttled = Counter(
            "repartee_throttled_seconds",
            "Time in which clients were not read because they sent too fast.",
            registry=registry,
        )
        self._engines = Gauge(
            "repartee_engine_ready",
            "1 if the stage's engine is loaded and warm.",
            ["stage", "engine"],
            registry=registry,
        )
        self._fallbacks = Gauge(
            "repartee_fallback",
            "1 if the engine runs in place of the configured one.",
            ["stage", "engine"],
            registry=registry,
        )
        self._lag = Histogram(
            "repartee_event_loop_lag_seconds",
            f"How late the event loop woke up, measured every {LAG_EVERY_S:g} s.",
            registry=registry,
            buckets=LAG_BUCKETS_S,
        )
        self._degradation = Gauge(
            "repartee_degradation_level",
            "What is left out because the engines are late: 0 nothing, 1 interim transcripts, 2 the full window, 3 "
            "long chunks, 4 the neural voice, 5 prompt replies.",
            registry=registry,
        )
        self._load = Gauge(
            "repartee_load_seconds",
            "Figures by which conversations are admitted, of the last minute; absent if nothing was measured.",
            ["of"],
            registry=registry,
        )
        self._engine_queues = Gauge(
            "repartee_engine_queue_seconds",
            "Wait of jobs for the engine of a stage, p95.",
            ["engine"],
            registry=registry,
        )
        self._stalls = Counter(
            "repartee_event_loop_stalls",
            "Stalls of the event loop of 200 ms or more, by cause: a callback, or no processor time.",
            ["cause"],
            registry=registry,
        )
        self._sessions_open = 0
        self.usage = ProcessUsage(lambda: self._sessions_open)
        registry.register(self.usage)
        for cause in get_args(Cause):
            self._stalls.labels(cause)
        for outcome in get_args(Outcome):
            self._turns.labels(outcome)
        for stage in STAGES:
            self._stages.labels(stage)
        for kind in get_args(Tokens):
            self._tokens.labels(kind)
        for status in ("completed", "incomplete", "cancelled", "failed"):
            self._out_of_band.labels(status)
        for kind in ("prompt", "cached", "completion"):
            self._out_of_band_tokens.labels(kind)
        for handover in get_args(HandoverOutcome):
            self._handovers.labels(handover)
        for lookup in get_args(CacheOutcome):
            self._cache.labels(lookup)

    def watch_degradation(self, level: Callable[[], int]) -> None:
        """Reads the level of degradation whenever the metrics are read."""
        self._degradation.set_function(level)

    def text(self, accept: str = "") -> tuple[bytes, str]:
        """Returns all metrics in a format that the client accepts, and its content type.

        `accept`: the Accept header of the request. Only OpenMetrics has exemplars, the last turn of each bucket.
        """
        encode, content_type = choose_encoder(accept)
        return encode(self.registry), content_type

    def watch_export(self, dropped: Callable[[], int]) -> None:
        """Sets the function that `repartee_exports_dropped` reads."""
        self._not_exported.set_function(dropped)

    # ---- a conversation ----

    def turn(self, record: TurnRecord) -> None:
        """Counts a finished turn."""
        self.load.turn(record)
        self._turns.labels(record.outcome).inc()
        exemplar = {"trace_id": record.trace_id}
        if record.counted_latency_ms is not None:
            self._latency.observe(record.counted_latency_ms / 1000, exemplar)
            for stage, share in record.stages.items():
                self._stages.labels(stage).observe(share.ms / 1000, exemplar)
        elif record.response_latency_ms is not None:
            self._apologies.observe(record.response_latency_ms / 1000, exemplar)
        self._refusals.inc(record.refused and not record.failed)
        for answer in record.answers:
            self._count(answer)
        names = [event.name for event in record.events]
        self._interruptions.inc(names.count("interrupt"))
        self._dropped.inc(names.count("dropped"))
        for event in record.events:
            if event.name == "cache":
                self._cache.labels(cache_outcome(event.detail)).inc()
        if record.error is not None:
            self._errors.labels("turn").inc()

    def _count(self, answer: TracedAnswer) -> None:
        prompt, completion = answer.prompt_tokens or 0, answer.completion_tokens or 0
        self._tokens.labels("prompt").inc(prompt)
        self._tokens.labels("cached").inc(answer.cached_tokens or 0)
        self._tokens.labels("completion").inc(completion)
        if answer.dropped:
            self._tokens.labels("wasted").inc(prompt + completion)

    def out_of_band(self, end: ReplySent | ReplyStopped) -> None:
        """Counts a response outside of the conversation, which is in no turn record."""
        self._out_of_band.labels(ending_of(end).status).inc()
        self._out_of_band_tokens.labels("prompt").inc(end.prompt_tokens or 0)
        self._out_of_band_tokens.labels("cached").inc(end.cached_tokens or 0)
        self._out_of_band_tokens.labels("completion").inc(end.completion_tokens or 0)

    def wire_error(self, code: str) -> None:
        """Counts an `error` event that was sent to a client; `code` is one of the protocol's, never a client's text."""
        self._wire_errors.labels(code).inc()

    def throttled(self, wait_s: float) -> None:
        """Adds time during which a client is not read."""
        self._throttled.inc(wait_s)

    def trouble(self, where: str) -> None:
        """Counts an error outside of turns; `where` is one of a few fixed words."""
        self._errors.labels(where).inc()

    def handover(self, outcome: HandoverOutcome) -> None:
        """Counts a client that wanted to resume a conversation of another gateway."""
        self._handovers.labels(outcome).inc()

    def trace_lost(self, turns: int) -> None:
        """Counts turns that are missing from traces."""
        self._errors.labels("trace").inc(turns)

    # ---- connections ----

    def session_began(self) -> None:
        """Counts a session that began."""
        self._began.inc()
        self._sessions_open += 1
        self._current.set(self._sessions_open)

    def session_ended(self, lasted_s: float) -> None:
        """Counts a session that ended, with its duration."""
        self._sessions_open -= 1
        self._current.set(self._sessions_open)
        self._lasted.observe(lasted_s)

    def session_refused(self, reason: str) -> None:
        """Counts a refused session; `reason` is the code of the close notice."""
        self._refused.labels(reason).inc()

    def request_refused(self, reason: str) -> None:
        """Counts a request that was refused; `reason` is the error's code, one of a fixed set."""
        self._gate.labels(reason).inc()

    # ---- the process ----

    def engines(self, states: Sequence[EngineState]) -> None:
        """Sets the current state of the engines."""
        self._engines.clear()
        self._fallbacks.clear()
        for engine in states:
            self._engines.labels(engine.stage, engine.name).set(engine.state == "ready")
            if engine.fallback:
                self._fallbacks.labels(engine.stage, engine.name).set(1)

    def loop_lag(self, lag_s: float) -> None:
        """Records how late the event loop woke, and the waits for engines since the last call."""
        self._lag.observe(lag_s)
        self.load.loop_lag(lag_s)
        self.load.read_queues()

    def stalled(self, cause: Cause) -> None:
        """Counts a stall of the event loop. Thread-safe."""
        self._stalls.labels(cause).inc()

    def engines_loaded(self) -> None:
        """Starts measuring conversations: what loading the engines took is not theirs."""
        self.load.clear()
        self.usage.loaded()

    def show_load(self) -> None:
        """Sets the figures of the load to their current values."""
        figures = self.load.figures()
        shown = {
            "response_latency_p95": figures.response_latency_s,
            "engine_latency_p95": figures.engine_latency_s,
            "loop_lag_p99": figures.loop_lag_s,
        }
        self._load.clear()
        for of, seconds in shown.items():
            if seconds is not None:
                self._load.labels(of).set(seconds)
        self._engine_queues.clear()
        for stage, queue in figures.queues.items():
            self._engine_queues.labels(stage).set(queue.wait_s)


def cache_outcome(detail: str) -> str:
    """Returns how a lookup ended from the detail of its event, as in "attempt 1: similar: 0.973"."""
    return detail.split(": ")[1]


async def watch_loop_lag(metrics: Metrics) -> None:
    """Measures the event loop's lag until cancelled."""
    loop = asyncio.get_running_loop()
    while True:
        due_s = loop.time() + LAG_EVERY_S
        await asyncio.sleep(LAG_EVERY_S)
        metrics.loop_lag(max(0.0, loop.time() - due_s))
