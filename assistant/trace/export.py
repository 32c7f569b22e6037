"""Exports turns to a collector with OpenTelemetry's SDK, in a thread of its own, so that no turn waits for the network.

Needs the extra `otel`.
"""

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from urllib.parse import urlsplit

from assistant.trace.record import TurnRecord
from assistant.trace.spans import EndpointDetails, OtelSpan, spans_of
from declarations.extra import installing

try:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource
    from opentelemetry.sdk.trace import Event, ReadableSpan
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope
    from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

    from assistant.trace.otlp_session import NO_ANSWER, NOT_SENT, CollectorSession, Verdict, certificates, check_pairs
except ImportError as error:
    raise ImportError(f"trace.otlp_url needs OpenTelemetry's SDK: {installing('otel')}") from error

MAX_WAITING = 200
"""Maximum number of turns that wait for a slow or absent collector: ten minutes of a busy server. Further ones are
dropped."""

MAX_BATCH = 20
"""Maximum number of turns of one request, about 20 kB each."""

SEND_EVERY_S = 1.0
"""Longest time that a turn waits for others, to be sent with them."""

RETRY_AFTER_S = 15.0
"""Pause before a request is repeated that the SDK has repeated in vain for 10 s (OTEL_EXPORTER_OTLP_TIMEOUT)."""

LAST_SEND_TIMEOUT_S = 0.7
"""Time limit of the last requests. A server has 4.8 s in all to shut down (web/serve.py)."""

ROUTE = "/v1/traces"

_KINDS = {"internal": SpanKind.INTERNAL, "client": SpanKind.CLIENT}
_SAMPLED = TraceFlags(TraceFlags.SAMPLED)

# The SDK logs each failed request, some with a traceback or a header. SpanExport reports a problem once.
logging.getLogger("opentelemetry").setLevel(logging.CRITICAL + 1)


class SpanExport:
    """Sends records as spans, for a whole process. Not thread-safe: call it on the event loop.

    Attributes:
        dropped: Number of turns whose spans were lost, because too many waited or the collector refused them.
        waiting: Number of turns that are neither sent nor dropped.
    """

    def __init__(
        self, url: str, endpoints: Mapping[str, EndpointDetails], report_problem: Callable[[str], None]
    ) -> None:
        """Creates an export to the collector at `url`, with or without its route.

        Args:
            url: The setting `trace.otlp_url`.
            endpoints: Details of the LLM endpoints, by name.
            report_problem: Receives one sentence when the collector cannot be reached or refuses spans, and no other
                until it has accepted some again. It is called on the event loop.

        Raises:
            ValueError: An OpenTelemetry variable is invalid, or its proxy or certificates cannot be used; names it.
        """
        self.dropped = self.waiting = 0
        address = urlsplit(url)
        self._display_address = f"{address.scheme}://{address.netloc}"  # without the path, which may contain a key
        self._report_problem = report_problem
        self._reported = self._stopped = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._exporter = _TurnExporter(url.rstrip("/").removesuffix(ROUTE) + ROUTE, endpoints, self._finish_in_thread)
        self._processor = BatchSpanProcessor(self._exporter, MAX_WAITING, SEND_EVERY_S * 1000, MAX_BATCH)

    def queue_record(self, record: TurnRecord) -> None:
        """Queues a turn. Never blocks."""
        if self.waiting >= MAX_WAITING:
            self.dropped += 1
            self._report("is too slow")
            return
        self._loop = asyncio.get_running_loop()
        self.waiting += 1
        self._processor.on_end(_QueuedTurn(record))

    async def run(self) -> None:
        """Waits until it is cancelled. Then the turns that are left have LAST_SEND_TIMEOUT_S."""
        loop = asyncio.get_running_loop()
        try:
            await loop.create_future()
        finally:
            end_s = loop.time() + LAST_SEND_TIMEOUT_S
            self._exporter.stopping.set()
            # In a daemon thread, because the processor waits up to 30 s for its exporter.
            threading.Thread(target=self._processor.shutdown, daemon=True).start()
            while self.waiting and loop.time() < end_s:  # noqa: ASYNC110 - has a deadline
                await asyncio.sleep(0.01)
            self._exporter.shutdown()
            self._stopped = True
            if self.waiting:
                self._report(self._exporter.session.verdict.problem or NO_ANSWER.problem)
                self.dropped += self.waiting
                self.waiting = 0

    def _finish_in_thread(self, turns: int, verdict: Verdict) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._finish, turns, verdict)

    def _finish(self, turns: int, verdict: Verdict) -> None:
        """Counts the turns of a request."""
        if self._stopped:
            return
        if verdict.outcome != "retry":
            self.waiting -= turns
        if verdict.outcome == "lost":
            self.dropped += turns
        if verdict.problem:
            self._report(verdict.problem)
        elif self.waiting < MAX_WAITING // 2:  # otherwise a slow collector would be reported with every request
            self._reported = False

    def _report(self, what: str) -> None:
        if not self._reported:
            self._reported = True
            self._report_problem(
                f"the OpenTelemetry collector at {self._display_address} (trace.otlp_url) {what}. Turns go on, and are "
                f"in the trace files as always; spans of {MAX_WAITING} turns wait, and further ones are dropped."
            )


class _QueuedTurn(ReadableSpan):
    """A turn in the processor's queue. The exporter replaces it by the turn's spans, in its thread: that takes 2 ms."""

    def __init__(self, record: TurnRecord) -> None:
        super().__init__("turn", _context(record.trace_id, "1"), resource=Resource.get_empty())
        self.record = record


class _TurnExporter(SpanExporter):
    """Sends turns, in the processor's thread, and repeats a request until it is accepted or refused.

    The SDK's exporter gives up after 10 s: the turns would be lost while a collector restarts.

    Attributes:
        session: Its connections.
        stopping: Set: each request is made once more and not repeated.
    """

    def __init__(
        self, url: str, endpoints: Mapping[str, EndpointDetails], finish: Callable[[int, Verdict], None]
    ) -> None:
        for variable in ("EXPORTER_OTLP_HEADERS", "EXPORTER_OTLP_TRACES_HEADERS", "RESOURCE_ATTRIBUTES"):
            check_pairs(f"OTEL_{variable}")
        self._endpoints = endpoints
        self._finish = finish
        self.stopping = threading.Event()
        self.session = CollectorSession(url)
        self._exporter = OTLPSpanExporter(url, certificate_file=certificates(), session=self.session)
        ours = {"service.name": "repartee", "service.version": version("repartee")}
        self._resource = Resource.create(ours).merge(OTELResourceDetector().detect())
        self._scope = InstrumentationScope("repartee", version("repartee"))

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        turns = [turn.record for turn in spans if isinstance(turn, _QueuedTurn)]
        while True:
            is_last = self.stopping.is_set()
            verdict = self._try(turns)
            self._finish(len(turns), verdict)
            if verdict.outcome != "retry" or is_last:
                return SpanExportResult.SUCCESS if verdict.outcome == "accepted" else SpanExportResult.FAILURE
            self.stopping.wait(RETRY_AFTER_S)

    def shutdown(self) -> None:
        self._exporter.shutdown()  # type: ignore[no-untyped-call]

    def _try(self, turns: Sequence[TurnRecord]) -> Verdict:
        self.session.verdict = NOT_SENT
        try:
            self._exporter.export([self._span(span) for turn in turns for span in spans_of(turn, self._endpoints)])
        except Exception as error:  # noqa: BLE001
            # A bug must not end the export: these spans are lost, and the error is reported.
            return Verdict("lost", f"{NOT_SENT.problem}: {type(error).__name__}")
        return self.session.verdict

    def _span(self, span: OtelSpan) -> ReadableSpan:
        return ReadableSpan(
            span.name,
            _context(span.trace_id, span.span_id),
            _context(span.trace_id, span.parent_id) if span.parent_id else None,
            self._resource,
            span.attributes,
            [Event(event.name, event.attributes, event.at_ns) for event in span.events],
            kind=_KINDS[span.kind],
            status=Status(StatusCode.UNSET) if span.failure is None else Status(StatusCode.ERROR, span.failure),
            start_time=span.start_ns,
            end_time=span.end_ns,
            instrumentation_scope=self._scope,
        )


def _context(trace_id: str, span_id: str) -> SpanContext:
    return SpanContext(int(trace_id, 16), int(span_id, 16), is_remote=False, trace_flags=_SAMPLED)
