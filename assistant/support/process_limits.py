"""Names limits of the system that are too small for a command: memory, threads and open files.

Checked before numpy is imported: its OpenBLAS ends the process with its own error message if it gets no memory. Only
the standard library is used. Every figure in MB is 2**20 bytes, measured on Linux (docs/daily-running.md).
"""

import os
import re
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

EXIT_CODE = 2
"""As for a mistake in the configuration: a service manager does not start the program again."""


@dataclass(frozen=True, slots=True)
class Need:
    """Resources that a process needs.

    Attributes:
        address_space_mb: Of RLIMIT_AS.
        data_mb: Of RLIMIT_DATA: memory that it may write.
        resident_mb: Of a control group's memory limit.
        threads: Threads besides the first.
        files: Open files.
    """

    address_space_mb: int
    data_mb: int
    resident_mb: int
    threads: int
    files: int


LIGHT = Need(56, 32, 24, 0, 5)
"""Least need of a command that loads no engine, such as `config` and each `--help`."""
NUMPY = Need(150, 75, 40, 0, 6)
"""Least need of a command that loads numpy."""
SOUND = Need(420, 110, 60, 3, 10)
"""Least need of a command that loads numpy and the sound card, and no engine."""
ENGINES = Need(750, 280, 150, 8, 10)
"""Least need of a conversation: espeak-ng, no recognizer, no language model."""
DEFAULT = Need(1600, 900, 750, 10, 25)
"""Need of `serve` with the default engines and one conversation."""

_COMMANDS = {
    "demo": ENGINES,
    "serve": replace(ENGINES, threads=10, files=25),
    "talk": ENGINES,
    "read": ENGINES,
    "bench": ENGINES,
    "doctor": replace(SOUND, threads=8, files=17),
    "devices": SOUND,
    "cluster": SOUND,
    **dict.fromkeys(("init", "models", "conversations", "trace"), NUMPY),
}

_SHORT_OF = re.compile(
    r"allocat|bad.alloc|MemoryError|failed to map segment|cannot map|start new thread|too many open files"
    r"|resource temporarily unavailable",
    re.IGNORECASE,
)
"""Words of Python, the dynamic linker and libraries about memory, threads or files that the system refused."""

_UNLIMITED_MB = 1 << 40
_MAX_CAUSES = 20


@dataclass(frozen=True, slots=True)
class _Limit:
    what: str
    limit_mb: int
    remedy: str

    def below(self, command: str, needed_mb: int) -> str:
        return (
            f"{self.what} is limited to {self.limit_mb} MB, and `{command}` needs about {needed_mb} MB: {self.remedy}"
        )


def refusal(arguments: Sequence[str], system: Path = Path("/")) -> str:
    """Returns the limit that makes this command fail, as one sentence; "" if none does.

    Also raises the soft limit of open files where the command needs more.

    Args:
        arguments: Of the program, without its name.
        system: Root of the folders `proc` and `sys`.
    """
    least, command = _least_need(arguments), _shown(arguments)
    usual = DEFAULT if least.address_space_mb >= ENGINES.address_space_mb else least
    for limit, least_mb, usual_mb in _memory_limits(least, usual, system):
        if limit.limit_mb < least_mb:
            return limit.below(command, usual_mb)
    return _files_refusal(command, least.files) or _threads_refusal(command, least.threads, system)


def cause(error: BaseException, arguments: Sequence[str], system: Path = Path("/")) -> str:
    """Returns the limit that led to an error, as one sentence; "" if the error or the limits do not look like it."""
    texts = [f"{type(exception).__name__}: {exception}" for exception in _chain(error)]
    return explanation(" ".join(texts), arguments, system)


def explanation(message: str, arguments: Sequence[str], system: Path = Path("/")) -> str:
    """Returns the limit that led to an error message, as one sentence; "" if message or limits do not look like it."""
    if not _SHORT_OF.search(message):
        return ""
    command = _shown(arguments)
    for limit, _, usual_mb in _memory_limits(DEFAULT, DEFAULT, system):
        if limit.limit_mb < usual_mb:
            return limit.below(command, usual_mb)
    return _files_refusal(command, DEFAULT.files) or _threads_refusal(command, DEFAULT.threads, system)


def small_memory_limit(system: Path = Path("/")) -> str:
    """Returns the memory limit that is too small for the default engines, as one sentence; "" if there is none."""
    limits = _memory_limits(DEFAULT, DEFAULT, system)
    return next((limit.below("repartee serve", mb) for limit, _, mb in limits if limit.limit_mb < mb), "")


def _least_need(arguments: Sequence[str]) -> Need:
    if not arguments or {"--help", "-h"} & set(arguments):
        return LIGHT
    if arguments[0] == "talk" and any(argument.partition("=")[0] == "--server" for argument in arguments):
        return SOUND
    return _COMMANDS.get(arguments[0], LIGHT)


def _shown(arguments: Sequence[str]) -> str:
    return f"repartee {arguments[0]}" if arguments and arguments[0] in _COMMANDS else "repartee"


def _memory_limits(least: Need, usual: Need, system: Path) -> Iterator[tuple[_Limit, int, int]]:
    """Yields each limit, the least need below which the command fails, and its usual need in MB."""
    space_mb, data_mb = _resource_mb("RLIMIT_AS"), _resource_mb("RLIMIT_DATA")
    group_mb = _group_limit(system, "memory", "memory.max", "memory.limit_in_bytes") >> 20
    space = _Limit("the address space of this process", space_mb, "raise RLIMIT_AS (`ulimit -v`, LimitAS=)")
    data = _Limit("the writable memory of this process", data_mb, "raise RLIMIT_DATA (`ulimit -d`, LimitDATA=)")
    group = _Limit("the memory of this control group (container or service)", group_mb, "raise it (memory.max)")
    yield space, least.address_space_mb, usual.address_space_mb
    yield data, least.data_mb, usual.data_mb
    yield group, least.resident_mb, usual.resident_mb


def _resource_mb(name: str) -> int:
    """Returns a soft limit in MB. Only Linux enforces them."""
    if sys.platform != "linux":
        return _UNLIMITED_MB
    import resource  # noqa: PLC0415 - not on every system

    soft = resource.getrlimit(getattr(resource, name))[0]
    return _UNLIMITED_MB if soft == resource.RLIM_INFINITY else soft >> 20


def _group_limit(system: Path, controller: str, name: str, old_name: str) -> int:
    """Returns the smallest limit of this control group and those around it; both versions of the file system."""
    smallest = _UNLIMITED_MB << 20
    with suppress(OSError, ValueError):
        for line in (system / "proc/self/cgroup").read_text(encoding="utf-8").splitlines():
            _, controllers, group = line.split(":", 2)
            if controllers and controller not in controllers.split(","):
                continue
            top = system / "sys/fs/cgroup" / (controller if controllers else "")
            folder = top / group.lstrip("/")
            for parent in (folder, *folder.parents):
                with suppress(OSError, ValueError):
                    smallest = min(
                        smallest, int((parent / (old_name if controllers else name)).read_text(encoding="utf-8"))
                    )
                if parent == top:
                    break
    return smallest


def _files_refusal(command: str, needed: int) -> str:
    with suppress(ImportError, ValueError, OSError):
        import resource  # noqa: PLC0415 - not on every system

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft == resource.RLIM_INFINITY or soft >= needed:
            return ""
        if hard == resource.RLIM_INFINITY or hard >= needed:
            resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
            return ""
        return (
            f"this process may open {hard} files, and `{command}` needs {needed}: "
            "raise RLIMIT_NOFILE (`ulimit -n`, LimitNOFILE=)"
        )
    return ""


def _threads_refusal(command: str, needed: int, system: Path) -> str:
    """Starts as many threads as are needed: only the system knows what others use and who is exempt from a limit."""
    if not needed or not hasattr(os, "fork"):
        return ""
    started = _startable_threads(needed)
    if started >= needed:
        return ""
    limits = [_group_limit(system, "pids", "pids.max", "pids.max")]
    with suppress(ImportError, ValueError, OSError):
        import resource  # noqa: PLC0415 - not on every system

        soft = resource.getrlimit(resource.RLIMIT_NPROC)[0]
        limits += [] if soft == resource.RLIM_INFINITY else [soft]
    return (
        f"this process can start only {started} threads under a limit of {min(limits)} for the user or container, "
        f"and `{command}` needs {needed}: raise RLIMIT_NPROC (`ulimit -u`, LimitNPROC=) or pids.max (TasksMax=)"
    )


def _startable_threads(threads: int) -> int:
    """Returns how many threads can be started, at most `threads`. Tried in a child: each keeps address space."""
    try:
        child = os.fork()
    except OSError:
        return 0
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    started = 0
    try:
        for started in range(threads):  # noqa: B007 - the number is the result
            threading.Thread(target=threading.Event().wait, daemon=True).start()
        started = threads
    finally:
        os._exit(started)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yields the error, those of its group, and what led to them."""
    waiting: list[BaseException] = [error]
    for _ in range(_MAX_CAUSES):
        if not waiting:
            return
        exception = waiting.pop(0)
        yield exception
        if isinstance(exception, BaseExceptionGroup):
            waiting += exception.exceptions
        waiting += [more for more in (exception.__cause__, exception.__context__) if more is not None]
