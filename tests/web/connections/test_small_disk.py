"""A full, read-only or hanging disk under traces and kept conversations: turns go on, and nothing is lost silently.

The disk is a real file system in memory of half a megabyte. Only root may mount it; elsewhere the tests are skipped.
"""

import asyncio
import os
import sqlite3
import subprocess
import threading
from collections.abc import Callable, Coroutine, Generator, Sequence
from contextlib import AsyncExitStack, closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.servers.session_server import (
    RecordingClient,
    ScriptedEngineLoader,
    SessionServer,
    connected_client,
    eventually,
    session_server,
    settings_for,
)

from assistant.history.items import Item
from assistant.storage.conversation_file import ConversationFile, Place
from assistant.support.disk_threads import MAX_THREADS
from assistant.trace import file as trace_file

pytestmark = pytest.mark.slow

SIZE = "512k"
BROWSER = "a" * 40
KEEPING = {"events": True, "playout": False, "conversation": {"browser": BROWSER}}


def mount(*words: str | Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(["mount", *map(str, words)], capture_output=True, text=True, timeout=20, check=False)


@dataclass(frozen=True, slots=True)
class SmallDisk:
    """A file system of `SIZE`."""

    folder: Path

    def fill(self) -> None:
        """Fills it to the last byte."""
        file = os.open(self.folder / "filler", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        with suppress(OSError):
            for block in (b"x" * 4096, b"x"):
                with suppress(OSError):
                    while True:
                        os.write(file, block)
        os.close(file)

    def free(self) -> None:
        """Makes room again."""
        (self.folder / "filler").unlink()

    def remount(self, mode: str) -> bool:
        """Makes it read-only (`ro`) or writable (`rw`); returns False while a file is being written."""
        return mount("-o", f"remount,{mode}", self.folder).returncode == 0

    def items(self) -> int:
        """Returns the number of kept items."""
        with closing(sqlite3.connect(self.folder / "kept.sqlite3")) as database, suppress(sqlite3.OperationalError):
            count: int = database.execute("SELECT count(*) FROM items").fetchone()[0]
            return count
        return 0


@pytest.fixture
def disk(tmp_path: Path) -> Generator[SmallDisk]:
    """Mounts a small file system."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        pytest.skip("only root may mount a file system")
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = mount("-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", folder)
    if mounted.returncode != 0:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.strip()}")
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "-l", str(folder)], timeout=20, check=True)


def serving(
    traces: Path, kept: Path, main: Callable[[SessionServer, RecordingClient], Coroutine[None, None, None]]
) -> None:
    """Runs a server with traces and conversations in these folders, and a client."""

    async def within() -> None:
        given = settings_for(traces / "traces", "turn.hangover_ms=100")
        file = ConversationFile(kept / "kept.sqlite3", lambda: 1.8e9, timeout_s=0.2)
        loader = ScriptedEngineLoader(given, os.environ, answers=("Ten.",))
        async with session_server(loader, conversations=file) as server, connected_client(server) as client:
            await client.send("session.update", session={"type": "realtime", "repartee": KEEPING})
            await client.until("repartee.conversation")
            await main(server, client)

    asyncio.run(within())


async def exchange(client: RecordingClient) -> None:
    """Asks and is answered."""
    count = len(client.events_of("repartee.trace")) + 1
    await client.request_reply("what time is it")
    await client.until("repartee.trace", count, within_s=20)
    assert client.events_of("response.done")[-1]["response"]["status"] == "completed"


def turns(server: SessionServer) -> list[int]:
    """Returns the turns on disk. A line that is not whole fails."""
    return [record["turn"] for record in server.records()]


def test_turns_of_a_full_disk_are_written_when_there_is_room(disk: SmallDisk, caplog: pytest.LogCaptureFixture) -> None:
    async def main(server: SessionServer, client: RecordingClient) -> None:
        await exchange(client)
        await eventually(lambda: turns(server) == [1] and disk.items() == 2)
        disk.fill()
        for _ in range(3):
            await exchange(client)
        await eventually(lambda: "No space left on device" in caplog.text)
        assert turns(server) == [1]
        disk.free()
        await eventually(lambda: turns(server) == [1, 2, 3, 4] and disk.items() == 8)
        assert server.value("repartee_errors_total", where="trace") == 0

    serving(disk.folder, disk.folder, main)


def test_turns_of_a_read_only_disk_are_written_when_it_is_writable(
    disk: SmallDisk, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Of the traces: a file system on which a database is open cannot be made read-only."""

    async def main(server: SessionServer, client: RecordingClient) -> None:
        await exchange(client)
        await eventually(lambda: turns(server) == [1])
        await eventually(lambda: disk.remount("ro"))
        for _ in range(3):
            await exchange(client)
        await eventually(lambda: "Read-only file system" in caplog.text)
        assert disk.remount("rw")
        await eventually(lambda: turns(server) == [1, 2, 3, 4])

    serving(disk.folder, tmp_path, main)


def test_losses_on_a_full_disk_are_counted_and_said(disk: SmallDisk, caplog: pytest.LogCaptureFixture) -> None:
    async def main(server: SessionServer, client: RecordingClient) -> None:
        await exchange(client)
        await eventually(lambda: turns(server) == [1])
        disk.fill()
        for _ in range(2):
            await exchange(client)
        await client.socket.close()
        await eventually(lambda: server.limits.current == 0)
        assert turns(server) == [1]
        assert server.value("repartee_errors_total", where="trace") == 2

    serving(disk.folder, disk.folder, main)
    assert "turns are missing from the trace" in caplog.text or "turn is missing from the trace" in caplog.text


def test_hanging_disk_holds_nothing_but_its_traces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More conversations than asyncio has threads: name lookups and reloaded engines need these."""
    released, hanging = threading.Event(), threading.Semaphore(0)
    append = trace_file._append

    def hang(path: Path, lines: Sequence[str]) -> None:
        hanging.release()
        assert released.wait(60)
        append(path, lines)

    monkeypatch.setattr(trace_file, "_append", hang)
    conversations = min(32, (os.cpu_count() or 1) + 4) + 1

    async def main() -> None:
        given = settings_for(tmp_path / "traces", f"server.max_sessions={conversations}")
        loader = ScriptedEngineLoader(given, os.environ, answers=("Ten.",))
        async with session_server(loader) as server, AsyncExitStack() as clients:
            callers = [await clients.enter_async_context(connected_client(server)) for _ in range(conversations)]
            for caller in callers:
                await caller.send(
                    "session.update", session={"type": "realtime", "repartee": {"events": True, "playout": False}}
                )
            await asyncio.gather(*map(exchange, callers))
            await eventually(lambda: hanging.acquire(blocking=False))
            async with asyncio.timeout(20):
                await asyncio.to_thread(lambda: None)
                await asyncio.gather(*map(exchange, callers))
            assert turns(server) == []
            released.set()
            await eventually(lambda: len(turns(server)) == 2 * conversations)

    assert conversations > MAX_THREADS
    try:
        asyncio.run(main())
    finally:
        released.set()


def test_hanging_disk_holds_nothing_but_its_kept_conversations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Turns go on when all threads of the disk hang, and are written when it answers again."""
    released, hanging = threading.Event(), threading.Semaphore(0)
    create = ConversationFile.create

    def hang(file: ConversationFile, owner: str, name: str, began_at: str, items: Sequence[Item], **more: Any) -> Place:
        hanging.release()
        assert released.wait(60)
        return create(file, owner, name, began_at, items, **more)

    monkeypatch.setattr(ConversationFile, "create", hang)
    conversations = MAX_THREADS + 1
    kept = SmallDisk(tmp_path)

    async def main() -> None:
        given = settings_for(tmp_path / "traces", f"server.max_sessions={conversations}")
        loader = ScriptedEngineLoader(given, os.environ, answers=("Ten.",))
        file = ConversationFile(tmp_path / "kept.sqlite3", lambda: 1.8e9)
        async with session_server(loader, conversations=file) as server, AsyncExitStack() as clients:
            callers = [await clients.enter_async_context(connected_client(server)) for _ in range(conversations)]
            for caller in callers:
                await caller.send("session.update", session={"type": "realtime", "repartee": KEEPING})
                await caller.until("repartee.conversation")
            await asyncio.gather(*map(exchange, callers))
            await eventually(lambda: hanging.acquire(blocking=False))
            await asyncio.gather(*map(exchange, callers))
            await eventually(lambda: len(turns(server)) == 2 * conversations)  # traces have other threads
            assert kept.items() == 0
            released.set()
            await eventually(lambda: kept.items() == 4 * conversations)

    try:
        asyncio.run(main())
    finally:
        released.set()
