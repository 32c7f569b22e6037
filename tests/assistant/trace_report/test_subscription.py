"""Tests following a server's stream: addresses, refusals, split lines, and reconnects."""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import pairwise
from typing import ClassVar

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.conversations.trace_samples import DEMO, demo_records
from support.texts.text_cases import text_cases

from assistant.trace_report.reading import Record, TraceError
from assistant.trace_report.subscription import CONTENT_TYPE, stream_url, subscribe

LINES = DEMO.read_bytes()


class Stream(httpx.SyncByteStream):
    """A server's response body. At its end the connection breaks, if requested."""

    def __init__(self, chunks: Iterable[bytes], *, breaks: bool = False) -> None:
        self._chunks = chunks
        self._breaks = breaks

    def __iter__(self) -> Iterator[bytes]:
        yield from self._chunks
        if self._breaks:
            raise httpx.ReadTimeout("nothing came")


def traces(*chunks: bytes, breaks: bool = False) -> httpx.Response:
    return httpx.Response(200, headers={"Content-Type": CONTENT_TYPE}, stream=Stream(chunks, breaks=breaks))


def refusal(status: int, message: str = "no") -> httpx.Response:
    return httpx.Response(status, json={"error": {"message": message}})


class SubscriptionHarness:
    """Follows a server that gives these responses in order; stops after the last."""

    def __init__(self, *answers: httpx.Response | Exception, token: str = "") -> None:
        self.warned: list[str] = []
        self.waited_s: list[float] = []
        self.asked: list[httpx.Request] = []
        self._answers = list(answers)
        environ = {"REPARTEE_TOKEN": token} if token else {}
        self._records = subscribe(
            "ws://host:8765/v1/realtime", environ, self.warned.append, self._pause, httpx.MockTransport(self._answer)
        )

    def all(self) -> list[Record]:
        found: list[Record] = []
        try:
            for record in self._records:
                found.append(record)  # noqa: PERF402 - what came before an interruption counts
        except KeyboardInterrupt:
            pass
        return found

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _pause(self, seconds: float) -> None:
        self.waited_s.append(seconds)
        if not self._answers:
            raise KeyboardInterrupt


@text_cases(
    ("address", "url"),
    [
        ("http://127.0.0.1:8765", "http://127.0.0.1:8765/traces"),
        ("ws://127.0.0.1:8765/v1/realtime?model=x", "http://127.0.0.1:8765/traces"),
        ("wss://voice.example/v1/realtime/", "https://voice.example/traces"),
        ("https://voice.example/traces", "https://voice.example/traces"),
        ("HTTP://[::1]:80/", "http://[::1]:80/traces"),
    ],
)
def test_any_server_address_is_accepted(address: str, url: str) -> None:
    assert stream_url(address) == url


@text_cases(
    "address",
    [
        *("ftp://host", "http://", "http://host:99999", "http://me:secret@host", "http://["),
        *("http://a..b", f"http://{70 * 'a'}.example", f"http://{70 * 'ä'}.example", "http://xn--zz"),
    ],
)
def test_invalid_address_is_reported_without_password(address: str) -> None:
    with pytest.raises(TraceError, match="is not the address of a server") as refused:
        stream_url(address)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("token", ["geheimnüs", "two\nlines"], ids=["non-ASCII", "line break"])
def test_invalid_token_is_reported_but_not_shown(token: str) -> None:
    with pytest.raises(TraceError, match=r"^REPARTEE_TOKEN has a character that HTTP does not allow") as refused:
        SubscriptionHarness(traces(LINES), token=token).all()
    assert token not in str(refused.value)


@given(st.lists(st.integers(0, len(LINES)), max_size=20))
def test_lines_may_be_split_anywhere(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(LINES)]
    chunks = [LINES[start:end] for start, end in pairwise(places)]
    assert SubscriptionHarness(traces(b"\n", *chunks)).all() == demo_records()


def test_broken_stream_is_retried_with_growing_delays() -> None:
    first, *others = LINES.splitlines(keepends=True)
    gone = httpx.ConnectError("refused")
    followed = SubscriptionHarness(
        traces(first, breaks=True), gone, refusal(503), gone, traces(*others), token="t" * 16
    )
    assert followed.all() == demo_records()
    assert followed.waited_s == [1.0, 2.0, 4.0, 8.0, 1.0]
    assert "cannot be reached (ReadTimeout); trying again in 1 s" in followed.warned[0]
    assert "answers 503: no" in followed.warned[2]
    assert "has ended its stream" in followed.warned[4]
    assert {request.headers["authorization"] for request in followed.asked} == {f"Bearer {'t' * 16}"}
    assert {str(request.url) for request in followed.asked} == {"http://host:8765/traces"}


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        pytest.param(refusal(401), "put it into the environment variable REPARTEE_TOKEN", id="token missing"),
        pytest.param(
            refusal(403, "pages of x may not use this server"), "answers 403: pages of x may not", id="foreign page"
        ),
        pytest.param(refusal(404), "not a `repartee serve`, or it has no stream", id="no stream"),
        pytest.param(
            refusal(503, "8 clients already follow"), "answers 503: 8 clients already follow", id="too many followers"
        ),
        pytest.param(httpx.Response(302, headers={"Location": "http://elsewhere/"}), "answers 302", id="redirect"),
        pytest.param(httpx.Response(500, content=b"<html>"), "answers 500", id="server error"),
        pytest.param(httpx.Response(200, text="<html>"), "answers, but not with traces", id="web page"),
        pytest.param(traces(b'{"hello": 1}\n'), "is not a turn record", id="other JSON"),
        pytest.param(traces(b"x" * 5_000_000), "a line of more than 4 MB", id="endless line"),
        pytest.param(
            httpx.ConnectError("refused"),
            r"cannot be reached \(ConnectError\); is `repartee serve` running there",
            id="unreachable",
        ),
    ],
)
def test_refusal_is_reported_once(answer: httpx.Response | Exception, said: str) -> None:
    followed = SubscriptionHarness(answer)
    with pytest.raises(TraceError, match=said):
        followed.all()
    assert followed.waited_s == []


def test_lost_turns_are_reported() -> None:
    followed = SubscriptionHarness(traces(b'{"lost": 3}\n', LINES, b'{"lost": "many"}'))
    assert followed.all() == demo_records()
    assert followed.warned[0] == "3 turns are not shown, because turns arrived faster than they were read."


class StubTraceServer(BaseHTTPRequestHandler):
    """A server, or a proxy in its place."""

    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        self.send_response(200)
        self.send_header("Content-Type", CONTENT_TYPE)
        self.end_headers()
        self.wfile.write(LINES)

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.parametrize(
    ("address", "through"),
    [("http://voice.example", True), ("http://localhost:9", False)],
    ids=["remote server", "local server"],
)
def test_remote_server_is_reached_through_environment_proxy(
    address: str, through: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    StubTraceServer.asked.clear()
    with HTTPServer(("127.0.0.1", 0), StubTraceServer) as proxy, ThreadPoolExecutor() as threads:
        proxy.timeout = 1
        answering = threads.submit(proxy.handle_request)
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.server_port}")
        records = subscribe(address, {}, lambda _what: None, lambda _s: None)
        if through:
            assert next(records) == demo_records()[0]
        else:
            with pytest.raises(TraceError, match="is `repartee serve` running there"):
                next(records)
        answering.result()
    assert StubTraceServer.asked == ([f"{address}/traces"] if through else [])


def test_invalid_proxy_is_reported_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "ftp://me:secret@proxy.example:21")
    with pytest.raises(
        TraceError, match=r"^HTTP_PROXY in the environment is not a valid proxy address .*: correct or unset it\.$"
    ):
        next(subscribe("http://voice.example", {}, lambda _what: None, lambda _s: None))


def test_compressed_stream_is_rejected() -> None:
    answer = httpx.Response(
        200, headers={"Content-Type": CONTENT_TYPE, "Content-Encoding": "gzip"}, stream=Stream([b""])
    )
    followed = SubscriptionHarness(answer)
    with pytest.raises(TraceError, match="Content-Encoding: gzip"):
        followed.all()
    assert followed.asked[0].headers["accept-encoding"] == "identity"
