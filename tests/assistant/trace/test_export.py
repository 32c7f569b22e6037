"""Tests of the export to an OpenTelemetry collector, which never delays a turn."""

import asyncio
import ssl
import subprocess
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import SpanFlags, Status
from support.conversations.simulation import ScriptedModel, Simulation
from support.conversations.trace_samples import TIME
from support.services import otlp_collector
from support.services.grpc_server import self_signed
from support.services.llm_server import Close, Drip, Script, Seen, Server, Wait, serving

from assistant.config.settings import Settings, TraceSection
from assistant.setup.build import span_export as built
from assistant.trace import export
from assistant.trace.export import MAX_BATCH, MAX_WAITING, SpanExport
from assistant.trace.otlp_session import CollectorSession
from assistant.trace.record import TurnRecord
from assistant.trace.spans import EndpointDetails, spans_of
from audio.errors import EngineLoadError
from llm.chat import PLAIN, ChatEvent, ChatOptions, Message

ENDPOINTS = {"scripted model": EndpointDetails("openai", "m7")}
SECRET = "sk-very-secret"
TAKEN = otlp_collector.answer()


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the export send each turn at once."""
    monkeypatch.setattr(export, "SEND_EVERY_S", 0.01)


@pytest.fixture
def impatient(soon: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the SDK give up at once, before its first pause of 0.8 s or more, and the export try again soon."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "0.75")
    monkeypatch.setattr(export, "RETRY_AFTER_S", 0.05)


@pytest.fixture(scope="module")
def record() -> TurnRecord:
    (made,) = Simulation([TIME]).run().records
    return made


@asynccontextmanager
async def exporting(url: str, complaints: list[str] | None = None) -> AsyncGenerator[SpanExport]:
    """Runs an export and stops it at the end."""
    said: list[str] = [] if complaints is None else complaints
    export = SpanExport(url, ENDPOINTS, said.append)
    async with asyncio.TaskGroup() as tasks:
        sender = tasks.create_task(export.run())
        yield export
        sender.cancel()
    if complaints is None:
        assert said == []


async def until(server: Server, requests: int, export: SpanExport | None = None) -> None:
    """Waits for this many requests and, with an export, until it has nothing to send."""
    async with asyncio.timeout(10):
        while len(server.posts) < requests or (export is not None and export.waiting):  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.005)


@dataclass
class Sent:
    """The result of an export."""

    server: Server
    dropped: int
    complaints: list[str]


def sent(record: TurnRecord, *scripts: Script, requests: Sequence[int] = (1,), path: str = "") -> Sent:
    """Exports a turn to a collector with these responses, and again for each of `requests`.

    `requests`: number of requests that the collector has got when a turn was sent.
    """
    complaints: list[str] = []

    async def main() -> Sent:
        async with serving(*scripts) as server:
            server.models = ()
            async with exporting(server.url.removesuffix("/v1") + path, complaints) as export:
                for count in requests:
                    export.queue_record(record)
                    await until(server, count, export)
            return Sent(server, export.dropped, complaints)

    return asyncio.run(main())


def complaint_about(url: str, record: TurnRecord) -> str:
    """Returns the report about a collector that cannot be reached."""
    complaints: list[str] = []

    async def main() -> None:
        async with exporting(url, complaints) as export:
            export.queue_record(record)
            async with asyncio.timeout(10):
                while not complaints:  # noqa: ASYNC110 - nobody tells
                    await asyncio.sleep(0.01)

    asyncio.run(main())
    return complaints[0]


def test_collector_receives_all_spans_of_a_turn(record: TurnRecord) -> None:
    server = sent(record, TAKEN).server
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
        # The SDK sends the flags about the parent, and not W3C's "sampled": a span that is exported was sampled.
        assert read.flags == SpanFlags.SPAN_FLAGS_CONTEXT_HAS_IS_REMOTE_MASK
        assert read.status == Status()
        assert read.kind == (3 if mine.kind == "client" else 1)
    assert otlp_collector.resource(otlp_collector.requests(server)[0])["service.name"] == "repartee"
    assert record.words is not None
    assert "what time" not in otlp_collector.written(server)
    assert "ten o'clock" not in otlp_collector.written(server)


def test_headers_and_names_come_from_standard_variables(record: TurnRecord, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", f"x-honeycomb-team={SECRET},x-b=a%20b")
    monkeypatch.setenv("OTEL_SERVICE_NAME", "kitchen")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=home,service.name=other")
    server = sent(record, TAKEN).server
    assert server.posts[0].headers["x-honeycomb-team"] == SECRET
    assert server.posts[0].headers["x-b"] == "a b"
    resource = otlp_collector.resource(otlp_collector.requests(server)[0])
    assert resource["service.name"] == "kitchen"
    assert resource["deployment.environment.name"] == "home"
    assert "service.version" in resource
    assert SECRET not in otlp_collector.written(server)


def test_local_collector_needs_neither_password_file_nor_proxy(
    record: TurnRecord, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login someone password other\n", encoding="utf-8")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", f"authorization=Bearer {SECRET}")
    (seen,) = sent(record, TAKEN).server.posts
    assert seen.headers["authorization"] == f"Bearer {SECRET}", "the configured key"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OTEL_EXPORTER_OTLP_HEADERS", SECRET),
        ("OTEL_EXPORTER_OTLP_HEADERS", f"x-a={SECRET}%0d%0ax-b: 1"),
        ("OTEL_EXPORTER_OTLP_HEADERS", f"x a={SECRET}"),
        ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", f'x-a="{SECRET}"'),
        ("OTEL_RESOURCE_ATTRIBUTES", "=x"),
    ],
)
def test_invalid_variables_are_named_without_their_value(
    name: str,
    value: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv(name, value)
    settings = replace(Settings(), trace=TraceSection(otlp_url="http://127.0.0.1:4318"))
    with pytest.raises(EngineLoadError, match=name) as caught:
        built(settings, pytest.fail)
    assert SECRET not in f"{caught.value}{caplog.text}{capfd.readouterr()}"


@pytest.mark.parametrize(
    ("variable", "value", "problem"),
    [
        ("ALL_PROXY", "socks5://127.0.0.1:1", "the proxy in the environment"),
        ("SSL_CERT_FILE", "/nowhere/none.pem", "SSL_CERT_FILE in the environment"),
    ],
)
def test_unusable_environment_is_reported_before_the_first_turn(
    variable: str, value: str, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    settings = replace(Settings(), trace=TraceSection(otlp_url="https://collector.example:4318"))
    with pytest.raises(EngineLoadError, match=rf"^trace\.otlp_url: {problem}"):
        built(settings, pytest.fail)


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "OTEL_EXPORTER_OTLP_CERTIFICATE"])
def test_local_collector_may_use_its_own_certificate(
    variable: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, record: TurnRecord
) -> None:
    key, certificate = self_signed(tmp_path)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    monkeypatch.setenv(variable, str(certificate))

    async def main() -> None:
        script = Server([TAKEN])
        async with await asyncio.start_server(script.handle, "127.0.0.1", 0, ssl=context) as server:
            async with exporting(f"https://localhost:{server.sockets[0].getsockname()[1]}") as export:
                export.queue_record(record)
                await until(script, 1, export)
            await script.hang_up()

    asyncio.run(main())


def test_no_export_without_an_address() -> None:
    assert built(Settings(), pytest.fail) is None


def test_many_turns_are_sent_in_order_in_few_requests(record: TurnRecord) -> None:
    async def main() -> Server:
        async with serving(TAKEN) as server:
            async with exporting(server.url.removesuffix("/v1")) as export:
                for number in range(1, 2 * MAX_BATCH + 2):
                    export.queue_record(replace(record, turn=number, trace_id=f"{number:032x}"))
                await until(server, 1, export)
            assert export.dropped == 0
            return server

    server = asyncio.run(main())
    assert len(server.posts) == 3
    roots = [span for span in otlp_collector.spans(server) if not span.parent_span_id]
    assert [int(span.trace_id.hex(), 16) for span in roots] == list(range(1, 2 * MAX_BATCH + 2))
    assert server.connections == 1


def test_returning_collector_receives_queued_turns(record: TurnRecord, impatient: None) -> None:
    result = sent(record, otlp_collector.answer(503), (Close(),), TAKEN, requests=[3])
    assert result.dropped == 0
    first, second, third = otlp_collector.requests(result.server)
    assert first == second == third
    (complaint,) = result.complaints
    assert "trace.otlp_url) answers 503" in complaint


def test_short_refusal_is_not_worth_a_report(record: TurnRecord) -> None:
    """The SDK's exporter tries again on its own."""
    result = sent(record, otlp_collector.answer(503), TAKEN, requests=[2])
    assert (len(result.server.posts), result.complaints) == (2, [])


@pytest.mark.parametrize("code", [301, 401])
def test_refused_spans_are_counted_and_not_sent_again(record: TurnRecord, soon: None, code: int) -> None:
    result = sent(record, otlp_collector.answer(code), requests=[1, 2], path="/secret-path")
    assert result.dropped == 2
    assert [seen.path for seen in result.server.posts] == ["/secret-path/v1/traces"] * 2
    (complaint,) = result.complaints
    assert f"answers {code}: check the address, and its headers in OTEL_EXPORTER_OTLP_HEADERS" in complaint
    assert "secret-path" not in complaint


def test_rejected_spans_are_reported(record: TurnRecord, soon: None) -> None:
    result = sent(record, otlp_collector.answer(rejected=3), requests=[1, 2])
    assert result.dropped == 0
    (complaint,) = result.complaints
    assert "rejected 3 spans" in complaint


def test_missing_collector_is_reported_once_and_drops_are_counted(
    record: TurnRecord, impatient: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    complaints: list[str] = []
    tries: list[object] = []
    send = CollectorSession.send

    def noting(session: CollectorSession, *args: object, **options: object) -> object:
        tries.append(args)
        return send(session, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(CollectorSession, "send", noting)

    async def main() -> SpanExport:
        loop = asyncio.get_running_loop()
        async with exporting("http://127.0.0.1:9", complaints) as export:
            longest_s = 0.0
            for _ in range(MAX_WAITING + 5):
                began_s = loop.time()
                export.queue_record(record)
                longest_s = max(longest_s, loop.time() - began_s)
            assert longest_s < 0.5
            assert (export.waiting, export.dropped) == (MAX_WAITING, 5)
            await asyncio.sleep(0.25)
            assert export.waiting == MAX_WAITING
            # Each time two tries, because the first may have used a connection that the collector had closed.
            assert 2 <= len(tries) <= 2 * 6
        return export

    assert asyncio.run(main()).dropped == MAX_WAITING + 5
    (complaint,) = complaints
    assert "http://127.0.0.1:9 (trace.otlp_url) " in complaint


def test_reason_of_an_unreachable_collector_is_reported(record: TurnRecord, impatient: None) -> None:
    expected = "http://127.0.0.1:9 (trace.otlp_url) cannot be reached (ConnectionError)"
    assert expected in complaint_about("http://127.0.0.1:9", record)


def test_missing_certificate_is_named(
    record: TurnRecord, impatient: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_CERTIFICATE", str(tmp_path / "none.pem"))
    why = f"Could not find a suitable TLS CA certificate bundle, invalid path: {tmp_path}"
    assert f"cannot be reached ({why}" in complaint_about("https://127.0.0.1:9", record)


def test_problem_is_reported_again_after_a_recovery(record: TurnRecord, soon: None) -> None:
    refused = otlp_collector.answer(401)
    result = sent(record, refused, refused, TAKEN, refused, requests=[1, 2, 3, 4])
    assert result.dropped == 3
    assert len(result.complaints) == 2


def test_event_loop_runs_on_while_a_collector_is_slow(record: TurnRecord, soon: None) -> None:
    ticks = 0

    async def main() -> None:
        nonlocal ticks
        async with serving((Wait(0.3), *TAKEN)) as server, exporting(server.url) as export:
            export.queue_record(record)
            while export.waiting:
                await asyncio.sleep(0.01)
                ticks += 1

    asyncio.run(main())
    assert ticks > 10


def test_failures_leave_nothing_in_the_log(
    record: TurnRecord, soon: None, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """The SDK logs each failure, and some with a traceback."""
    with caplog.at_level("INFO"):
        sent(record, otlp_collector.answer(400), otlp_collector.answer(503), (Close(),), TAKEN, requests=[1, 4])
    assert caplog.text == ""
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("hanging", [(Wait(30),), (b"HTTP/1.1 200 OK\r\n", Drip(b"x-a: b\r\n", 0.05))])
def test_hanging_collector_times_out_at_the_end(
    record: TurnRecord, hanging: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "LAST_SEND_TIMEOUT_S", 0.1)
    complaints: list[str] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        async with serving(hanging) as server:
            async with exporting(server.url, complaints) as export:
                export.queue_record(record)
                await until(server, 1)
                stopped_s = loop.time()
            assert loop.time() - stopped_s < 2
            assert export.dropped == 1

    asyncio.run(main())
    (complaint,) = complaints
    assert "did not answer in time" in complaint


def test_remaining_turns_are_sent_when_the_export_stops(record: TurnRecord) -> None:
    async def main() -> None:
        async with serving(TAKEN) as server:
            async with exporting(server.url) as export:
                await asyncio.sleep(0)
                export.queue_record(record)
            assert export.dropped == 0
            assert len(server.posts) == 1

    asyncio.run(main())


def test_bug_in_the_export_costs_only_spans(record: TurnRecord, soon: None) -> None:
    complaints: list[str] = []

    async def main() -> None:
        async with serving(TAKEN) as server:
            async with exporting(server.url.removesuffix("/v1"), complaints) as export:
                export.queue_record(replace(record, started_at="yesterday"))
                export.queue_record(record)
                await until(server, 0, export)
                export.queue_record(record)
                await until(server, 1, export)
            assert export.dropped == 2
            assert len(server.posts) == 1

    asyncio.run(main())
    (complaint,) = complaints
    assert "internal error in the export: ValueError" in complaint


def test_missing_extra_is_named() -> None:
    script = (
        "import sys; sys.modules['opentelemetry.sdk'] = None\n"
        "from assistant.setup.build import span_export\n"
        "from assistant.config.settings import Settings, TraceSection\n"
        "try:\n"
        "    span_export(Settings(trace=TraceSection(otlp_url='http://h:4318')), print)\n"
        "except Exception as error:\n"
        "    print(type(error).__name__, error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=15)
    assert done.stdout == (
        "EngineLoadError trace.otlp_url needs OpenTelemetry's SDK: "
        "run `.venv/bin/pip install -e '.[otel]'` in Repartee's folder\n"
    )


class _Overheard(ScriptedModel):
    """Stores the trace header of each request."""

    heard: ClassVar[list[str]] = []

    def stream(self, messages: Sequence[Message], options: ChatOptions = PLAIN) -> AsyncGenerator[ChatEvent]:
        self.heard.append(options.traceparent)
        return super().stream(messages, options)


def told(*, exports: bool) -> tuple[TurnRecord, list[str]]:
    """Returns the record of a simulated turn and the trace headers of its requests."""
    simulation = Simulation([TIME])
    simulation.model = model = _Overheard(simulation.replies)
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
    head = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 3\r\n\r\nxyz"
    assert "Content-Encoding: gzip" in sent(record, (head,)).complaints[0]


def test_redirect_of_a_collector_is_not_followed(record: TurnRecord, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", f"x-honeycomb-team={SECRET}")
    complaints: list[str] = []

    async def main() -> list[Seen]:
        async with serving(otlp_collector.answer()) as other:
            head = f"HTTP/1.1 307 X\r\nlocation: {other.url}/v1/traces\r\ncontent-length: 0\r\n\r\n".encode()
            async with serving((head,)) as server, exporting(server.url, complaints) as export:
                export.queue_record(record)
                await until(server, 1, export)
            return other.seen

    assert asyncio.run(main()) == []
    assert "answers 307: check the address" in complaints[0]
