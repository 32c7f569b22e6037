"""A gateway that is killed or stopped: what its clients had finished is known to the others."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from support.servers.gateways import SECRET, TRACED, SharedRedis, gateway, loader, repartee_of, texts_of
from support.servers.redis_process import redis_process, running_redis
from support.servers.session_server import RecordingClient, connected_client, eventually
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

TESTS = Path(__file__).parent.parent.parent
QUESTION, ANSWER = "what time is it?", "It is ten o'clock."
STARTS_WITHIN_S = 60.0
WORD = "open-sesame"


@asynccontextmanager
async def gateway_process(folder: Path, url: str) -> AsyncGenerator[tuple[int, asyncio.subprocess.Process]]:
    """Starts a gateway; yields its port and its process."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(TESTS / "support" / "servers" / "gateway_program.py"),
        str(folder),
        url,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(TESTS.parent), str(TESTS)))},
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(STARTS_WITHIN_S):
            line = await process.stdout.readline()
        assert line.strip().isdigit()
        yield int(line), process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@pytest.mark.slow
@pytest.mark.calm
def test_turns_finished_before_a_kill_continue_at_another_gateway(tmp_path: Path) -> None:
    async def main(url: str) -> None:
        redis = SharedRedis(url)
        async with gateway(loader(tmp_path / "b"), url) as other:
            async with gateway_process(tmp_path / "a", url) as (port, process):
                address = f"ws://127.0.0.1:{port}/v1/realtime?model=repartee"
                async with connect(address, compression=None, max_queue=None) as socket:
                    client = RecordingClient(socket)
                    await client.send("session.update", session=TRACED)
                    await client.request_reply(QUESTION)
                    await client.until("repartee.trace")
                    await eventually(lambda: redis.texts(client.token) == [QUESTION, ANSWER])
                    await client.request_reply(QUESTION)
                    await client.until("response.output_audio.delta", 4)
                    process.kill()
                    with pytest.raises(ConnectionClosed):
                        await client.until("response.done", 99)
            async with connected_client(other, resume=client.token) as again:
                assert repartee_of(again)["resumed"] is True
                await again.until("conversation.item.done", 2)
                assert texts_of(again)[:2] == [QUESTION, ANSWER]

    with redis_process(tmp_path) as url:
        asyncio.run(main(url))


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.calm
def test_sigterm_finishes_the_reply_and_hands_the_conversation_over(tmp_path: Path) -> None:
    async def main(url: str) -> None:
        async with gateway(loader(tmp_path / "b"), url) as other:
            async with gateway_process(tmp_path / "a", url) as (port, process):
                address = f"ws://127.0.0.1:{port}/v1/realtime?model=repartee"
                async with connect(address, compression=None, max_queue=None) as socket:
                    client = RecordingClient(socket)
                    await client.request_reply(QUESTION)
                    await client.until("response.output_audio.delta")
                    process.terminate()
                    with pytest.raises(ConnectionClosed) as closed:
                        await client.until("response.done", 99)
                    assert closed.value.rcvd is not None
                    assert closed.value.rcvd.code == 1012
                    assert client.events_of("response.done")[0]["response"]["status"] == "completed"
            async with connected_client(other, resume=client.token) as again:
                assert repartee_of(again)["resumed"] is True
                await again.until("conversation.item.done", 2)
                assert texts_of(again) == [QUESTION, ANSWER]

    with redis_process(tmp_path) as url:
        asyncio.run(main(url))


@asynccontextmanager
async def serving(folder: Path, url: str) -> AsyncGenerator[tuple[int, asyncio.subprocess.Process, list[str]]]:
    """Runs `repartee serve` as a gateway; yields its port, its process, and what it has printed until it was ready."""
    given = [f"server.redis_url={url}", "server.redis_password_env=REDIS_WORD", "server.port=0", "tts.engine=espeak-ng"]
    process = await asyncio.create_subprocess_exec(
        Path(sys.executable).with_name("repartee"),
        "serve",
        *(part for one in (*given, f"trace.dir={folder}") for part in ("--set", one)),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "REPARTEE_TOKEN": SECRET, "REDIS_WORD": WORD, "PYTHONUNBUFFERED": "1"},
    )
    printed: list[str] = []
    try:
        assert process.stdout is not None
        async with asyncio.timeout(STARTS_WITHIN_S):
            while not printed or printed[-1].strip() != "ready":
                line = (await process.stdout.readline()).decode()
                assert line, printed
                printed.append(line)
        (port,) = [line.rsplit(":", 1)[1] for line in printed if line.strip().startswith("page")]
        yield int(port), process, printed
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.calm
def test_servers_of_the_command_continue_each_others_conversations(tmp_path: Path) -> None:
    async def main(url: str) -> None:
        async with serving(tmp_path / "a", url) as (port, process, _), serving(tmp_path / "b", url) as (other, _, said):
            async with session(port) as client:
                await client.send("session.update", session=TRACED)
                await client.request_reply("what is two plus two")
                await client.until("repartee.trace")
                await eventually(lambda: len(redis.texts(client.token)) == 2)
                words = redis.texts(client.token)
                process.kill()
            async with session(other, client.token) as again:
                await again.until("conversation.item.done", 2)
                assert texts_of(again) == words
            async with httpx.AsyncClient() as http:
                ready = await http.get(f"http://127.0.0.1:{other}/readyz")
            assert ready.json()["handover"] == "ready"
            assert WORD not in "".join(said)

    @asynccontextmanager
    async def session(port: int, resume: str = "") -> AsyncGenerator[RecordingClient]:
        address = f"ws://127.0.0.1:{port}/v1/realtime?model=repartee" + (f"&resume={resume}" if resume else "")
        key = {"Authorization": f"Bearer {SECRET}"}
        async with connect(address, additional_headers=key, compression=None, max_queue=None) as socket:
            client = RecordingClient(socket)
            await client.until("session.created")
            yield client

    with running_redis(tmp_path, "--requirepass", WORD) as running:
        redis = SharedRedis(running.url, WORD)
        asyncio.run(main(running.url))
