"""A real Redis server for the tests, on a socket file of its own."""

import shutil
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

STARTS_WITHIN_S = 20.0


@contextmanager
def redis_process(folder: Path) -> Generator[str]:
    """Starts redis-server and yields its address. Skips the test where it is not installed."""
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("redis-server is not installed")
    socket = folder / "redis.sock"
    options = ["--port", "0", "--unixsocket", str(socket), "--save", "", "--appendonly", "no", "--dir", str(folder)]
    process = subprocess.Popen([program, *options], stdout=subprocess.DEVNULL)
    try:
        deadline_s = time.monotonic() + STARTS_WITHIN_S
        while not socket.exists():
            assert process.poll() is None
            assert time.monotonic() < deadline_s
            time.sleep(0.02)
        yield f"unix://{socket}"
    finally:
        process.terminate()
        process.wait(10)
