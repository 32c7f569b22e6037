"""Tests of the export to an OpenTelemetry collector, which never delays a turn."""

import asyncio
import ssl
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

import httpx
import otlp_collector
import pytest
from grpc_server import self_signed
from llm_server import Close, Script, Server, Wait, serving
from simulation import ScriptedModel, Simulation
from trace_samples import TIME
from virtual_time import run_virtual

from assistant.config.settings import Settings, TraceSection
from assistant.setup.build import span_export as built
from assistant.trace import export
from assistant.trace.export import MAX_BATCH, MAX_WAITING, SpanExport
from assistant.trace.record import TurnRecord
from assistant.trace.spans import EndpointDetails, spans_of
from audio.errors import EngineLoadError
from llm.chat import PLAIN, ChatEvent, ChatOptions, Message

ENDPOINTS = {"scripted model": EndpointDetails("openai", "m7")}
SECRET = "sk-very-secret"
TAKEN = otlp_collector.answer()


@pytest.fixture(scope="module")
def record() -> TurnRecord:
    (made,) = Simulation([TIME]).run().records
    return made


@asynccontextmanager
async def exporting(
    url: str, complaints: list[str] | None = None, environ: dict[str, str] | None = None
) -> AsyncGenerator[SpanExport]:
    """Runs an export and stops it at the end."""
    said: list[str] = [] if complaints is None else complaints
    export = SpanExport(url, environ or {}, ENDPOINTS, said.append)
    async with asyncio.TaskGroup() as tasks:
        sender = tasks.create_task(export.run())
        yield export
        sender.cancel()
    if complaints is None:
        assert said == []


async def until(server: Server, requests: int, export: SpanExport | None = None) -> None:
    """Waits for this many requests and, with an export, until it has nothing to send."""
    async with asyncio.timeout(5):
        while len(server.posts) < requests or (export is not None and export.waiting):  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.005)


def exported(records: Sequence[TurnRecord], *scripts: Script, environ: dict[str, str] | None = None) -> Server:
    """Returns a collector that has received these turns."""

    async def main() -> Server:
        async with serving(*scripts) as server:
            async with exporting(server.url.removesuffix("/v1"), environ=environ) as export:
                for record in records:
                    export.put(record)
                await until(server, 1, export)
            assert export.dropped == 0
            return server

    return asyncio.run(main())


def test_collector_receives_all_spans_of_a_turn(record: TurnRecord) -> None:
    server = exported([record], TAKEN)
    ours, theirs = spans_of(record, ENDPOINTS), otlp_collector.spans(server)
    assert [span.span_id.hex() for span in theirs] == [span.span_id for span in ours]
    for mine, read in zip(ours, theirs, strict=True):
        assert read.trace_id.hex() == record.trace_id
        assert read.parent_span_id.hex() == mine.parent_id
        assert (read.name, read.start_time_unix_nano, read.end_time_unix_nano) == (
            mine.name,
            mine.start_ns,
            mine.end_ns,
        )
        expected = {name: list(value) if isinstance(value, tuple) else value for name, value in mine.attributes.items()}
        assert otlp_collector.attributes(read.attributes) == expected
        assert [(event.name, event.time_unix_nano) for event in read.events] == [
            (moment.name, moment.at_ns) for moment in mine.events
        ]
        assert read.flags & 1 == 1


def test_exported_numbers_equal_the_json(record: TurnRecord) -> None:
    root = otlp_collector.attributes(otlp_collector.spans(exported([record], TAKEN))[0].attributes)
    assert record.response_latency_ms is not None
    assert root["repartee.response_latency_ms"] == round(record.response_latency_ms, 3)
    stages = {name.split(".")[2]: root[name] for name in root if name.endswith(".ms")}
    assert stages == {stage: round(share.ms, 3) for stage, share in record.stages.items()}


def test_words_are_not_exported(record: TurnRecord) -> None:
    assert record.words is not None
    text = otlp_collector.written(exported([record], TAKEN))
    assert "scripted model" in text
    assert "what time" not in text
    assert "ten o'clock" not in text


def test_headers_and_names_come_from_standard_variables(record: TurnRecord) -> None:
    environ = {
        "OTEL_EXPORTER_OTLP_HEADERS": f"x-honeycomb-team={SECRET},x-b=a%20b",
        "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "x-b=traces",
        "OTEL_SERVICE_NAME": "kitchen",
        "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=home,service.name=other",
    }
    server = exported([record], TAKEN, environ=environ)
    assert server.posts[0].headers["x-honeycomb-team"] == SECRET
    assert server.posts[0].headers["x-b"] == "traces"
    resource = otlp_collector.resource(otlp_collector.requests(server)[0])
    assert resource["service.name"] == "kitchen"
    assert resource["deployment.environment.name"] == "home"
    assert "service.version" in resource
    assert SECRET not in otlp_collector.written(server)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OTEL_EXPORTER_OTLP_HEADERS", SECRET),
        ("OTEL_EXPORTER_OTLP_HEADERS", f"x-a={SECRET}%0d%0ax-b: 1"),
        ("OTEL_EXPORTER_OTLP_HEADERS", f"x a={SECRET}"),
        ("OTEL_RESOURCE_ATTRIBUTES", "=x"),
    ],
    ids=["header without equals sign", "line break in header", "space in header name", "attribute without name"],
)
def test_invalid_variables_are_named_without_their_value(name: str, value: str) -> None:
    settings = replace(Settings(), trace=TraceSection(otlp_url="http://127.0.0.1:4318"))
    with pytest.raises(EngineLoadError, match=name) as caught:
        built(settings, {name: value}, pytest.fail)
    assert SECRET not in str(caught.value)


def test_unusable_proxy_is_reported_before_the_first_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:1")
    settings = replace(Settings(), trace=TraceSection(otlp_url="http://collector.example:4318"))
    with pytest.raises(EngineLoadError, match=r"^trace\.otlp_url: the proxy in the environment"):
        built(settings, {}, pytest.fail)


def test_local_collector_may_use_its_own_certificate(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, record: TurnRecord
) -> None:
    key, certificate = self_signed(tmp_path)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))

    async def main() -> None:
        script = Server([TAKEN])
        async with await asyncio.start_server(script.handle, "127.0.0.1", 0, ssl=context) as server:
            async with exporting(f"https://localhost:{server.sockets[0].getsockname()[1]}") as export:
                export.put(record)
                await until(script, 1, export)
            await script.hang_up()

    asyncio.run(main())


def test_no_export_without_an_address() -> None:
    assert built(Settings(), {}, pytest.fail) is None


def test_many_turns_are_sent_in_order_in_few_requests(record: TurnRecord) -> None:
    records = [replace(record, turn=number, trace_id=f"{number:032x}") for number in range(1, 2 * MAX_BATCH + 2)]
    server = exported(records, TAKEN)
    assert len(server.posts) == 3
    roots = [span for span in otlp_collector.spans(server) if not span.parent_span_id]
    assert [int(span.trace_id.hex(), 16) for span in roots] == [record.turn for record in records]


def test_returning_collector_receives_queued_turns(record: TurnRecord, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "FIRST_PAUSE_S", 0.02)
    complaints: list[str] = []

    async def main() -> None:
        async with serving(otlp_collector.answer(503), (Close(),), TAKEN) as server:
            async with exporting(server.url.removesuffix("/v1"), complaints) as export:
                export.put(record)
                await until(server, 3, export)
            assert export.dropped == 0
            first, second, third = otlp_collector.requests(server)
            assert first == second == third

    asyncio.run(main())
    (complaint,) = complaints
    assert "trace.otlp_url) answers 503" in complaint


@pytest.mark.parametrize("code", [400, 401, 413])
def test_refused_spans_are_counted_and_not_sent_again(record: TurnRecord, code: int) -> None:
    complaints: list[str] = []

    async def main() -> None:
        async with serving(otlp_collector.answer(code)) as server:
            url = f"{server.url.removesuffix('/v1')}/secret-path"
            server.models = ()
            async with exporting(url, complaints) as export:
                export.put(record)
                await until(server, 1, export)
                export.put(record)
                await until(server, 2, export)
            assert export.dropped == 2
            assert [seen.path for seen in server.posts] == ["/secret-path/v1/traces"] * 2

    asyncio.run(main())
    (complaint,) = complaints
    assert f"answers {code}: check the address, and its headers in OTEL_EXPORTER_OTLP_HEADERS" in complaint
    assert "secret-path" not in complaint


def test_rejected_spans_are_reported(record: TurnRecord) -> None:
    complaints: list[str] = []

    async def main() -> None:
        collector = serving(otlp_collector.answer(rejected=3))
        async with collector as server, exporting(server.url, complaints) as export:
            for number in (1, 2):
                export.put(record)
                await until(server, number, export)

    asyncio.run(main())
    (complaint,) = complaints
    assert "rejected 3 spans" in complaint


def test_missing_collector_is_reported_once_and_drops_are_counted(
    record: TurnRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two minutes of virtual time, with as many tries as the pauses allow."""

    async def at_once(work: Callable[[Sequence[TurnRecord]], bytes], records: Sequence[TurnRecord]) -> bytes:
        return work(records)

    monkeypatch.setattr(asyncio, "to_thread", at_once)  # threads do not work in virtual time
    complaints: list[str] = []
    tried_at_s: list[float] = []

    async def refuse(request: httpx.Request) -> httpx.Response:
        tried_at_s.append(asyncio.get_running_loop().time())
        raise httpx.ConnectError("refused", request=request)

    async def main() -> SpanExport:
        loop = asyncio.get_running_loop()
        export = SpanExport("http://h:4318", {}, {}, complaints.append, transport=httpx.MockTransport(refuse))
        async with asyncio.TaskGroup() as tasks:
            sender = tasks.create_task(export.run())
            for _ in range(MAX_WAITING + 5):
                began_s = loop.time()
                export.put(record)
                assert loop.time() == began_s
            await asyncio.sleep(120)
            sender.cancel()
        return export

    export = run_virtual(main())
    assert export.dropped == MAX_WAITING + 5
    (complaint,) = complaints
    assert "http://h:4318 (trace.otlp_url) cannot be reached (ConnectError)" in complaint
    pauses_s = [later - sooner for sooner, later in pairwise(tried_at_s)]
    assert [round(pause_s) for pause_s in pauses_s[:6]] == [1, 2, 4, 8, 16, 30]


def test_hanging_collector_times_out_at_the_end(record: TurnRecord, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "LAST_SEND_TIMEOUT_S", 0.1)
    complaints: list[str] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        async with serving((Wait(30),)) as server:
            async with exporting(server.url, complaints) as export:
                export.put(record)
                await until(server, 1)
                stopped_s = loop.time()
            assert loop.time() - stopped_s < 2
            assert export.dropped == 1

    asyncio.run(main())
    assert len(complaints) == 1


def test_remaining_turns_are_sent_when_the_export_stops(record: TurnRecord) -> None:
    async def main() -> None:
        async with serving(TAKEN) as server:
            async with exporting(server.url) as export:
                await asyncio.sleep(0)
                export.put(record)
            assert export.dropped == 0
            assert len(server.posts) == 1

    asyncio.run(main())


def test_bug_in_the_export_costs_only_spans(record: TurnRecord, monkeypatch: pytest.MonkeyPatch) -> None:
    complaints: list[str] = []

    async def main() -> None:
        async with serving(TAKEN) as server:
            async with exporting(server.url.removesuffix("/v1"), complaints) as export:
                export.put(replace(record, started_at="yesterday"))
                export.put(record)
                await asyncio.sleep(0.05)
                export.put(record)
                await until(server, 1, export)
            assert export.dropped == 2
            assert len(server.posts) == 1

    asyncio.run(main())
    (complaint,) = complaints
    assert "internal error in the export: ValueError" in complaint


def test_missing_extra_is_named() -> None:
    script = (
        "import sys; sys.modules['opentelemetry.proto'] = None\n"
        "from assistant.setup.build import span_export\n"
        "from assistant.config.settings import Settings, TraceSection\n"
        "try:\n"
        "    span_export(Settings(trace=TraceSection(otlp_url='http://h:4318')), {}, print)\n"
        "except Exception as error:\n"
        "    print(type(error).__name__, error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=15)
    assert done.stdout == (
        "EngineLoadError trace.otlp_url needs OpenTelemetry's messages: "
        "run `.venv/bin/pip install -e '.[otel]'` in Repartee's folder\n"
    )


class _HeaderRecorder(ScriptedModel):
    """Stores the trace header of each request."""

    heard: ClassVar[list[str]] = []

    def stream(self, messages: Sequence[Message], options: ChatOptions = PLAIN) -> AsyncGenerator[ChatEvent]:
        self.heard.append(options.traceparent)
        return super().stream(messages, options)


def told(*, exports: bool) -> tuple[TurnRecord, list[str]]:
    """Returns the record of a simulated turn and the trace headers of its requests."""
    simulation = Simulation([TIME])
    simulation.model = model = _HeaderRecorder(simulation.replies)
    model.heard.clear()
    simulation.at(100, lambda: setattr(simulation.session.recorder, "exports", exports))
    (record,) = simulation.run().records
    return record, list(model.heard)


def test_request_header_names_the_span_of_its_answer() -> None:
    record, headers = told(exports=True)
    spans = [span for span in spans_of(record, ENDPOINTS) if span.name == "chat m7"]
    assert headers
    assert headers == [f"00-{record.trace_id}-{span.span_id}-01" for span in spans]


def test_no_trace_header_without_export() -> None:
    record, headers = told(exports=False)
    assert headers == [""] * len(record.answers)
    assert len(record.trace_id) == 32


def test_compressed_response_of_a_collector_is_refused(record: TurnRecord) -> None:
    complaints: list[str] = []
    head = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 3\r\n\r\nxyz"

    async def main() -> None:
        async with serving((head,)) as server, exporting(server.url, complaints) as export:
            export.put(record)
            await until(server, 1, export)

    asyncio.run(main())
    assert "Content-Encoding: gzip" in complaints[0]
