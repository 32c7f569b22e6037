"""Watches programs for name lookups, for connections to other machines, and for the files that they write.

There are two watchers: an audit hook in each Python process and, where it is installed, strace, which sees C code too.
"""

import ipaddress
import json
import re
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

STRACE = shutil.which("strace")

ENDS_WITHIN_S = 10.0

AUDIT = """
import json, os, socket, sys

def write(kind, *what):
    line = json.dumps([kind, *(one.decode(errors="replace") if isinstance(one, bytes) else str(one) for one in what)])
    os.write(log, line.encode() + b"\\n")

def watch(event, arguments):
    try:
        if event == "open":
            path, mode, flags = arguments
            if isinstance(path, (str, bytes, os.PathLike)) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
                write("write", os.path.abspath(os.fsdecode(path)))
        elif event in ("os.mkdir", "os.link", "os.symlink", "os.rename", "os.remove", "os.rmdir", "sqlite3.connect"):
            last = arguments[1 if event in ("os.link", "os.symlink", "os.rename") else 0]
            descriptor = arguments[-1]
            relative_to = descriptor if event in ("os.mkdir", "os.remove", "os.rmdir") and descriptor != -1 else None
            if relative_to is None and isinstance(last, (str, bytes, os.PathLike)) and os.fsdecode(last) != ":memory:":
                write("write", os.path.abspath(os.fsdecode(last)))
        elif event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"):
            write("lookup", arguments[0])
        elif event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
            address = arguments[1]
            if isinstance(address, tuple):
                write("connect", address[0], address[1])
    except Exception as error:
        write("failed", event, error)

log = os.open({log!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
sys.addaudithook(watch)
"""

CALLS = (
    "connect", "sendto", "sendmsg", "sendmmsg", "openat", "mkdirat", "linkat", "symlinkat", "renameat",
    "renameat2", "unlinkat", "?open", "?creat", "?mkdir", "?link", "?symlink", "?rename", "?unlink", "?rmdir",
)  # fmt: skip
"""System calls that matter. Those with a question mark do not exist on every processor."""

NAME_PORTS = frozenset({53, 5353, 5355})
"""DNS, mDNS and LLMNR. A resolver on this machine asks others."""

RESOLVERS = ("/run/systemd/resolve/", "/run/avahi-daemon/", "/var/run/avahi-daemon/")
"""Sockets of name services."""

NO_FILES = (Path("/dev"), Path("/proc"))
"""Devices, and what the system knows about a process."""

_CALL = re.compile(r"^(\d+) +(\w+)\((.*)$")
_INTERNET = re.compile(r'sin6?_port=htons\((\d+)\).*?(?:inet_addr\(|inet_pton\(AF_INET6, )"([^"]+)"')
_UNIX = re.compile(r'sa_family=AF_UNIX, sun_path=@?"([^"]*)"')
_PATH = re.compile(r'(?:(?:AT_FDCWD|\d+)<([^>]*)>, )?"((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True, slots=True)
class Seen:
    """An action of a program.

    Attributes:
        kind: "lookup" of a name, "connect" to another machine, or "write" of a file or folder.
        what: The name, the address or the path.
        source: The watcher.
    """

    kind: str
    what: str
    source: str


class Watch:
    """Watches the programs that are started with its environment and its command."""

    def __init__(self, folder: Path, start: Path) -> None:
        """Keeps the watchers' notes in `folder`. `start`: the folder in which the programs are started."""
        self._folder, self._start = folder, start
        (folder / "hook").mkdir(parents=True)
        (folder / "hook" / "sitecustomize.py").write_text(AUDIT.replace("{log!r}", repr(str(folder / "audit"))))
        self._traces = 0

    @property
    def environment(self) -> dict[str, str]:
        """Variables of the programs."""
        return {"PYTHONPATH": str(self._folder / "hook"), "PYTHONDONTWRITEBYTECODE": "1"}

    def command(self, *words: str | Path) -> list[str | Path]:
        """Returns the command that runs a program under watch; its process is that of the program."""
        if STRACE is None:
            return list(words)
        self._traces += 1
        trace = self._folder / f"strace-{self._traces}"
        return [STRACE, "-D", "-f", "-y", "-q", "--seccomp-bpf", f"--trace={','.join(CALLS)}", "-o", trace, *words]

    def seen(self, own: Sequence[Path]) -> list[Seen]:
        """Returns each lookup, each connection to another machine and each file written outside the folders `own`."""
        allowed = (*own, self._folder, *NO_FILES)
        found = {one for one in (*self._audited(), *self._traced()) if not _is_allowed(one, allowed)}
        return sorted(found, key=lambda one: (one.kind, one.what, one.source))

    def _audited(self) -> Iterator[Seen]:
        for line in (self._folder / "audit").read_text().splitlines():
            kind, what, *port = json.loads(line)
            if kind == "lookup":
                if not _is_address(what) and what not in {"None", "", "localhost"}:
                    yield Seen(kind, what, "audit")
            elif kind == "connect":
                yield from _connection(what, int(port[0]), "audit")
            else:
                yield Seen(kind, what, "audit")

    def _traced(self) -> Iterator[Seen]:
        for trace in self._folder.glob("strace-*"):
            for line in trace.read_text(errors="replace").splitlines():
                if (call := _CALL.match(line)) is not None:
                    yield from self._action(call[2], call[3])

    def _action(self, call: str, arguments: str) -> Iterator[Seen]:
        if call in {"connect", "sendto", "sendmsg", "sendmmsg"}:
            for port, host in _INTERNET.findall(arguments):
                yield from _connection(host, int(port), "strace")
            for path in _UNIX.findall(arguments):
                if path.startswith(RESOLVERS):
                    yield Seen("lookup", path, "strace")
            return
        if call in {"open", "openat"} and not re.search(r"O_(WRONLY|RDWR|CREAT)", arguments):
            return
        paths = _PATH.findall(arguments)
        if paths and not re.search(r"\) += -1 E", arguments):
            folder, name = paths[-1]
            yield Seen("write", str(Path(folder or self._start, name.encode().decode("unicode_escape"))), "strace")


def wait_for_end(trace: Path, process: int) -> None:
    """Waits until strace has written the end of a process."""
    deadline_s = time.monotonic() + ENDS_WITHIN_S
    while f"{process} +++ " not in trace.read_text(errors="replace") and time.monotonic() < deadline_s:
        time.sleep(0.05)


def _connection(host: str, port: int, source: str) -> Iterator[Seen]:
    if port in NAME_PORTS:
        yield Seen("lookup", f"{host}:{port}", source)
    elif not _is_address(host) or not ipaddress.ip_address(host.partition("%")[0]).is_loopback:
        yield Seen("connect", f"{host}:{port}", source)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True


def _is_allowed(seen: Seen, folders: Sequence[Path]) -> bool:
    """Returns whether a file is in one of the folders; they, and the folders around them, may be created."""
    path = Path(seen.what)
    return seen.kind == "write" and any(path.is_relative_to(each) or each.is_relative_to(path) for each in folders)
