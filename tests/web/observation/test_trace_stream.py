"""The stream of turn records over real sockets, with the real follower and with slow ones."""

import asyncio
import json
import logging
import socket
from collections.abc import Awaitable, Callable, Iterator
from functools import cache
from pathlib import Path

import httpx
import pytest
from support.conversations.simulation import Simulation, Utterance
from support.servers.session_server import ScriptedEngineLoader, session_server, settings_for
from support.servers.web_server import RunningServer, running_server
from websockets.asyncio.client import connect

from assistant.trace.record import TurnRecord
from assistant.trace_report.reading import Record, TraceError
from assistant.trace_report.subscription import subscribe
from web.observation import trace_stream
from web.observation.trace_stream import MAX_FOLLOWERS, MAX_WAITING

TOKEN = "a-token-of-enough-characters"


@cache
def turn() -> TurnRecord:
    return Simulation([Utterance(1000, 1800, "what time is it")]).run().records[0]


@pytest.fixture(autouse=True)
def simulated_records() -> None:
    turn()  # before the test's loop runs, because creating the record runs its own loop


def on_a_server(test: Callable[[RunningServer], Awaitable[None]], **more: object) -> None:
    async def main() -> None:
        async with asyncio.timeout(18), running_server(**more) as server:  # type: ignore[arg-type]  # as each test says
            await test(server)

    asyncio.run(main())


async def until(holds: Callable[[], bool]) -> None:
    while not holds():  # noqa: ASYNC110 - what is waited for comes over a socket
        await asyncio.sleep(0.01)


def stop(_seconds: float) -> None:
    raise KeyboardInterrupt


def taken(records: Iterator[Record], most: int) -> list[Record]:
    """Takes up to `most` records, until the follower would reconnect."""
    found: list[Record] = []
    try:
        while len(found) < most:
            found.append(next(records))
    except KeyboardInterrupt:
        pass
    return found


def test_records_are_streamed_as_turns_end() -> None:
    async def test(server: RunningServer) -> None:
        server.traces.publish(turn())  # no follower yet
        following = asyncio.to_thread(taken, subscribe(server.ws, {}, pytest.fail, stop), 2)
        async with asyncio.TaskGroup() as tasks:
            found = tasks.create_task(following)
            await until(lambda: server.traces.followers == 1)
            server.traces.publish(turn())
            server.traces.publish(turn())
        assert found.result() == [json.loads(turn().to_json())] * 2
        await until(lambda: server.traces.followers == 0)

    on_a_server(test)


def test_trace_stream_requires_the_token() -> None:
    async def test(server: RunningServer) -> None:
        with pytest.raises(TraceError, match="requires the server's token: put it into the environment variable REPAR"):
            await asyncio.to_thread(next, subscribe(server.http, {}, pytest.fail, stop))
        assert server.traces.followers == 0
        following = asyncio.to_thread(next, subscribe(server.http, {"REPARTEE_TOKEN": TOKEN}, pytest.fail, stop))
        async with asyncio.TaskGroup() as tasks:
            found = tasks.create_task(following)
            await until(lambda: server.traces.followers == 1)
            server.traces.publish(turn())
        assert found.result()["turn"] == 1

    on_a_server(test, token=TOKEN)


def test_foreign_pages_and_other_methods_are_refused() -> None:
    async def test(server: RunningServer) -> None:
        async with httpx.AsyncClient(trust_env=False, base_url=server.http, timeout=10) as client:
            foreign = await client.get("/traces", headers={"Origin": "https://evil.example"})
            assert foreign.status_code == 403
            for method in ("HEAD", "POST"):
                assert (await client.request(method, "/traces")).status_code == 405
        assert server.traces.followers == 0

    on_a_server(test)


def test_number_of_followers_is_limited() -> None:
    async def test(server: RunningServer) -> None:
        followers = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(MAX_FOLLOWERS)]
        for _, writer in followers:
            writer.write(f"GET /traces HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode())
        await until(lambda: server.traces.followers == MAX_FOLLOWERS)
        with pytest.raises(TraceError, match=f"answers 503: {MAX_FOLLOWERS} clients already follow"):
            await asyncio.to_thread(next, subscribe(server.http, {}, pytest.fail, stop))
        for _, writer in followers:
            writer.close()
        await until(lambda: server.traces.followers == 0)

    on_a_server(test)


def test_only_slow_follower_loses_lines_and_is_told_how_many() -> None:
    async def test(server: RunningServer) -> None:
        slow = socket.socket()
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.connect(("127.0.0.1", server.port))
        slow.setblocking(False)
        reader, writer = await asyncio.open_connection(sock=slow, limit=1 << 16)
        writer.transport.pause_reading()  # type: ignore[attr-defined]  # a socket's has it
        writer.write(f"GET /traces HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode())
        await until(lambda: server.traces.followers == 1)
        turns = 3000
        loop = asyncio.get_running_loop()
        longest_s = 0.0
        for number in range(turns):
            began_s = loop.time()
            server.traces.publish(turn())
            longest_s = max(longest_s, loop.time() - began_s)
            if number % 100 == 0:
                await asyncio.sleep(0.001)
        (follower,) = server.traces._followers
        assert len(follower._waiting) == MAX_WAITING
        writer.transport.resume_reading()  # type: ignore[attr-defined]  # as above
        reading = asyncio.ensure_future(reader.read())
        await until(lambda: not follower.came.is_set())
        server.traces.end()
        server.server.should_exit = True
        sent = await reading
        writer.close()
        told = [line for line in sent.replace(b"\r\n", b"\n").split(b"\n") if line.startswith(b"{")]
        losses = [json.loads(line)["lost"] for line in told if line.startswith(b'{"lost"')]
        assert losses
        assert sum(losses) + len(told) - len(losses) == turns
        assert longest_s < 0.2, "a slow follower delays no conversation"

    on_a_server(test)


def test_follower_is_told_of_lost_lines() -> None:
    async def test(server: RunningServer) -> None:
        told: list[str] = []
        following = asyncio.to_thread(next, subscribe(server.http, {}, told.append, stop))
        async with asyncio.TaskGroup() as tasks:
            found = tasks.create_task(following)
            await until(lambda: server.traces.followers == 1)
            for _ in range(MAX_WAITING + 7):  # at once, so that none is sent meanwhile
                server.traces.publish(turn())
        assert found.result()["turn"] == 1
        assert told == ["7 turns are not shown, because turns arrived faster than they were read."]

    on_a_server(test)


def test_shutdown_ends_streams_and_followers_retry(caplog: pytest.LogCaptureFixture) -> None:
    told: list[str] = []

    async def test(server: RunningServer) -> None:
        async with asyncio.TaskGroup() as tasks:
            found = tasks.create_task(asyncio.to_thread(taken, subscribe(server.http, {}, told.append, stop), 1))
            await until(lambda: server.traces.followers == 1)
            server.server.should_exit = True
        assert found.result() == []

    on_a_server(test)
    assert "has ended its stream; trying again in 1 s" in told[0]
    assert [record.message for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_idle_server_sends_keepalive_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_stream, "BEAT_S", 0.02)

    async def test(server: RunningServer) -> None:
        async with (
            httpx.AsyncClient(trust_env=False, base_url=server.http, timeout=10) as client,
            client.stream("GET", "/traces") as response,
        ):
            beats = 0
            async for chunk in response.aiter_bytes():
                assert chunk.strip() == b""
                beats += len(chunk)
                if beats > 3:
                    break

    on_a_server(test)


@pytest.mark.slow
@pytest.mark.parametrize("words", ["true", "false"], ids=["traced", "not traced"])
def test_words_are_streamed_only_if_traced(tmp_path: Path, words: str) -> None:
    async def main() -> None:
        script = ScriptedEngineLoader(settings_for(tmp_path, f"trace.words={words}"), {})
        async with asyncio.timeout(40), session_server(script) as server, asyncio.TaskGroup() as tasks:
            address = f"http://127.0.0.1:{server.port}"
            found = tasks.create_task(asyncio.to_thread(next, subscribe(address, {}, pytest.fail, stop)))
            await until(lambda: server.connections.traces.followers == 1)
            async with connect(server.url(), proxy=None, max_queue=None) as client:  # reads nothing
                message = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]}
                await client.send(json.dumps({"type": "conversation.item.create", "item": message}))
                await client.send(json.dumps({"type": "response.create"}))
                record = await found
            assert ("ten o'clock" in json.dumps(record)) == (words == "true")
            await until(lambda: len(server.records()) == 1)
            assert server.records() == [record]

    asyncio.run(main())
