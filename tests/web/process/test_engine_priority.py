"""Threads of recognizers and voices run after the event loop when processors are busy."""

import asyncio
import os
import sys
import threading
from pathlib import Path

import pytest

from audio.thread_name import thread_named
from web.process.engine_priority import LOWEST, MANY, NICENESS, keep_engines_behind, lower_engine_threads

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="threads have a priority of their own on Linux")


class NamedThread:
    """A thread with this system name that waits until `end`."""

    def __init__(self, name: str) -> None:
        self.number, self._began, self._may_end = 0, threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, args=(name,))
        self._thread.start()
        assert self._began.wait(10)

    @property
    def niceness(self) -> int:
        return os.getpriority(os.PRIO_PROCESS, self.number)

    def end(self) -> None:
        self._may_end.set()
        self._thread.join(10)

    def _run(self, name: str) -> None:
        with thread_named(name):
            self.number = threading.get_native_id()
            self._began.set()
            self._may_end.wait(60)


def test_only_threads_of_engines_get_a_lower_priority() -> None:
    own = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
    engine, other = NamedThread("faster-whisper"), NamedThread("trace file")
    try:
        lowest = min(LOWEST, own + NICENESS)
        assert lower_engine_threads() >= (lowest > own)
        assert (engine.niceness, other.niceness) == (lowest, own)
        assert os.getpriority(os.PRIO_PROCESS, threading.get_native_id()) == own
        assert lower_engine_threads() == 0, "it is lowered twice"
    finally:
        engine.end()
        other.end()


@pytest.mark.parametrize(("conversations", "more"), [(MANY - 1, 0), (MANY, NICENESS)])
def test_engines_of_few_conversations_keep_their_priority(conversations: int, more: int) -> None:
    async def main() -> tuple[int, int]:
        loaded = asyncio.Event()
        keeping = asyncio.create_task(keep_engines_behind(loaded, lambda: conversations))
        await asyncio.sleep(0)
        before = engine.niceness
        loaded.set()
        await asyncio.sleep(0.1)
        keeping.cancel()
        return before, engine.niceness

    engine = NamedThread("Piper")
    try:
        before, after = asyncio.run(asyncio.wait_for(main(), 10))
    finally:
        engine.end()
    assert after == min(LOWEST, before + more)


def test_system_without_proc_has_no_thread_to_lower() -> None:
    assert lower_engine_threads(Path("/proc/none")) == 0
