"""A real Redis server for the tests, on a socket file of its own."""

import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

STARTS_WITHIN_S = 20.0


@dataclass(frozen=True, slots=True)
class RedisProcess:
    """A running redis-server.

    Attributes:
        url: Its address.
        process: The process.
    """

    url: str
    process: subprocess.Popen[bytes]

    def freeze(self) -> None:
        """Stops the process, so that it accepts connections and answers nothing."""
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Lets the process continue."""
        self.process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """Kills the process."""
        self.process.kill()
        self.process.wait(10)


@contextmanager
def redis_process(folder: Path) -> Generator[str]:
    """Starts redis-server and yields its address. Skips the test where it is not installed."""
    with running_redis(folder) as redis:
        yield redis.url


@contextmanager
def running_redis(folder: Path, *options: str) -> Generator[RedisProcess]:
    """Starts redis-server with further options. Skips the test where it is not installed."""
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("redis-server is not installed")
    address = folder / "redis.sock"
    given = ["--port", "0", "--unixsocket", str(address), "--save", "", "--appendonly", "no", "--dir", str(folder)]
    process = subprocess.Popen([program, *given, *options], stdout=subprocess.DEVNULL)
    try:
        deadline_s = time.monotonic() + STARTS_WITHIN_S
        while not _accepts(address):
            assert process.poll() is None
            assert time.monotonic() < deadline_s
            time.sleep(0.02)
        yield RedisProcess(f"unix://{address}", process)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGCONT)
        process.terminate()
        process.wait(10)


def _accepts(address: Path) -> bool:
    """Returns whether a connection succeeds: the socket file exists a moment before."""
    with socket.socket(socket.AF_UNIX) as one:
        return one.connect_ex(str(address)) == 0
