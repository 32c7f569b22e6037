"""A program that exits while a thread is inside a C++ library, which would abort the process."""

import subprocess
import sys
from pathlib import Path

import pytest

WHISPER = """
async def scene():
    thread = WhisperThread()
    thread.submit(job, print, print)
    begun.wait()
    thread.give_up()
"""

PIPER = """
async def scene():
    thread = EngineThread("Piper", None, EngineError)
    thread.submit(lambda _engine: job())
    begun.wait()
    thread.give_up()
"""

ENDS = """
import asyncio, signal, sys, threading, time
from audio import exit_guard
from audio.stt.whisper.worker_threads import WhisperThread
from audio.errors import EngineError
from audio.threads.engine_thread import EngineThread

exit_guard.LIMIT_S = {limit_s}
begun = threading.Event()

def job():
    begun.set()
    time.sleep({job_s})
    print("worked", flush=True)

{scene}
asyncio.run(scene())
signal.signal(signal.SIGALRM, signal.default_int_handler)
signal.setitimer(signal.ITIMER_REAL, {ctrl_c_s})
sys.exit(7)
"""


@pytest.mark.parametrize(
    ("scene", "job_s", "limit_s", "ctrl_c_s", "said", "status"),
    [
        pytest.param(WHISPER, 0.3, 20, 0, "worked\n", 7, id="waits for whisper"),
        pytest.param(PIPER, 0.3, 20, 0, "worked\n", 7, id="waits for piper"),
        pytest.param(PIPER, 60, 0.2, 0, "", 7, id="but not for one that hangs"),
        pytest.param(WHISPER, 60, 60, 0.5, "", 130, id="nor for a person who cannot wait"),
    ],
)
def test_exit_waits_for_running_job(
    scene: str, job_s: float, limit_s: float, ctrl_c_s: float, said: str, status: int
) -> None:
    code = ENDS.format(scene=scene, job_s=job_s, limit_s=limit_s, ctrl_c_s=ctrl_c_s)
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (status, said, "")
