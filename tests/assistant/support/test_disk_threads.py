"""Tests of the threads for work on the disk."""

import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from assistant.support.disk_threads import MAX_THREADS, DiskThreads

ROOT = Path(__file__).parents[3]
WAIT_S = 60.0


def full() -> None:
    raise OSError(28, "No space left on device")


def test_call_returns_its_result_or_its_error() -> None:
    threads = DiskThreads("test")
    assert threads.submit(divmod, 7, 2).result(WAIT_S) == (3, 1)
    with pytest.raises(OSError, match="No space left"):
        threads.submit(full).result(WAIT_S)
    assert threads.submit(lambda: threading.current_thread().daemon).result(WAIT_S)


def test_further_calls_wait_while_all_threads_hang() -> None:
    threads, released = DiskThreads("test"), threading.Event()
    hanging = [threads.submit(released.wait, WAIT_S) for _ in range(MAX_THREADS)]
    after, withdrawn = threads.submit(threading.get_ident), threads.submit(full)
    assert withdrawn.cancel()
    assert not after.done()
    released.set()
    assert all(one.result(WAIT_S) for one in hanging)
    assert after.result(WAIT_S)
    assert threads.submit(threading.get_ident).result(WAIT_S)


def test_calls_one_after_another_share_a_thread() -> None:
    threads = DiskThreads("test")
    names = set()
    for _ in range(20):
        names.add(threads.submit(lambda: threading.current_thread().name).result(WAIT_S))
    assert len(names) <= MAX_THREADS
    assert all(name.startswith("test_") for name in names)


def test_hanging_disk_does_not_keep_the_program_from_ending() -> None:
    program = textwrap.dedent(
        """
        import sys, time
        from assistant.support.disk_threads import TRACE_THREADS
        TRACE_THREADS.submit(time.sleep, 3600)
        sys.exit(3)
        """
    )
    ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, timeout=WAIT_S, check=False)
    assert ended.returncode == 3
