"""Limits on control frames and fragments, and how a client that exceeds them is closed."""

import asyncio
import socket
from pathlib import Path

import pytest
from support.servers.session_server import (
    connected_client,
    scripted_server,
)
from websockets.frames import Frame, Opcode

from web.sockets.frame_limits import (
    CONTROL_BURST,
    CONTROL_PER_S,
    MAX_FRAGMENTS,
    SMALL_BURST,
    SMALL_BYTES,
    SMALL_PER_S,
    FrameLimits,
)
from web.sockets.websocket_backpressure import LINGER_BYTES, BackpressureProtocol


def frame(opcode: Opcode, data: bytes = b"", *, fin: bool = True) -> bytes:
    return Frame(opcode, data, fin).serialize(mask=True)


BEGIN = frame(Opcode.TEXT, b"{", fin=False)

FLOODS = [
    pytest.param(frame(Opcode.PONG) * 20_000, "control frames", id="empty pongs"),
    pytest.param(frame(Opcode.PONG, b"x" * 125) * 2000, "control frames", id="long pongs"),
    pytest.param(frame(Opcode.PING) * 20_000, "control frames", id="empty pings"),
    pytest.param(frame(Opcode.PING, b"x" * 125) * 2000, "control frames", id="long pings"),
    pytest.param(BEGIN + frame(Opcode.CONT, fin=False) * 20_000, "fragments", id="empty continuations"),
    pytest.param(BEGIN + frame(Opcode.CONT, b" ", fin=False) * 20_000, "fragments", id="continuations of a byte"),
    pytest.param((BEGIN + frame(Opcode.CONT, b" ")) * 10_000, "fragments", id="messages of two small parts"),
    pytest.param(
        (frame(Opcode.TEXT, fin=False) + frame(Opcode.PONG) + frame(Opcode.CONT)) * 10_000,
        "control frames",
        id="pongs within messages",
    ),
]


@pytest.mark.parametrize(("flood", "what"), FLOODS)
async def test_flood_of_frames_is_closed_with_a_reason(tmp_path: Path, flood: bytes, what: str) -> None:
    async with (
        scripted_server(tmp_path) as (server, _),
        connected_client(server) as other,
        connected_client(server) as caller,
    ):
        caller.socket.transport.write(flood)
        close = await caller.until_closed()
        assert close.code == 1008
        assert what in close.reason
        await other.ask()


@pytest.mark.parametrize("first", [frame(Opcode.PONG) * 1000, frame(Opcode.TEXT, b"\xff")], ids=["flood", "not UTF-8"])
async def test_little_is_read_after_the_close_frame(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, first: bytes
) -> None:
    received = 0
    take = BackpressureProtocol.data_received

    def counted(protocol: BackpressureProtocol, data: bytes) -> None:
        nonlocal received
        received += len(data)
        take(protocol, data)

    monkeypatch.setattr(BackpressureProtocol, "data_received", counted)
    async with scripted_server(tmp_path) as (server, _), connected_client(server) as caller:
        caller.socket.transport.write(first + b"x" * (16 << 20))
        async with asyncio.timeout(20):
            await caller.socket.wait_closed()
        assert received < 4 * LINGER_BYTES


async def test_client_flooding_after_close_still_gets_the_reason(tmp_path: Path) -> None:
    async with scripted_server(tmp_path) as (server, _), connected_client(server) as caller:
        async with asyncio.TaskGroup() as tasks:

            async def flood() -> None:
                while not caller.socket.transport.is_closing():
                    caller.socket.transport.write(frame(Opcode.PONG) * 1000)
                    await asyncio.sleep(0)

            flooding = tasks.create_task(flood())
            close = await caller.until_closed()
            flooding.cancel()
        assert close.code == 1008


async def test_unread_pongs_use_bounded_memory(tmp_path: Path) -> None:
    async with scripted_server(tmp_path) as (server, _):
        async with connected_client(server) as caller:
            (protocol,) = server.server.server_state.connections
            caller.socket.transport.pause_reading()
            sock = caller.socket.transport.get_extra_info("socket")
            assert isinstance(sock.family, socket.AddressFamily)
            protocol.transport.set_write_buffer_limits(high=0)
            protocol.pause_writing()  # as when the client's and the system's buffers are full
            caller.socket.transport.write(frame(Opcode.PING, b"x" * 125) * 100)
            await asyncio.sleep(0.2)
            caller.socket.transport.resume_reading()
            close = await caller.until_closed()
        assert close.reason.startswith("too many pings whose answers are not read")


async def test_message_in_large_or_in_a_few_small_fragments_is_taken(tmp_path: Path) -> None:
    text = b'{"type": "conversation.item.retrieve", "item_id": "nothing"}'
    async with scripted_server(tmp_path) as (server, _), connected_client(server) as caller:
        parts = [frame(Opcode.CONT, bytes([byte]), fin=False) for byte in text]
        caller.socket.transport.write(frame(Opcode.TEXT, fin=False) + b"".join(parts) + frame(Opcode.CONT))
        await caller.until("error")
        pieces = frame(Opcode.CONT, b" " * 1400, fin=False) * 600
        caller.socket.transport.write(frame(Opcode.TEXT, text, fin=False) + pieces + frame(Opcode.CONT))
        await caller.until("error", 2)
        assert [event["error"]["code"] for event in caller.events_of("error")] == ["item_retrieve_invalid_item_id"] * 2


def test_control_frames_are_rate_limited() -> None:
    limits, now_s = FrameLimits(), 1000.0
    assert not any(limits.control(now_s) for _ in range(CONTROL_BURST))
    assert limits.control(now_s) is not None
    now_s += 60
    for _ in range(1000):
        now_s += 1 / CONTROL_PER_S
        assert limits.control(now_s) is None


def test_only_small_fragments_are_rate_limited() -> None:
    limits = FrameLimits()
    assert not any(limits.fragment(SMALL_BYTES - 1, 1000.0, last=n % 10 == 9) for n in range(SMALL_BURST))
    assert limits.fragment(0, 1000.0, last=True) is not None
    assert limits.fragment(1, 1001.0 + SMALL_BURST / SMALL_PER_S, last=True) is None
    assert not any(limits.fragment(SMALL_BYTES, 1000.0, last=n % 10 == 9) for n in range(3 * MAX_FRAGMENTS))


def test_fragments_per_message_are_limited() -> None:
    limits = FrameLimits()
    assert not any(limits.fragment(4096, 1000.0, last=False) for _ in range(MAX_FRAGMENTS))
    assert limits.fragment(4096, 1000.0, last=True) is not None
