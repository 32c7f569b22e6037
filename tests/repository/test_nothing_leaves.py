"""No command and no conversation looks a name up, connects to another machine or writes outside the documented folders.

A network namespace without a network keeps inside what should not exist, where the system allows one.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.programs.program_watch import STRACE, Seen, Watch, wait_for_end

TESTS = Path(__file__).parent.parent
CONVERSATIONS_TIMEOUT_S = 400

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.slow,
    pytest.mark.calm,
    pytest.mark.timeout(CONVERSATIONS_TIMEOUT_S + 100),
]

UNSHARE = ("unshare", "--map-root-user", "--net")
ISOLATED = (
    shutil.which("unshare") is not None
    and not subprocess.run([*UNSHARE, "true"], check=False, capture_output=True).returncode
)

needs_isolation = pytest.mark.skipif(not ISOLATED, reason="no network namespace may be made here (unshare -rn)")
needs_strace = pytest.mark.skipif(STRACE is None, reason="strace is missing: what C code does is not watched")

SENDS = """
import socket
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
    try:
        one.connect(("192.0.2.1", 9))
    except OSError:
        pass
try:
    socket.getaddrinfo("telemetry.example", 443)
except OSError:
    pass
open({file!r}, "w").close()
"""

REPORTS = """
import onnxruntime, pathlib, time
graph = pathlib.Path(onnxruntime.__file__).parent.parent.joinpath("faster_whisper", "assets", "silero_vad_v6.onnx")
onnxruntime.InferenceSession(graph)
time.sleep({wait_s})
"""
"""A program that uses onnxruntime without this project's switch."""


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> list[Seen]:
    """Holds the conversations. Returns what the watchers saw."""
    folder = tmp_path_factory.mktemp("watched")
    command = [sys.executable, str(TESTS / "support" / "programs" / "watched_conversations.py"), str(folder)]
    done = subprocess.run(
        [*UNSHARE, *command, "isolated"] if ISOLATED else command,
        cwd=TESTS.parent,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(TESTS), str(TESTS.parent)))},
        capture_output=True,
        text=True,
        timeout=CONVERSATIONS_TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [Seen(*one) for one in json.loads((folder / "seen.json").read_text())]


@pytest.mark.parametrize("kind", ["lookup", "connect", "write", "failed"])
def test_conversations_reach_nothing_outside(seen: list[Seen], kind: str) -> None:
    assert [one for one in seen if one.kind == kind] == []


def watched(folder: Path, code: str, **environ: str) -> list[Seen]:
    """Runs Python code under watch in a home of its own, without a network. Returns what the watchers saw."""
    home = folder / "home"
    home.mkdir()
    watch = Watch(folder / "watch", home)
    command = watch.command(sys.executable, "-c", code)
    watched_environ = {"PATH": os.environ["PATH"], "HOME": str(home), **watch.environment, **environ}
    process = subprocess.Popen([*UNSHARE, *command], cwd=home, env=watched_environ)
    assert process.wait(60) == 0
    if STRACE is not None:
        wait_for_end(Path(command[command.index("-o") + 1]), process.pid)
    return watch.seen([])


@needs_isolation
def test_watchers_see_lookup_connection_and_file(tmp_path: Path) -> None:
    file = tmp_path / "elsewhere"
    found = watched(tmp_path, SENDS.format(file=str(file)))
    for source in ("audit", "strace") if STRACE else ("audit",):
        assert Seen("connect", "192.0.2.1:9", source) in found
        assert Seen("write", str(file), source) in found
        assert any(one.kind == "lookup" and one.source == source for one in found)


@needs_isolation
@needs_strace
@pytest.mark.parametrize(("switch", "is_seen"), [("0", True), ("1", False)])
def test_watcher_sees_telemetry_of_onnxruntime(tmp_path: Path, switch: str, is_seen: bool) -> None:
    found = watched(tmp_path, REPORTS.format(wait_s=1), ORT_DISABLE_TELEMETRY=switch)
    assert any(Path(one.what).is_relative_to(tmp_path / "home" / ".cache" / "Microsoft") for one in found) is is_seen
