"""Measures what a satellite takes on a small board: disk, resident memory, and processor time while it sleeps.

    python -m bench.program.satellite [--seconds 60] [--echo]

Makes a new installation by `deploy/setup.sh --satellite` (from the package index) in a temporary folder, and runs its
`repartee talk --headless` with the detector of "okay nabu", a scripted server, and a virtual sound card (PulseAudio)
into which room noise is played. `--echo`: with the echo canceller. Disk: `.venv` without pip, and the program's
packages, with what Python has compiled. The sound server's own processor time is not counted, nor is that of its
microphone. Linux only.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[2] / "tests"))
from support.servers.scripted_server import Reply, Script, serving
from support.sound.virtual_card import VirtualCard, virtual_card, write_wav

from audio.units import MIC_RATE_HZ

ROOT = Path(__file__).parents[2]
PACKAGES = ("assistant", "audio", "declarations", "llm", "repartee", "web")
NOISE_RMS = 60
"""Level of the room noise, of 32768: -55 dBFS."""
SETTLE_S = 10.0
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Figures:
    """Cost of one satellite.

    Attributes:
        disk_mb: Size of the installation and of the program, in 10**6 bytes.
        resident_mb: Resident memory, with pages of libraries that other programs share, in 2**20 bytes.
        own_mb: The part of it that is the satellite's alone.
        core_percent: Processor time of one core.
        wakes_per_s: How often a thread waited for something.
    """

    disk_mb: float
    resident_mb: float
    own_mb: float
    core_percent: float
    wakes_per_s: float

    def __str__(self) -> str:
        return (
            f"disk {self.disk_mb:.0f} MB, resident {self.resident_mb:.0f} MB (its own {self.own_mb:.0f}), "
            f"{self.core_percent:.1f} % of a core, {self.wakes_per_s:.0f} wake-ups a second"
        )


def install(folder: Path, *, echo: bool) -> Path:
    """Makes a new installation of the tracked files. Returns its program."""
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    folders = (*(f"{package}/" for package in PACKAGES), "deploy/", "bench/clips/", "tests/recordings/")
    for name in tracked.split("\0")[:-1]:
        if "/" not in name or name.startswith(folders):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    environ = os.environ | ({"ECHO": "cancel"} if echo else {})
    subprocess.run([folder / "deploy" / "setup.sh", "--satellite"], cwd=folder, env=environ, check=True)
    return folder / ".venv" / "bin" / "repartee"


def disk_mb(folder: Path) -> float:
    """Returns the size of an installation and of the program."""
    files = [file for part in (".venv", *PACKAGES) for file in (folder / part).rglob("*")]
    counted = [file for file in files if file.is_file() and not file.is_symlink() and not _is_pip(file)]
    return sum(file.stat().st_size for file in counted) / 1e6


def _is_pip(file: Path) -> bool:
    return any(part == "pip" or part.startswith("pip-") for part in file.parts)


@contextmanager
def sleeping(program: Path, card: VirtualCard, port: int) -> Iterator[int]:
    """Runs a satellite that sleeps. Yields its process id."""
    command = [str(program), "talk", "--headless", "--server", f"ws://127.0.0.1:{port}", "--wake-word", "okay_nabu"]
    environ = {name: value for name, value in card.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with subprocess.Popen(command, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        asleep = threading.Event()

        def read() -> None:
            assert process.stdout is not None
            for line in process.stdout:
                if line == "state: asleep\n":
                    asleep.set()

        reader = threading.Thread(target=read)
        reader.start()
        try:
            assert asleep.wait(30), "the satellite did not fall asleep"
            time.sleep(SETTLE_S)
            yield process.pid
        finally:
            process.terminate()
            process.wait()
            reader.join()


def used_s(process: int) -> float:
    """Returns the processor time of a process."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


def waits(process: int) -> int:
    """Returns how often the threads of a process have waited."""
    statuses = [status.read_text() for status in Path(f"/proc/{process}/task").glob("*/status")]
    lines = [line for status in statuses for line in status.splitlines()]
    return sum(int(line.split()[1]) for line in lines if line.startswith("voluntary_ctxt_switches"))


def memory_mb(process: int) -> tuple[float, float]:
    """Returns the resident memory of a process, and the part that no other process shares."""
    lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    kilobytes = {line.split()[0]: int(line.split()[1]) for line in lines[1:]}
    return kilobytes["Rss:"] / 1024, (kilobytes["Private_Clean:"] + kilobytes["Private_Dirty:"]) / 1024


def measured(program: Path, seconds: float) -> Figures:
    """Measures a satellite while it sleeps in room noise."""
    samples = round((seconds + 2 * SETTLE_S + 20) * MIC_RATE_HZ)
    noise = np.random.default_rng(1).normal(0, NOISE_RMS, samples).astype(np.int16)
    reply = Reply("Yes.", np.zeros(2400, np.int16))
    with tempfile.TemporaryDirectory() as folder, virtual_card() as card, serving(Script([reply])) as server:
        player = card.speak(write_wav(Path(folder, "noise.wav"), noise, MIC_RATE_HZ))
        with sleeping(program, card, server.port) as process:
            began_s, used_before_s, waits_before = time.monotonic(), used_s(process), waits(process)
            time.sleep(seconds)
            took_s = time.monotonic() - began_s
            share, wakes = (used_s(process) - used_before_s) / took_s, (waits(process) - waits_before) / took_s
            resident_mb, own_mb = memory_mb(process)
        player.terminate()
        player.wait()
    return Figures(disk_mb(program.parents[2]), resident_mb, own_mb, 100 * share, wakes)


def main(arguments: list[str]) -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long the sleeping satellite is measured")
    parser.add_argument("--echo", action="store_true", help="with the echo canceller")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        program = install(Path(folder).resolve(), echo=given.echo)
        print(measured(program, given.seconds))


if __name__ == "__main__":
    main(sys.argv[1:])
