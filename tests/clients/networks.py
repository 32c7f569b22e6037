"""Networks between a client and the server: with TLS, and with a stall in which nothing passes, either way."""

import asyncio
import os
import re
import socket
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path

STALL_S = float(os.environ.get("CLIENTS_STALL_S", "1.5"))
STALL_AFTER_BYTES = 75_000
"""About 1.1 s of 24 kHz PCM in base64: "what time is it" is said from 0.7 to 1.6 s."""

STALL_PATH = b"/stall"
"""A page requests this path when a call should stall: the packets do not show what is said."""

_CANDIDATE = re.compile(rb"(a=candidate:\S+ 1 udp \d+ )(\S+)( )(\d{5})( typ host)")
_MAX_PACKET = 2048

Passage = Callable[[bytes], Awaitable[bytes]]
"""Returns the bytes to pass on, when they may pass."""

Address = tuple[str, int]


async def _unchanged(data: bytes) -> bytes:
    return data


@asynccontextmanager
async def stalling_port(port: int) -> AsyncGenerator[int]:
    """Passes connections to a local port; each stalls for `STALL_S` in the first words of the speech."""

    def passages() -> tuple[Passage, Passage]:
        passes = asyncio.Event()
        passes.set()
        sent_bytes = 0

        async def to_server(data: bytes) -> bytes:
            nonlocal sent_bytes
            if sent_bytes < STALL_AFTER_BYTES <= sent_bytes + len(data):
                passes.clear()
                asyncio.get_running_loop().call_later(STALL_S, passes.set)
            sent_bytes += len(data)
            return await to_client(data)

        async def to_client(data: bytes) -> bytes:
            await passes.wait()
            return data

        return to_server, to_client

    async with _proxy(port, passages) as stalling:
        yield stalling


@asynccontextmanager
async def tls_port(port: int, certificate: Path, key: Path) -> AsyncGenerator[int]:
    """Accepts TLS connections on a free port and passes their bytes to a local port. Yields the TLS port."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    async with _proxy(port, lambda: (_unchanged, _unchanged), context) as tls:
        yield tls


@asynccontextmanager
async def stalling_calls_port(port: int) -> AsyncGenerator[int]:
    """Passes HTTP requests to a local port, and the packets of the WebRTC calls that they begin.

    An answer names the port of a relay, which has IPv4 only, in place of each port of the server. The offers of the
    browser name no address, so every packet passes the relay. After a request of `STALL_PATH` the calls stall for
    `STALL_S`.
    """
    relays: list[_Relay] = []

    async def to_server(data: bytes) -> bytes:
        if STALL_PATH in data.partition(b"\r\n")[0]:
            for relay in relays:
                relay.stall()
        return data

    async def to_client(data: bytes) -> bytes:
        servers = [(host.decode(), int(port)) for _, host, _, port, _ in _CANDIDATE.findall(data) if b":" not in host]
        if not servers:
            return data
        relay = _Relay(servers[0])
        relays.append(relay)
        return _CANDIDATE.sub(rb"\g<1>\g<2>\g<3>%05d\g<5>" % relay.port, data)

    async with _proxy(port, lambda: (to_server, to_client)) as calls:
        try:
            yield calls
        finally:
            for relay in relays:
                relay.close()


class _Relay:
    """Passes packets between clients and a server. In a stall they wait; then they pass at once, in order.

    Attributes:
        port: Where clients send to.
    """

    def __init__(self, server: Address) -> None:
        self._server = server
        self._socket = self._listen(socket.socket(type=socket.SOCK_DGRAM), self._from_client)
        self._socket.bind(("", 0))
        self.port: int = self._socket.getsockname()[1]
        self._inner: dict[Address, socket.socket] = {}
        self._held: list[Callable[[], object]] | None = None

    def stall(self) -> None:
        if self._held is None:
            self._held = []
            asyncio.get_running_loop().call_later(STALL_S, self._release)

    def close(self) -> None:
        for one in (self._socket, *self._inner.values()):
            asyncio.get_running_loop().remove_reader(one)
            one.close()

    def _listen(self, one: socket.socket, read: Callable[[], None]) -> socket.socket:
        one.setblocking(False)
        asyncio.get_running_loop().add_reader(one, read)
        return one

    def _from_client(self) -> None:
        data, client = self._socket.recvfrom(_MAX_PACKET)
        if client not in self._inner:
            inner = socket.socket(type=socket.SOCK_DGRAM)
            inner.connect(self._server)
            self._inner[client] = self._listen(inner, partial(self._from_server, inner, client))
        self._pass(partial(self._inner[client].send, data))

    def _from_server(self, inner: socket.socket, client: Address) -> None:
        with suppress(OSError):
            self._pass(partial(self._socket.sendto, inner.recv(_MAX_PACKET), client))

    def _pass(self, send: Callable[[], object]) -> None:
        if self._held is not None:
            self._held.append(send)
            return
        with suppress(OSError):
            send()

    def _release(self) -> None:
        held, self._held = self._held or [], None
        for send in held:
            self._pass(send)


@asynccontextmanager
async def _proxy(
    port: int, passages: Callable[[], tuple[Passage, Passage]], tls: ssl.SSLContext | None = None
) -> AsyncGenerator[int]:
    """Passes connections to a local port. `passages` returns those to the server and to the client for each."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", port)
        to_server, to_client = passages()
        async with asyncio.TaskGroup() as group:
            group.create_task(_pass_on(reader, inner_writer, to_server))
            group.create_task(_pass_on(inner_reader, writer, to_client))

    listener = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    try:
        yield listener.sockets[0].getsockname()[1]
    finally:
        listener.close()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, passage: Passage) -> None:
    try:
        while data := await reader.read(65_536):
            writer.write(await passage(data))
            await writer.drain()
    except (OSError, ssl.SSLError):
        pass
    finally:
        writer.close()
