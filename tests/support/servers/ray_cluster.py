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
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

from assistant.commands.cluster.head import head_command, node_environment
from audio.cluster.ray_connection import prepare_environment

NOTHING: Mapping[str, str] = MappingProxyType({})

STARTS_WITHIN_S = 120.0
STOPS_WITHIN_S = 30.0
DRAINS_WITHIN_S = 5.0
"""Wait before the head's processes are killed. They keep nothing that anyone needs."""


@contextmanager
def ray_cluster(cpus: int = 8, environ: Mapping[str, str] = NOTHING) -> Generator[str]:
    """Starts a head and yields its address; ends all its processes afterwards.

    Meanwhile the environment has what the processes of a cluster need, also its token. `environ`: variables of the head
    and its replicas only.
    """
    before = dict(os.environ)
    folder = Path(tempfile.mkdtemp(prefix="ray-", dir="/tmp"))  # paths of sockets are at most 107 bytes long
    prepare_environment()
    os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(16)
    os.environ.update(node_environment(os.environ, folder))
    port = _free_port()
    command = head_command(sys.executable, port=port, cpus=cpus, folder=folder)
    with Path(folder, "head.log").open("wb") as log:
        head = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True, env={**os.environ, **environ})
    try:
        _wait_for(head, port, Path(folder, "head.log"))
        yield f"127.0.0.1:{port}"
    finally:
        _stop(head)
        shutil.rmtree(folder, ignore_errors=True)
        os.environ.clear()
        os.environ.update(before)


def _free_port() -> int:
    """Returns a port of this machine that nothing uses, nor the next one, which Ray's client server takes."""
    while True:
        with socket.socket() as found, socket.socket() as following:
            found.bind(("127.0.0.1", 0))
            port = int(found.getsockname()[1])
            try:
                following.bind(("127.0.0.1", port + 1))
            except OSError:
                continue
            return port


def _wait_for(head: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    """Waits until the whole node runs, not only its port: the head then says how to stop it."""
    deadline_s = time.monotonic() + STARTS_WITHIN_S
    while "ray stop" not in (text := log.read_text(errors="replace")):
        assert head.poll() is None, text
        assert time.monotonic() < deadline_s, text
        time.sleep(0.1)
    socket.create_connection(("127.0.0.1", port), 5).close()


def _stop(head: "subprocess.Popen[bytes]") -> None:
    """Ends the head's processes: they are in its session."""
    head.send_signal(signal.SIGTERM)
    try:
        head.wait(DRAINS_WITHIN_S)
    except subprocess.TimeoutExpired:
        os.killpg(head.pid, signal.SIGKILL)
        head.wait(STOPS_WITHIN_S)
