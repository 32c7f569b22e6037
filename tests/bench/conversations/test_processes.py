"""Tests processor time measurement, and processes that do not start."""

import asyncio
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from audio.thread_name import thread_named
from bench.controlled_llm import LlmBehaviour
from bench.conversations.processes import CpuTime, NotStartedError, busy_of_machine, cpu_of, model, server

linux = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="there is no /proc here")
SPIN = "import time\nwhile time.process_time() < 0.15: pass\nprint('spun', flush=True)\ninput()"


def own_cpu() -> CpuTime:
    """Returns the processor time of this process so far."""
    found = cpu_of(os.getpid())
    assert found is not None
    return found


def test_cpu_times_are_subtracted_field_by_field() -> None:
    assert CpuTime(3, 2, 9) - CpuTime(1, 1, 4) == CpuTime(2, 1, 5)
    assert (CpuTime(2, 1, 5).own_s, CpuTime(2, 1, 5).all_s) == (3, 8)


@linux
def test_child_process_counts_while_running_and_after_its_end() -> None:
    before = own_cpu()
    with subprocess.Popen([sys.executable, "-c", SPIN], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        running = own_cpu()
    ended = own_cpu()
    assert (running - before).engines_s >= 0.1
    assert (ended - before).engines_s >= 0.1


@linux
def test_main_thread_is_counted_separately() -> None:
    before, until_s = own_cpu(), time.process_time() + 0.1
    while time.process_time() < until_s:
        pass
    after = own_cpu()
    assert (after - before).loop_s >= 0.05
    assert (after - before).threads_s <= 0.05


@linux
def test_recognizer_thread_in_own_process_counts_as_engine() -> None:
    before, spun, seen = own_cpu(), threading.Event(), threading.Event()

    def spin() -> None:
        with thread_named("faster-whisper"):
            until_s = time.thread_time() + 0.1
            while time.thread_time() < until_s:
                pass
            spun.set()
            seen.wait(60)

    thread = threading.Thread(target=spin)
    thread.start()
    assert spun.wait(60)
    after = own_cpu()
    seen.set()
    thread.join()
    assert (after - before).engines_s >= 0.08
    assert (after - before).threads_s <= 0.05


@linux
def test_own_busy_time_is_part_of_machine_busy_time() -> None:
    busy = busy_of_machine()
    assert busy is not None
    assert 0 < busy[1] <= busy[0] + 1


def test_ended_process_has_no_cpu_time() -> None:
    assert cpu_of(2**22 + 1) is None


def test_llm_starts_on_free_port_and_ends(tmp_path: Path) -> None:
    async def run() -> str:
        async with model(LlmBehaviour(ttft_ms=1), tmp_path) as one:
            assert one.answers_since(0) == []
            return one.url

    assert asyncio.run(run()).startswith("http://127.0.0.1:")


def test_failed_server_start_reports_reason(tmp_path: Path) -> None:
    async def run() -> None:
        async with server("http://127.0.0.1:1/v1", ["turn.nonsense=1"], tmp_path / "said"):
            pytest.fail("it started")

    with pytest.raises(NotStartedError, match=r"turn\.nonsense"):
        asyncio.run(run())
