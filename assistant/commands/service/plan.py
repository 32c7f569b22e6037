"""Types of a service: the program that a service manager runs, its file and its commands. Pure."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from types import MappingProxyType

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class ServiceError(Exception):
    """The service cannot be installed, queried or removed. The text is one sentence with the remedy."""


@dataclass(frozen=True, slots=True)
class ServiceJob:
    """The program that the service manager runs.

    Attributes:
        name: Name of the service: repartee, or repartee-talk.
        program: The `repartee` program, as an absolute path.
        arguments: Its arguments; options are written as `--name=value`.
        folder: Working folder.
        environment_file: File with `NAME=value` lines: keys and tokens. It need not exist.
        log: File of the output, where the system keeps no log of its own.
        variables: Further environment variables: names of folders, never keys.
    """

    name: str
    program: PurePath
    arguments: tuple[str, ...]
    folder: PurePath
    environment_file: PurePath
    log: PurePath
    variables: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        """Raises ServiceError for a control character: in a unit, a line break would begin another instruction."""
        paths = map(str, (self.program, self.folder, self.environment_file, self.log))
        for word in (*self.arguments, *paths, *self.variables.values()):
            if _CONTROL.search(word):
                shown = word.encode("unicode_escape").decode()
                raise ServiceError(
                    f'"{shown}" has a line break or another control character; write it into config.toml'
                )

    @property
    def description(self) -> str:
        """One line about the service."""
        return f"Repartee, voice assistant ({self.arguments[0]})"

    @property
    def environment_file_path(self) -> Path:
        """`environment_file`, on this machine."""
        return Path(self.environment_file)

    @property
    def with_environment_file(self) -> tuple[str, ...]:
        """The command line for systems that read no environment file themselves: the program reads it."""
        return (str(self.program), "service", "run", f"--env-file={self.environment_file}", "--", *self.arguments)


@dataclass(frozen=True, slots=True)
class Step:
    """A command to run.

    Attributes:
        argv: Program and arguments.
        may_fail: Whether its failure does not matter, for example because nothing runs yet.
        tries: How often it is run at most, a second apart, until it succeeds.
    """

    argv: tuple[str, ...]
    may_fail: bool = False
    tries: int = 1


@dataclass(frozen=True, slots=True)
class ServiceState:
    """State of a service, as its service manager reports it.

    Attributes:
        running: Whether the program runs.
        words: State in a few words, as in "running" or "failed (exit status 2)".
        since: When it reached this state, as the system writes it; empty if unknown.
        process: Process id; 0 if none or unknown.
    """

    running: bool
    words: str
    since: str = ""
    process: int = 0


@dataclass(frozen=True, slots=True)
class ServicePlan:
    """Commands and file that install a service on one system.

    Attributes:
        system: Name of the service manager, for texts.
        file: File that describes the service.
        content: Its content.
        available: Command that succeeds if the service manager can be used.
        remedy: Says what to do where it cannot.
        install: Commands after the file was written; they also start the service.
        remove: Commands before the file is deleted.
        removed: Commands after it was deleted.
        start: Commands that start the service.
        stop: Commands that stop it.
        query: Command whose output tells the state.
        state_of: Reads that output; None: the command failed.
        arguments_of: Reads the program's arguments from the file's content. Raises ValueError.
        log: Command that prints the log; empty: the log is the file `job.log`.
        at_boot: Tells how to start it without a login; empty if there is no such way.
    """

    system: str
    file: PurePath
    content: bytes
    available: Step
    remedy: str
    install: tuple[Step, ...]
    remove: tuple[Step, ...]
    start: tuple[Step, ...]
    stop: tuple[Step, ...]
    query: Step
    state_of: Callable[[str | None], ServiceState]
    arguments_of: Callable[[bytes], Sequence[str]]
    removed: tuple[Step, ...] = ()
    log: tuple[str, ...] = ()
    at_boot: str = ""


NOT_RUNNING = ServiceState(running=False, words="not running")


def after_marker(argv: Sequence[str]) -> tuple[str, ...]:
    """Returns the arguments of a `with_environment_file` command line. Raises ValueError."""
    return tuple(argv[list(argv).index("--") + 1 :])
