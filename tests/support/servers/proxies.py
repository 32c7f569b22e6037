"""nginx and HAProxy with the files of deploy/, in which addresses, ports and paths are replaced."""

import re
import shutil
import socket
import subprocess
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.servers.certificates import write_pair

DEPLOY = Path(__file__).parents[3] / "deploy"
HOST = "voice.example"
STARTS_WITHIN_S = 30.0
ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class Proxy:
    """A running proxy.

    Attributes:
        port: Its port for https.
        plain_port: Its port for http.
        certificate: The certificate file that clients trust.
        log: Everything that it has logged.
    """

    port: int
    plain_port: int
    certificate: Path
    log: Path


def free_ports(count: int) -> list[int]:
    """Returns ports of loopback that were free a moment ago."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


def program_of(name: str) -> str:
    """Returns the path of a program. Skips the test where it is not installed."""
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/local/sbin")
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def nginx_files(folder: Path, gateways: Sequence[int], ports: tuple[int, int] = (80, 443)) -> tuple[Path, Path]:
    """Writes nginx's main file around the one of deploy/; returns it and the certificate. No port: as it is shipped."""
    certificate, key = write_pair(folder / "tls", names=(HOST,))
    text = (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
    text = _replaced(text, "/etc/ssl/voice.example/fullchain.pem", str(certificate))
    text = _replaced(text, "/etc/ssl/voice.example/privkey.pem", str(key))
    text = _replaced(text, "/var/log/nginx/repartee.log", str(folder / "access.log"))
    text = _replaced(text, "/var/log/nginx/repartee-error.log", str(folder / "error.log"))
    text = _with_gateways(text, gateways)
    if ports != (80, 443):
        text = _replaced(text, "listen 80;", f"listen 127.0.0.1:{ports[0]};")
        text = _replaced(text, "listen 443 ssl;", f"listen 127.0.0.1:{ports[1]} ssl;")
    paths = "".join(
        f"    {kind}_temp_path {folder / kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    file = folder / "nginx.conf"
    file.write_text(
        f"daemon off;\nworker_processes 1;\npid {folder / 'nginx.pid'};\nerror_log stderr warn;\n"
        f"events {{ worker_connections 256; }}\nhttp {{\n{paths}{text}}}\n",
        encoding="utf-8",
    )
    return file, certificate


def haproxy_files(folder: Path, gateways: Sequence[int], ports: tuple[int, int] = (80, 443)) -> tuple[Path, Path]:
    """Writes HAProxy's file; returns it and the certificate. No port: as it is shipped."""
    certificate, key = write_pair(folder / "tls", names=(HOST,))
    both = folder / "combined.pem"
    both.write_bytes(certificate.read_bytes() + key.read_bytes())
    text = (DEPLOY / "haproxy.cfg").read_text(encoding="utf-8")
    text = _with_gateways(_replaced(text, "/etc/ssl/voice.example/combined.pem", str(both)), gateways)
    if ports != (80, 443):
        text = _replaced(text, "bind :80\n", f"bind 127.0.0.1:{ports[0]}\n")
        text = _replaced(text, "bind :443 ssl", f"bind 127.0.0.1:{ports[1]} ssl")
    file = folder / "haproxy.cfg"
    file.write_text(text, encoding="utf-8")
    return file, certificate


@contextmanager
def running_proxy(kind: str, folder: Path, gateways: Sequence[int]) -> Generator[Proxy]:
    """Runs "nginx" or "haproxy" before gateways on these ports of loopback."""
    program = program_of(kind)
    for _ in range(ATTEMPTS):
        with _attempt(kind, program, folder, gateways) as proxy:
            if proxy is not None:
                yield proxy
                return
    raise AssertionError((folder / "proxy.log").read_text(encoding="utf-8"))


@contextmanager
def _attempt(kind: str, program: str, folder: Path, gateways: Sequence[int]) -> Generator[Proxy | None]:
    """Runs the proxy on ports that were free a moment ago; yields None if it has ended, as when they are in use."""
    ports = free_ports(2)
    files = nginx_files if kind == "nginx" else haproxy_files
    file, certificate = files(folder, gateways, (ports[0], ports[1]))
    command = [program, "-p", str(folder), "-c", str(file)] if kind == "nginx" else [program, "-db", "-f", str(file)]
    log = folder / "proxy.log"
    with log.open("wb") as written:
        process = subprocess.Popen(command, stdout=written, stderr=written)
    try:
        deadline_s = time.monotonic() + STARTS_WITHIN_S
        while process.poll() is None and not _accepts(ports[1]):
            assert time.monotonic() < deadline_s
            time.sleep(0.02)
        yield Proxy(ports[1], ports[0], certificate, log) if process.poll() is None else None
    finally:
        process.terminate()
        process.wait(10)


def _accepts(port: int) -> bool:
    with socket.socket() as one:
        one.settimeout(1)
        return one.connect_ex(("127.0.0.1", port)) == 0


def _with_gateways(text: str, ports: Sequence[int]) -> str:
    for place, port in enumerate(ports):
        text = _replaced(text, f"10.0.0.1{place + 1}:8765", f"127.0.0.1:{port}")
    return text


def _replaced(text: str, before: str, after: str) -> str:
    found, count = re.subn(re.escape(before), lambda _: after, text)
    assert count, f"deploy/ does not have {before}"
    return found
