"""A gateway that is killed: what its clients had finished is known to the others."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from support.servers.gateways import SECRET, TRACED, SharedRedis, texts_of
from support.servers.redis_process import running_redis
from support.servers.session_server import RecordingClient, eventually
from websockets.asyncio.client import connect

STARTS_WITHIN_S = 60.0
WORD = "open-sesame"


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


@pytest.mark.slow
@pytest.mark.calm
def test_servers_of_the_command_continue_each_others_conversations(tmp_path: Path) -> None:
    async def main(url: str) -> None:
        async with serving(tmp_path / "a", url) as (port, process, _), serving(tmp_path / "b", url) as (other, _, said):
            async with session(port) as client:
                await client.send("session.update", session=TRACED)
                await client.ask("what is two plus two", until="repartee.trace")
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
