"""Idle connections and a lack of file descriptors do not block health checks or conversations."""

import asyncio
import errno
import logging
import resource
import socket

import httpx
import pytest
from support.clocks.virtual_time import run_virtual
from support.servers.session_server import eventually
from support.servers.web_server import running_server
from uvicorn.protocols.http.h11_impl import H11Protocol
from websockets.asyncio.client import connect

from web.process import descriptors
from web.sockets import acceptor, http_timeouts
from web.sockets.acceptor import Acceptor
from web.sockets.http_timeouts import TimedHttpProtocol, close_oldest_idle, thin_out

IDLE = 400


async def status(url: str) -> int:
    async with httpx.AsyncClient(trust_env=False) as client:
        return (await client.get(url, timeout=20)).status_code


async def test_idle_connections_do_not_block_new_ones() -> None:
    async with running_server() as server:
        opened = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(IDLE)]
        for path in ("/", "/healthz", "/readyz", "/metrics"):
            assert await status(server.http + path) == 200
        async with connect(server.ws, proxy=None) as client:
            assert await client.recv() == ""
        assert len(server.server.server_state.connections) <= http_timeouts.MAX_IDLE + 1
        for _, writer in opened:
            writer.transport.abort()


async def test_health_checks_pass_while_requests_are_pending(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("web.app.MAX_REQUESTS", 2)
    async with running_server() as server, asyncio.TaskGroup() as tasks:
        following = [tasks.create_task(status(server.http + "/traces")) for _ in range(2)]
        await eventually(lambda: server.traces.followers >= 2)
        paths = ("/", "/metrics", "/healthz", "/readyz")
        assert [await status(server.http + path) for path in paths] == [503, 503, 200, 200]
        server.traces.end()
        await asyncio.wait(following)
        assert await status(server.http + "/") == 200


@pytest.mark.parametrize(
    "framing", ["Content-Length: 9999999", "Transfer-Encoding: chunked"], ids=["content length", "chunked"]
)
async def test_request_body_is_not_read(framing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    received: list[int] = []
    receive = H11Protocol.data_received

    def counted(self: TimedHttpProtocol, data: bytes) -> None:
        received.append(len(data))
        receive(self, data)

    monkeypatch.setattr(H11Protocol, "data_received", counted)
    async with running_server() as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        head = f"POST / HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n{framing}\r\n\r\n"
        writer.write(head.encode() + b"1\r\nx\r\n" * 30_000)
        assert (await reader.readline()).startswith(b"HTTP/1.1 405")
        writer.transport.abort()
    assert sum(received) <= 2 * http_timeouts.PIECE_BYTES


class _Idle(TimedHttpProtocol):
    """A connection without a request."""

    def __init__(self, peer: str, since_s: float) -> None:
        self.cycle = None  # type: ignore[assignment] # as uvicorn's own
        self.client = (peer, 1)
        self._since_s = since_s
        self.transport = _Transport()


class _Transport(asyncio.Transport):
    closed = False

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True


def open_ones(connections: list[_Idle]) -> list[_Idle]:
    return [one for one in connections if not one.transport.is_closing()]


def test_oldest_idle_connection_of_address_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_timeouts, "MAX_IDLE_OF_PEER", 3)
    many = [_Idle("10.0.0.1", float(n)) for n in range(5)]
    others = [_Idle(f"10.0.0.{n + 2}", 0.0) for n in range(5)]
    young = [_Idle("10.0.0.1", 99.5) for _ in range(5)]
    thin_out([*young, *many, *others], 100.0)
    assert open_ones(many) == many[2:]
    assert open_ones(others) == others
    assert open_ones(young) == young


def test_oldest_idle_connection_overall_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_timeouts, "MAX_IDLE", 3)
    ones = [_Idle(f"10.0.0.{n}", 99.0 + n / 10) for n in range(4)]
    thin_out(ones, 100.0)
    assert open_ones(ones) == ones[1:]
    assert close_oldest_idle(ones)
    assert open_ones(ones) == ones[2:]
    assert not close_oldest_idle([])


@pytest.mark.parametrize(
    "code",
    [errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EPERM],
    ids=["EMFILE", "ENFILE", "ENOBUFS", "ENOMEM", "EPERM"],
)
def test_failed_accept_logs_one_line_and_pauses(code: int, caplog: pytest.LogCaptureFixture) -> None:
    tries: list[float] = []

    class Listening:
        def setblocking(self, _flag: bool) -> None:
            pass

        def fileno(self) -> int:
            return 0

        def accept(self) -> None:
            tries.append(asyncio.get_running_loop().time())
            raise OSError(code, "no")

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.add_reader = lambda _fd, callback: loop.call_soon(callback)  # type: ignore[method-assign, assignment, misc]
        loop.remove_reader = lambda _fd: True  # type: ignore[method-assign, assignment]
        began_s = loop.time()
        accepting = Acceptor(Listening(), asyncio.Protocol)  # type: ignore[arg-type]
        await asyncio.sleep(30.2)
        accepting.close()
        await accepting.wait_closed()
        assert [round((at_s - began_s) / acceptor.PAUSE_S) for at_s in tries] == list(range(61))

    with caplog.at_level(logging.WARNING):
        run_virtual(main())
    (record,) = caplog.records
    assert record.exc_info is None
    assert "connections are not accepted" in record.getMessage()
    assert "ulimit -n" in record.getMessage()


def test_free_descriptors_are_counted() -> None:
    before, most = descriptors.free(), descriptors.limit()
    assert before is not None
    assert most is not None
    with socket.socket(), socket.socket():
        assert descriptors.free() == before - 2
    assert 0 < before < most


def test_descriptor_limit_is_raised_as_far_as_permitted() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(256, hard), hard))
    try:
        descriptors.raise_limit()
        assert descriptors.limit() == min(hard, descriptors.MAX_DESCRIPTORS)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
