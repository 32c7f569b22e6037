"""A real Ray cluster for the tests: a head of its own on this machine, without a dashboard."""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from audio.cluster.ray_connection import prepare_environment

STARTS_WITHIN_S = 90.0
STOPS_WITHIN_S = 30.0


def free_port() -> int:
    """Returns a port of this machine that nothing uses."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def ray_cluster(cpus: int = 8) -> Generator[str]:
    """Starts a head and yields its address; ends all its processes afterwards."""
    from assistant.commands.cluster.head import head_command, node_environment  # noqa: PLC0415 - needs the extra

    prepare_environment()
    folder = Path(tempfile.mkdtemp(prefix="ray-", dir="/tmp"))  # paths of sockets are at most 107 bytes long
    port = free_port()
    command = head_command(sys.executable, port=port, cpus=cpus, folder=folder)
    os.environ.setdefault("RAY_AUTH_MODE", "token")
    os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(16))
    environment = node_environment(os.environ, folder)
    head = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True, env=environment
    )
    try:
        _wait_for(head, port)
        yield f"127.0.0.1:{port}"
    finally:
        _stop(head)
        shutil.rmtree(folder, ignore_errors=True)


def _wait_for(head: "subprocess.Popen[bytes]", port: int) -> None:
    deadline_s = time.monotonic() + STARTS_WITHIN_S
    while True:
        assert head.poll() is None, "the head has ended"
        assert time.monotonic() < deadline_s, "the head has not started"
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return


def _stop(head: "subprocess.Popen[bytes]") -> None:
    """Ends the head's processes: they are in its session."""
    head.send_signal(signal.SIGTERM)
    try:
        head.wait(STOPS_WITHIN_S)
    except subprocess.TimeoutExpired:
        os.killpg(head.pid, signal.SIGKILL)
        head.wait(STOPS_WITHIN_S)
