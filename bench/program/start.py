"""Measures the time between `repartee talk` and "listening": python -m bench.program.start [--runs N]

Prints the cost of the command's imports (python -X importtime), the largest first. Also prints the time until the
command prints "ready", and until its screen shows "listening" (in a pseudo-terminal, not on Windows). The last two need
a sound card; without one they are skipped with a message.
"""

import argparse
import os
import re
import struct
import subprocess
import sys
import time
from collections.abc import Callable

COMMAND = (
    "import repartee.cli, rich.console, assistant.config.loading, "
    "assistant.commands.talk.command, assistant.commands.talk.screen"
)
TALK = (sys.executable, "-c", "from repartee.cli import main; main()", "talk")
SHOWN = 12
READY_WITHIN_S = 30.0

ROWS, COLUMNS = 20, 100
"""Terminal size. Too low for the state's picture, so that the state is shown as a word."""

_LINE = re.compile(r"import time:\s+(\d+) \|\s+(\d+) \|( +)(\S+)")


def imports_ms() -> list[tuple[str, float]]:
    """Returns modules and their cumulative import time in ms, the slowest first."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", COMMAND], capture_output=True, text=True, check=True
    )
    imports = [(match[4], int(match[2]) / 1000) for match in map(_LINE.match, done.stderr.splitlines()) if match]
    return sorted(imports, key=lambda pair: -pair[1])


def ready_s() -> float | None:
    """Returns the time from the command to the line "ready"; None if it never comes."""
    began_s = time.monotonic()
    with subprocess.Popen([*TALK, "--plain"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                if line.startswith("ready:"):
                    return time.monotonic() - began_s
                if time.monotonic() - began_s > READY_WITHIN_S:
                    return None
        finally:
            process.kill()
    return None


def listening_s() -> float | None:
    """Returns the time from the command to "listening" on the screen; None if it never comes."""
    import fcntl  # noqa: PLC0415 - not on Windows
    import pty  # noqa: PLC0415
    import termios  # noqa: PLC0415

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    environ = {**os.environ, "TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8"}
    began_s = time.monotonic()
    with subprocess.Popen(TALK, stdin=theirs, stdout=theirs, stderr=theirs, env=environ) as process:
        os.close(theirs)
        drawn = b""
        try:
            while b"LISTENING" not in drawn and time.monotonic() - began_s < READY_WITHIN_S:
                drawn += os.read(ours, 1 << 16)
            return time.monotonic() - began_s if b"LISTENING" in drawn else None
        except OSError:  # it has ended
            return None
        finally:
            process.kill()
            os.close(ours)


def measured(what: str, once: Callable[[], float | None], runs: int) -> str:
    """Returns a line with every run, in seconds."""
    times = [taken for _ in range(runs) if (taken := once()) is not None]
    if not times:
        return f"{what}: not measured, because this machine has no sound card (`repartee devices`)"
    return f"{what}: {', '.join(f'{taken:.2f}' for taken in times)} s"


def main() -> None:
    """Prints all results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3, help="number of runs of the whole command")
    runs = parser.parse_args().runs
    print("imports, ms, including what each one imports")
    for name, ms in imports_ms()[:SHOWN]:
        print(f"{ms:8.0f}  {name}")
    print(measured('command to "ready", lines', ready_s, runs))
    if os.name == "posix":
        print(measured('command to "listening", screen', listening_s, runs))


if __name__ == "__main__":
    main()
