"""Limits of memory, threads and open files that are too small end each command in one sentence."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.programs.program import REPARTEE

from assistant.support.process_limits import cause, explanation, refusal

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux enforces these limits")

MB = 1 << 20

LIMITED = """
import os, resource, sys
resource.setrlimit(getattr(resource, sys.argv[1]), (int(sys.argv[2]),) * 2)
os.execv(sys.argv[3], sys.argv[3:])
"""


def limited(limit: str, most: int, *command: str) -> subprocess.CompletedProcess[str]:
    """Runs a command under a limit."""
    return subprocess.run(
        [sys.executable, "-c", LIMITED, limit, str(most), *command],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("arguments", "limit", "most", "found", "needed"),
    [
        (["serve", "--port", "0"], "RLIMIT_AS", 700 * MB, "limited to 700 MB", "about 1600 MB"),
        (["talk", "--server", "ws://127.0.0.1:1"], "RLIMIT_AS", 300 * MB, "limited to 300 MB", "about 420 MB"),
        (["doctor"], "RLIMIT_AS", 300 * MB, "limited to 300 MB", "about 420 MB"),
        (["talk", "--help"], "RLIMIT_AS", 45 * MB, "limited to 45 MB", "about 56 MB"),
        (["serve", "--port", "0"], "RLIMIT_DATA", 200 * MB, "limited to 200 MB", "about 900 MB"),
        (["serve", "--port", "0"], "RLIMIT_NOFILE", 16, "may open 16 files", "needs 25"),
    ],
)
def test_limit_too_small_ends_command_in_one_sentence(
    arguments: list[str], limit: str, most: int, found: str, needed: str
) -> None:
    done = limited(limit, most, str(REPARTEE), *arguments)
    assert done.returncode == 2
    assert done.stderr.startswith("repartee: ")
    assert done.stderr.count("\n") == 1
    for word in (found, needed, f"`repartee {arguments[0]}`", limit):
        assert word in done.stderr
    assert not done.stdout


def test_library_that_finds_no_memory_after_the_check_is_explained() -> None:
    """The check lets the command pass here; then numpy cannot be mapped."""
    script = (
        "import sys; from repartee import program; from assistant.support import process_limits as limits; "
        "limits._COMMANDS = {'serve': limits.LIGHT}; sys.argv = ['repartee', 'serve', '--port', '0']; program.main()"
    )
    done = limited("RLIMIT_AS", 80 * MB, sys.executable, "-c", script)
    assert done.returncode == 2
    assert "limited to 80 MB, and `repartee serve` needs about 1600 MB" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", ["serve", "demo", "talk", "read", "doctor", "config", ""])
def test_ordinary_limits_are_accepted(command: str) -> None:
    assert not refusal([command] if command else [])


def test_command_that_fits_runs_under_its_limit() -> None:
    assert limited("RLIMIT_AS", 64 * MB, str(REPARTEE), "talk", "--help").returncode == 0
    assert limited("RLIMIT_NOFILE", 8, str(REPARTEE), "config").returncode == 0


def test_soft_limit_of_open_files_is_raised_where_permitted() -> None:
    script = (
        "import resource as r; from assistant.support.process_limits import refusal; "
        "r.setrlimit(r.RLIMIT_NOFILE, (12, r.getrlimit(r.RLIMIT_NOFILE)[1])); "
        "assert not refusal(['serve']); print(r.getrlimit(r.RLIMIT_NOFILE)[0])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "25\n"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root becomes another user")
def test_too_few_threads_are_told() -> None:
    """Root is exempt from the limit, so the check runs as another user."""
    script = (
        "import os, resource, sys; from repartee.program import main; sys.argv[1:] = ['serve']; "
        "resource.setrlimit(resource.RLIMIT_NPROC, (4, 4)); os.setgid(65534); os.setuid(65534); main()"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "threads under a limit of 4 for the user or container, and `repartee serve` needs 10" in done.stderr
    assert "RLIMIT_NPROC" in done.stderr


def control_group(root: Path, files: dict[str, str], lines: Sequence[str]) -> Path:
    """Writes the files of a system with control groups."""
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for name, content in files.items():
        path = root / "sys/fs/cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return root


@pytest.mark.parametrize(
    ("files", "lines"),
    [
        ({"a/b/memory.max": "max\n", "a/memory.max": f"{64 * MB}\n"}, ["0::/a/b"]),
        ({"memory/a/memory.limit_in_bytes": f"{64 * MB}\n"}, ["4:cpu,memory:/a", "0::/"]),
        ({"memory.max": f"{64 * MB}\n"}, ["0::/"]),
    ],
    ids=["group around it", "version 1", "own namespace"],
)
def test_small_memory_of_a_control_group_is_told(tmp_path: Path, files: dict[str, str], lines: list[str]) -> None:
    problem = refusal(["serve"], control_group(tmp_path, files, lines))
    assert (
        "control group (container or service) is limited to 64 MB, and `repartee serve` needs about 750 MB" in problem
    )


@pytest.mark.parametrize("content", ["max", str(600 * MB), "9223372036854771712", "not a number", ""])
def test_sufficient_or_unknown_memory_of_a_control_group_is_accepted(tmp_path: Path, content: str) -> None:
    assert not refusal(["serve"], control_group(tmp_path, {"memory.max": content}, ["0::/", "odd line"]))


def test_error_without_a_small_limit_is_not_explained_by_one() -> None:
    assert not cause(MemoryError(), ["serve"])
    assert not explanation("The file could not be read", ["serve"])


# ---- threads of numpy ----


ROOT = Path(__file__).parents[3]

COUNTED = """
import repartee.cli
import audio.end_of_turn.smart_turn.network, numpy, os
audio.end_of_turn.smart_turn.network.log_mel(numpy.zeros(16_000, numpy.int16))
print(len(os.listdir("/proc/self/task")))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted in /proc")
@pytest.mark.parametrize(("wanted", "threads"), [(None, 1), ("2", 2)], ids=["default", "variable set"])
def test_program_runs_without_blas_threads_by_default(wanted: str | None, threads: int) -> None:
    """BLAS threads spin after each product, on cores that the engines need."""
    if (os.cpu_count() or 1) < threads:
        pytest.skip("OpenBLAS takes no more threads than there are cores")
    kept = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    environment = {**kept, **({} if wanted is None else {"OPENBLAS_NUM_THREADS": wanted})}
    done = subprocess.run(
        [sys.executable, "-c", COUNTED], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    assert int(done.stdout) == threads
