"""A server that is killed loses at most the turns in flight, and its clients continue on the next one."""

import asyncio
import json
import os
import signal
import sqlite3
import sys
import textwrap
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager, closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.programs.complete_lines import complete_lines
from support.servers.session_server import RecordingClient, eventually
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

pytestmark = [
    pytest.mark.slow,
    pytest.mark.thorough,  # test_stored_before_told.py kills the program, too
    pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL"),
]

ROOT = Path(__file__).parents[3]
CLIENTS = 3
SHORT = ("Ten.", "May.")
LONG = "One two three. Four five six. " * 50

SERVER = textwrap.dedent(
    """
    import asyncio, os, sys, time
    from pathlib import Path
    from support.servers.session_server import ScriptedEngineLoader, session_server, settings_for
    from assistant.storage.conversation_file import ConversationFile

    async def main():
        folder = Path(sys.argv[1])
        loader = ScriptedEngineLoader(settings_for(folder / "traces"), os.environ, answers=tuple(sys.argv[2:]))
        async with session_server(loader, conversations=ConversationFile(folder / "kept.sqlite3", time.time)) as server:
            print(server.port, flush=True)
            await asyncio.Event().wait()

    asyncio.run(main())
    """
)


@asynccontextmanager
async def server(folder: Path, *answers: str) -> AsyncGenerator[tuple[asyncio.subprocess.Process, int]]:
    """Runs a server with scripted engines in a process of its own; yields it and its port."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("REPARTEE_")}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        SERVER,
        str(folder),
        *answers,
        stdout=asyncio.subprocess.PIPE,
        cwd=ROOT,
        env={**environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")])},
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(60):
            line = await process.stdout.readline()
        assert line, "the server did not start"
        yield process, int(line)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@dataclass(slots=True)
class Kept:
    """A client whose conversation the server keeps."""

    client: RecordingClient
    id: str

    async def exchange(self, text: str) -> None:
        count = len(self.client.events_of("repartee.trace")) + 1
        await self.client.ask(text, until="repartee.trace", count=count)


async def connected(clients: AsyncExitStack, port: int, browser: str, kept: str | None = None, **query: str) -> Kept:
    """Connects a client, and has its conversation kept; `kept`: the one it continues."""
    asked = "".join(f"&{name}={value}" for name, value in query.items())
    url = f"ws://127.0.0.1:{port}/v1/realtime?model=repartee{asked}"
    client = RecordingClient(await clients.enter_async_context(connect(url, compression=None, max_queue=None)))
    await client.until("session.created")
    conversation = {"browser": browser, **({} if kept is None else {"id": kept})}
    repartee = {"events": True, "playout": False, "conversation": conversation}
    await client.send("session.update", session={"type": "realtime", "repartee": repartee})
    answer = await client.until("repartee.conversation")
    assert answer["kept"] is True
    return Kept(client, answer["id"])


def traces(folder: Path) -> list[dict[str, Any]]:
    """Returns the records on disk."""
    return [json.loads(line) for file in folder.glob("traces/*.jsonl") for line in complete_lines(file)]


def has_whole_lines(folder: Path) -> bool:
    """Returns whether no trace ends within a line."""
    return all(file.read_text().endswith("\n") for file in folder.glob("traces/*.jsonl"))


def stored(folder: Path) -> int:
    """Returns the number of stored items."""
    with closing(sqlite3.connect(folder / "kept.sqlite3")) as database, suppress(sqlite3.OperationalError):
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        count: int = database.execute("SELECT count(*) FROM items").fetchone()[0]
        return count
    return 0  # its tables are being made


async def test_sigkill_loses_at_most_the_turn_in_flight(tmp_path: Path) -> None:
    browsers = [str(number) * 40 for number in range(CLIENTS)]
    async with AsyncExitStack() as clients:
        async with server(tmp_path, *SHORT, LONG) as (process, port):
            callers = [await connected(clients, port, browser) for browser in browsers]
            for text in ("first", "second"):
                await asyncio.gather(*(caller.exchange(text) for caller in callers))
            for caller in callers:
                await caller.client.ask("third", until="response.created", count=3)
            # A finished turn is on disk within 1 s; here within as long as a busy machine takes.
            await eventually(lambda: len(traces(tmp_path)) == 2 * CLIENTS and stored(tmp_path) == 4 * CLIENTS)
            process.send_signal(signal.SIGKILL)
            for caller in callers:
                with pytest.raises(ConnectionClosed):
                    await caller.client.until("response.done", 99)
        assert [record["outcome"] for record in traces(tmp_path)] == ["answered"] * 2 * CLIENTS
        assert has_whole_lines(tmp_path)
        assert stored(tmp_path) == 4 * CLIENTS
    async with AsyncExitStack() as clients, server(tmp_path, "Ten again.") as (_, port):
        for browser, caller in zip(browsers, callers, strict=True):
            token = caller.client.token
            again = await connected(clients, port, browser, caller.id, resume=token)
            session = again.client.events_of("session.created")[0]["session"]
            assert session["repartee"]["resumed"] is False
            added = [event["item"]["role"] for event in again.client.events_of("conversation.item.added")]
            assert added == ["user", "assistant"] * 2
            await again.exchange("third")
            assert again.client.events_of("response.done")[-1]["response"]["status"] == "completed"
        await eventually(lambda: len(traces(tmp_path)) == 3 * CLIENTS and stored(tmp_path) == 6 * CLIENTS)
        assert {record["outcome"] for record in traces(tmp_path)} == {"answered"}
