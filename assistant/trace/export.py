"""Exports turns to an OpenTelemetry collector in a task of its own, so that no turn waits for the network.

Needs the extra `otel`.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from urllib.parse import urlsplit

import httpx

from assistant.trace.otlp_encoding import SpanSource, headers_of, rejected, request_bytes
from assistant.trace.record import TurnRecord
from assistant.trace.spans import EndpointDetails, spans_of
from llm.environment import certificates_for, environment_of_client, proxy_for
from llm.http.encoding import PLAIN, CompressedError, refuse_compressed_async
from llm.name_lookup import use_name_lookup

MAX_WAITING = 200
"""Most records that wait for a slow or absent collector: ten minutes of a busy server. Then the oldest are dropped."""

MAX_BATCH = 20
"""Most records of one request, about 20 kB each."""

MAX_RESPONSE_BYTES = 64 << 10
"""Most bytes read of a response, which holds a count and a sentence."""

SEND_TIMEOUT_S = 5.0
"""Time limit of a request."""
LAST_SEND_TIMEOUT_S = 0.7
"""Time limit of the last requests. A server has 4.8 s in all to shut down (web/serve.py)."""

FIRST_PAUSE_S = 1.0
MAX_PAUSE_S = 30.0
"""First and longest pause before a request is repeated; it doubles each time."""

ROUTE = "/v1/traces"
RETRY_STATUSES = frozenset((429, 502, 503, 504))
"""Status codes after which OTLP allows a retry. Any other error status means that the request itself is wrong."""


class _NotAcceptedError(Exception):
    """The collector did not accept the spans. `retry`: a retry may succeed."""

    def __init__(self, why: str, *, retry: bool) -> None:
        super().__init__(why)
        self.retry = retry


@dataclass(frozen=True, slots=True)
class Collector:
    """Where spans are sent.

    Attributes:
        url: Complete address.
        headers: Headers of every request. They may contain a key and are never shown.
    """

    url: str
    headers: Mapping[str, str]

    @property
    def display_address(self) -> str:
        """The address for messages, without the path, which may contain a key."""
        address = urlsplit(self.url)
        return f"{address.scheme}://{address.netloc}"


class SpanExport:
    """Sends records as spans, for a whole process. Not thread-safe: call it on the event loop.

    Attributes:
        dropped: Number of turns whose spans were lost, because the queue was full or the collector refused them.
    """

    def __init__(
        self,
        url: str,
        environ: Mapping[str, str],
        endpoints: Mapping[str, EndpointDetails],
        report_problem: Callable[[str], None],
        *,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """Creates an export to the collector at `url`, with or without its route.

        Args:
            url: The setting `trace.otlp_url`.
            environ: Environment, with OpenTelemetry's variables for headers, service name and attributes.
            endpoints: Details of the LLM endpoints, by name.
            report_problem: Receives one sentence when the collector cannot be reached or refuses spans, and no other
                until it has accepted some again.
            transport: Replaces the network.

        Raises:
            ValueError: An OpenTelemetry variable is invalid, or its proxy or certificates cannot be used; names it.
        """
        self._collector = Collector(url.rstrip("/").removesuffix(ROUTE) + ROUTE, headers_of(environ))
        self._source = SpanSource.of(version("repartee"), environ)
        self._endpoints = endpoints
        self._report_problem = report_problem
        with environment_of_client():
            self._client = httpx.AsyncClient(
                headers={"content-type": "application/x-protobuf", **self._collector.headers, **PLAIN},
                event_hooks={"response": [refuse_compressed_async]},
                timeout=None,  # noqa: S113 - each request has its own time limit
                transport=transport,
                verify=certificates_for(self._collector.url),
                proxy=None if transport is not None else proxy_for(self._collector.url),
                trust_env=False,
            )
        self.dropped = 0
        self._reported = False
        self._sending = 0
        self._waiting: deque[TurnRecord] = deque()
        self._has_records = asyncio.Event()

    def put(self, record: TurnRecord) -> None:
        """Queues a turn. Never blocks."""
        if len(self._waiting) >= MAX_WAITING:
            self._waiting.popleft()
            self.dropped += 1
        self._waiting.append(record)
        self._has_records.set()

    @property
    def waiting(self) -> int:
        """Number of turns that are neither sent nor dropped."""
        return len(self._waiting) + self._sending

    async def run(self) -> None:
        """Sends queued turns until it is cancelled, then tries once to send those that are left.

        A request that is being sent at that moment is sent again. The collector may receive it twice, with the same
        ids.
        """
        async with self._client as client:
            try:
                await self._send_queued(client)
            finally:
                await self._send_remaining(client)

    async def _send_queued(self, client: httpx.AsyncClient) -> None:
        pause_s = FIRST_PAUSE_S
        while True:
            await self._has_records.wait()
            self._has_records.clear()
            while self._waiting:
                if await self._send_batch(client, SEND_TIMEOUT_S):
                    pause_s = FIRST_PAUSE_S
                else:
                    await asyncio.sleep(pause_s)
                    pause_s = min(MAX_PAUSE_S, 2 * pause_s)

    async def _send_remaining(self, client: httpx.AsyncClient) -> None:
        try:
            async with asyncio.timeout(LAST_SEND_TIMEOUT_S):
                while self._waiting:
                    if not await self._send_batch(client, LAST_SEND_TIMEOUT_S):
                        break
        except TimeoutError:
            self._report("did not answer in time")
        self.dropped += len(self._waiting)
        self._waiting.clear()

    async def _send_batch(self, client: httpx.AsyncClient, timeout_s: float) -> bool:
        """Sends the oldest records. Returns whether to continue at once; records for a retry go back to the queue."""
        records = [self._waiting.popleft() for _ in range(min(MAX_BATCH, len(self._waiting)))]
        self._sending = len(records)
        try:
            await self._send(client, records, timeout_s)
        except _NotAcceptedError as refusal:
            self._report(str(refusal))
            if not refusal.retry:
                self.dropped += len(records)
                return True
            self._put_back(records)
            return False
        except asyncio.CancelledError:
            self._put_back(records)
            raise
        except Exception as error:  # noqa: BLE001
            # A bug must not end the server: these spans are lost, and the error is reported.
            self._report(f"was sent nothing: internal error in the export: {type(error).__name__}")
            self.dropped += len(records)
        finally:
            self._sending = 0
        return True

    def _put_back(self, records: Sequence[TurnRecord]) -> None:
        self._waiting.extendleft(reversed(records))
        while len(self._waiting) > MAX_WAITING:
            self._waiting.popleft()
            self.dropped += 1

    async def _send(self, client: httpx.AsyncClient, records: Sequence[TurnRecord], timeout_s: float) -> None:
        """Sends one request. Raises _NotTakenError."""
        body = await asyncio.to_thread(self._encode, records)
        try:
            async with asyncio.timeout(timeout_s):
                status, answer = await self._post(client, body)
        except TimeoutError as error:
            raise _NotAcceptedError(f"did not answer within {timeout_s:g} s", retry=True) from error
        except CompressedError as error:
            raise _NotAcceptedError(f"answers compressed ({error.header}): turn that off there", retry=False) from error
        except httpx.HTTPError as error:
            raise _NotAcceptedError(f"cannot be reached ({type(error).__name__})", retry=True) from error
        if status in RETRY_STATUSES:
            raise _NotAcceptedError(f"answers {status}", retry=True)
        if not httpx.codes.is_success(status):
            raise _NotAcceptedError(
                f"answers {status}: check the address, and its headers in OTEL_EXPORTER_OTLP_HEADERS",
                retry=False,
            )
        if lost := rejected(answer):
            self._report(f"rejected {lost} spans: see its log")
        else:
            self._reported = False

    async def _post(self, client: httpx.AsyncClient, body: bytes) -> tuple[int, bytes]:
        """Sends the request. Returns the status and the beginning of the body."""
        use_name_lookup()
        answer = bytearray()
        async with client.stream("POST", self._collector.url, content=body) as response:
            async for chunk in response.aiter_raw():
                answer += chunk
                if len(answer) > MAX_RESPONSE_BYTES:
                    break
        return response.status_code, bytes(answer[:MAX_RESPONSE_BYTES])

    def _encode(self, records: Sequence[TurnRecord]) -> bytes:
        """Encodes the records. Runs in a thread: a turn takes about 1 ms, and twenty would block the event loop."""
        spans = (span for record in records for span in spans_of(record, self._endpoints))
        return request_bytes(spans, self._source)

    def _report(self, what: str) -> None:
        if not self._reported:
            self._reported = True
            self._report_problem(
                f"the OpenTelemetry collector at {self._collector.display_address} (trace.otlp_url) {what}. "
                "Turns go on, and are in the trace files as always; spans wait, and then the oldest are dropped."
            )
