"""Changes that a client is told of are on disk before: a server that is killed right after the event has lost none."""

import asyncio
import os
import signal
import sqlite3
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import httpx
import pytest
from support.programs.program import REPARTEE
from support.servers.session_server import RecordingClient
from websockets.asyncio.client import connect

from assistant.storage.conversation_file import ConversationFile, owner_of_browser

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")]

BROWSER = "b" * 40
FLAGS = ("--port=0", "--llm=skills", "--set=tts.engine=espeak-ng", "--set=server.keep_conversations=true")


class Served:
    """A running `repartee serve`, and its client."""

    def __init__(self, process: asyncio.subprocess.Process, port: int, client: RecordingClient, data: Path) -> None:
        self.process, self.port, self.client, self.data = process, port, client, data

    async def ask(self, text: str) -> None:
        """Asks for a written reply, and returns right after its end."""
        count = len(self.client.events_of("response.done")) + 1
        await self.client.ask(text, count=count)

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)

    def rows(self, file: str, query: str) -> list[tuple[object, ...]]:
        """Returns rows of a file, which nothing uses any more."""
        with closing(sqlite3.connect(self.data / "repartee" / file)) as database:
            return database.execute(query).fetchall()

    @property
    def kept(self) -> ConversationFile:
        return ConversationFile(self.data / "repartee/conversations/conversations.sqlite3", lambda: 0.0)


@asynccontextmanager
async def served(folder: Path, modality: str) -> AsyncGenerator[Served]:
    """Runs the program without a recognizer, and connects a client that keeps its conversation."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("REPARTEE_")}
    places = {"XDG_DATA_HOME": str(folder / "data"), "HF_HOME": str(folder / "none"), "HF_HUB_CACHE": str(folder)}
    process = await asyncio.create_subprocess_exec(
        REPARTEE, "serve", *FLAGS, stdout=asyncio.subprocess.PIPE, cwd=folder, env={**environ, **places}
    )
    try:
        assert process.stdout is not None
        port = 0
        async with asyncio.timeout(60):
            while b"ready" not in (line := await process.stdout.readline()):
                assert line, "the server did not start"
                port = int(line.rsplit(b":", 1)[1]) if b"page  http" in line else port
        url = f"ws://127.0.0.1:{port}/v1/realtime?model=repartee"
        async with connect(url, compression=None, max_queue=None) as socket:
            client = RecordingClient(socket)
            repartee = {"events": True, "conversation": {"browser": BROWSER}}
            session = {"type": "realtime", "output_modalities": [modality], "repartee": repartee}
            await client.send("session.update", session=session)
            await client.until("session.updated")
            assert (await client.until("repartee.conversation"))["kept"]
            yield Served(process, port, client, folder / "data")
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@pytest.mark.parametrize(
    ("text", "file", "query", "modality"),
    [
        ("set a timer for ten minutes", "timers.sqlite3", "SELECT length_s FROM timers", "text"),
        ("add butter to the shopping list", "lists.sqlite3", "SELECT text FROM items", "audio"),
    ],
    ids=["timer", "list"],
)
async def test_turn_and_its_effect_survive_a_kill_after_response_done(
    tmp_path: Path, text: str, file: str, query: str, modality: str
) -> None:
    async with served(tmp_path, modality) as server:
        await server.ask(text)
        server.kill()
        await server.process.wait()
        assert server.rows(file, query) in ([(600.0,)], [("butter",)])
        (summary,) = server.kept.summaries(owner_of_browser(BROWSER), 9)
        kept = server.kept.load(owner_of_browser(BROWSER), summary.id)
        assert kept is not None
        said, answer = kept.items
        assert said.text == text  # type: ignore[union-attr]
        assert answer.text  # type: ignore[union-attr]


async def test_deletions_survive_a_kill_after_their_answers(tmp_path: Path) -> None:
    """A button deletes a list item, and a request deletes a kept conversation."""
    async with served(tmp_path, "text") as server:
        await server.ask("add butter to the shopping list")
        (shopping,) = (await server.client.until("repartee.lists"))["lists"]
        (item,) = shopping["items"]
        await server.client.send("repartee.list", remove=[item["id"]])
        while server.client.events_of("repartee.lists")[-1]["lists"]:
            await server.client.until("repartee.lists", len(server.client.events_of("repartee.lists")) + 1)
        async with httpx.AsyncClient(trust_env=False) as http:
            url = f"http://127.0.0.1:{server.port}/v1/repartee/conversations"
            answer = await http.delete(url, headers={"Repartee-Browser": BROWSER})
            server.kill()
        assert answer.json() == {"deleted": 1}
        await server.process.wait()
        assert server.rows("lists.sqlite3", "SELECT text FROM items") == []
        assert server.kept.summaries(owner_of_browser(BROWSER), 9) == []
