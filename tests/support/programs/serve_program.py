"""Runs `repartee serve` as a process of its own."""

import re
import subprocess
import threading
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx
from support.programs.program import REPARTEE

READY_WITHIN_S = 60.0


@contextmanager
def serving(
    folder: Path, *settings: str, environ: Mapping[str, str] | None = None, command: Sequence[str | Path] = (REPARTEE,)
) -> Generator[str]:
    """Runs the server on a free port. Yields its address when it is ready. `command`: starts the program."""
    flags = [word for setting in settings for word in ("--set", setting)]
    with subprocess.Popen(
        [*command, "serve", "--port", "0", *flags],
        cwd=folder,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None
        lines: list[str] = []
        out = process.stdout
        reader = threading.Thread(target=lambda: lines.extend(iter(out.readline, "")))
        reader.start()
        try:
            deadline_s = time.monotonic() + READY_WITHIN_S
            while not (address := re.search(r"http://[0-9.]+:[0-9]+", "".join(lines))):
                assert time.monotonic() < deadline_s, lines
                time.sleep(0.05)
            while (ready := httpx.get(f"{address[0]}/readyz")).status_code != 200:
                assert time.monotonic() < deadline_s, ready.text
                time.sleep(0.05)
            yield address[0]
        finally:
            process.terminate()
            process.wait()
            reader.join()
