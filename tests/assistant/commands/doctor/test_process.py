"""A child process that answers, hangs, crashes or is abandoned ends in one line and leaves no process."""

import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from assistant.commands.doctor import process as doctor_process
from assistant.commands.doctor.process import ProbeResult, ProbeRunner, read_answer


def examined(what: str, limit_s: float = 8.0, *, left_s: float = 10.0, config: str = "") -> ProbeResult:
    async def scene() -> ProbeResult:
        runner = ProbeRunner(config, (), asyncio.get_running_loop().time() + left_s)
        return await runner.examine(what, limit_s)

    return asyncio.run(scene())


def module(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Runs `text` instead of the check."""
    (folder / "stand_in.py").write_text(text)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    monkeypatch.setattr(doctor_process, "CHILD", "stand_in")


def gone(pid: int, within_s: float = 20.0) -> bool:
    """Returns whether the process soon ends, or only a zombie remains.

    The signal is sent at once, but takes effect when the process is next scheduled; a busy machine delays that.
    """
    until_s = time.monotonic() + within_s
    while time.monotonic() < until_s:
        try:
            if ") Z" in Path(f"/proc/{pid}/stat").read_text():
                return True
        except OSError:
            return True
        time.sleep(0.01)
    return False


def test_import_check_reports_times_and_errors() -> None:
    found = examined("imports json no_such_module_here").facts
    assert isinstance(found["json"], float)
    assert "No module named" in str(found["no_such_module_here"])


def test_failing_check_is_one_line(tmp_path: Path) -> None:
    answer = examined("vad silero", config=str(tmp_path / "missing.toml"))
    assert answer.facts == {}
    assert "missing.toml" in answer.error
    assert "\n" not in answer.error


def test_hanging_check_is_killed_with_its_children(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor_process, "GRACE_S", 0.5)
    pids = tmp_path / "pids"
    module(
        tmp_path,
        monkeypatch,
        "import os, pathlib, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        f"pathlib.Path({str(pids)!r}).write_text(f'{{os.getpid()}} {{child.pid}}')\n"
        "time.sleep(60)\n",
    )
    answer = examined("anything", 3.5)
    assert answer.error == "not checked: no answer within 3.5 s: it hangs, or this machine is very busy"
    assert answer.no_result
    assert all(gone(int(pid)) for pid in pids.read_text().split())


@pytest.mark.parametrize("end", ["os._exit(0)", "os.kill(os.getpid(), 9)"], ids=["exit", "killed"])
def test_children_of_a_finished_check_are_killed(end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module(
        tmp_path,
        monkeypatch,
        "import os, subprocess, sys\n"
        "quiet = dict.fromkeys(('stdin', 'stdout', 'stderr'), subprocess.DEVNULL)\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'], **quiet)\n"
        'print(f\'{{"facts": {{"pid": {child.pid}}}}}\', flush=True)\n'
        f"{end}\n",
    )
    pid = examined("anything").facts["pid"]
    assert isinstance(pid, int)
    assert gone(pid)


def test_crashed_check_is_named_by_its_signal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module(tmp_path, monkeypatch, "import os, signal\nos.kill(os.getpid(), signal.SIGILL)\n")
    assert examined("anything").error.startswith("crashed (SIGILL): ")


def test_check_without_time_left_is_not_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor_process, "CHILD", "no_such_module_here")
    assert examined("anything", left_s=0.0) == ProbeResult({}, "not checked: no time was left", unfinished=True)


def test_output_of_a_finished_process_is_interpreted() -> None:
    assert read_answer(b'{"facts": {"a": 1}}', "noise", 0) == ProbeResult({"a": 1})
    assert read_answer(b'{"error": "a\\nb"}', "", 0) == ProbeResult({}, "a b")
    assert read_answer(b"", "Timeout (0:00:01)!\nThread 1", 1).unfinished
    assert read_answer(b"nonsense", "Traceback\n  File\nMemoryError\n", 1).error == "ended with status 1: MemoryError"
    assert read_answer(b"", "", 3).error == "ended with status 3: it printed no reason"


@pytest.mark.parametrize(("limit_s", "leaves"), [(0.5, False), (15.0, True)], ids=["time limit", "parent ended"])
def test_child_ends_at_its_limit_and_with_its_parent(tmp_path: Path, limit_s: float, *, leaves: bool) -> None:
    (tmp_path / "endless.py").write_text("import time\ntime.sleep(60)\n")
    order: dict[str, object] = {"what": "imports endless", "config": None, "overrides": [], "limit_s": limit_s}
    with subprocess.Popen(
        [sys.executable, "-m", "assistant.commands.doctor.child"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    ) as child:
        assert child.stdin is not None
        child.stdin.write(json.dumps(order).encode() + b"\n")
        child.stdin.flush()
        if leaves:
            child.stdin.close()
        assert child.wait(timeout=40) == 1
