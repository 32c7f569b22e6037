"""The service as a systemd user unit: its text, and the state that systemd reports of it. Pure."""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")

# PRIVATE_TMP is added where it can be. Left out: MemoryDenyWriteExecute (the sound card's callbacks are code made at
# run time), PrivateDevices (no sound card), ProtectHome (models and conversations are there), RestrictNamespaces (tool
# servers may use containers), RestrictRealtime (sound servers ask for real-time priority).
_HARDENING = """\
NoNewPrivileges=yes
LockPersonality=yes
RestrictSUIDSGID=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
SystemCallArchitectures=native
UMask=0077"""

PRIVATE_TMP = "\nPrivateTmp=yes"
"""Left out if the program or its files are in a folder of temporary files: it would not find them."""

_SATELLITE_LIMITS = """\
MemoryHigh=160M
MemoryMax=240M
TasksMax=64
"""
"""Limits of a satellite, which takes 75 MB; its start takes more. Its state command runs within them."""

_ENV = "/usr/bin/env"

STATE_PROPERTIES = ("ActiveState", "SubState", "Result", "ExecMainStatus", "MainPID", "ActiveEnterTimestamp")
"""Properties of the unit that `state_of` reads."""


class ServiceError(Exception):
    """The service cannot be installed, queried or removed. The text is one sentence with the remedy."""


@dataclass(frozen=True, slots=True)
class ServiceJob:
    """The program that systemd runs.

    Attributes:
        name: Name of the service: repartee, repartee-talk or repartee-satellite.
        program: The `repartee` program, as an absolute path.
        arguments: Its arguments; options are written as `--name=value`.
        folder: Working folder.
        environment_file: File with `NAME=value` lines: keys and tokens. It need not exist.
        variables: Further environment variables: names of folders, never keys.
        is_satellite: Whether it starts again for ever, with the memory of a small board.
    """

    name: str
    program: Path
    arguments: tuple[str, ...]
    folder: Path
    environment_file: Path
    variables: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    is_satellite: bool = False

    def __post_init__(self) -> None:
        """Raises ServiceError for a control character: in a unit, a line break would begin another instruction."""
        paths = map(str, (self.program, self.folder, self.environment_file))
        for word in (*self.arguments, *paths, *self.variables.values()):
            if _CONTROL.search(word):
                shown = word.encode("unicode_escape").decode()
                raise ServiceError(
                    f'"{shown}" has a line break or another control character; write it into config.toml'
                )

    @property
    def description(self) -> str:
        """One line about the service."""
        return f"Repartee, voice assistant ({'satellite' if self.is_satellite else self.arguments[0]})"


@dataclass(frozen=True, slots=True)
class ServiceState:
    """State of a service, as systemd reports it.

    Attributes:
        running: Whether the program runs.
        words: State in a few words, as in "running" or "failed (exit status 2)".
        since: When it reached this state, as systemd writes it; empty if unknown.
        process: Process id; 0 if none or unknown.
    """

    running: bool
    words: str
    since: str = ""
    process: int = 0


NOT_RUNNING = ServiceState(running=False, words="not running")


def unit(job: ServiceJob) -> str:
    """Returns the text of the unit."""
    variables = "".join(f"Environment={_quoted(f'{name}={value}')}\n" for name, value in job.variables.items())
    command = " ".join(_quoted(word) for word in (*_program(job), *job.arguments))
    return f"""\
# Written by `repartee service install`, which also replaces it. `repartee service remove` deletes it.
[Unit]
Description={job.description}
After=pipewire.service pulseaudio.service
{_start_limits(job)}
[Service]
Type=exec
# The colon: no environment variables are put in.
ExecStart=:{command}
# The minus: it need not exist. The second file holds keys and tokens.
WorkingDirectory=-{_specifiers(str(job.folder))}
EnvironmentFile=-{_specifiers(str(job.environment_file))}
{variables}Restart={"always" if job.is_satellite else "on-failure"}
RestartSec=5
# Status 2: the configuration has an error; another start does not help.
RestartPreventExitStatus=2
# Turns in progress finish.
TimeoutStopSec=20
{_SATELLITE_LIMITS if job.is_satellite else ""}{_HARDENING}{"" if _is_temporary(job) else PRIVATE_TMP}

[Install]
WantedBy=default.target
"""


def _start_limits(job: ServiceJob) -> str:
    if job.is_satellite:
        return "# However often it fails: its sound card may be plugged in later.\nStartLimitIntervalSec=0\n"
    return "StartLimitIntervalSec=300\nStartLimitBurst=5\n"


def state_of(shown: str | None) -> ServiceState:
    """Reads the output of `systemctl show`."""
    properties = dict(line.split("=", 1) for line in (shown or "").splitlines() if "=" in line)
    active = properties.get("ActiveState", "")
    if active in {"active", "activating", "deactivating", "reloading"}:
        words = "running" if properties.get("SubState") == "running" else active
        return ServiceState(
            running=words == "running",
            words="waits for its next start" if properties.get("SubState") == "auto-restart" else words,
            since=properties.get("ActiveEnterTimestamp", "") if words == "running" else "",
            process=int(properties.get("MainPID") or 0),
        )
    return ServiceState(running=False, words=_failed(properties)) if active == "failed" else NOT_RUNNING


def _failed(properties: Mapping[str, str]) -> str:
    result = properties.get("Result", "")
    why = f"exit status {properties.get('ExecMainStatus', '?')}" if result == "exit-code" else result
    return f"failed ({why})"


def arguments_of(content: bytes) -> Sequence[str]:
    """Reads the program's arguments from a unit. Raises ValueError."""
    for line in content.decode().splitlines():
        if line.startswith("ExecStart=:"):
            # Inside double quotes, both languages know \\ and \" only.
            words = [word.replace("%%", "%") for word in shlex.split(line.removeprefix("ExecStart=:"))]
            return words[2 if words[0] == _ENV else 1 :]
    raise ValueError("the unit has no ExecStart")


def _program(job: ServiceJob) -> tuple[str, ...]:
    # The name of the program itself may have no quotes and backslashes; an argument may.
    name = str(job.program)
    return (_ENV, name) if set(name) & set("'\"\\") else (name,)


def _is_temporary(job: ServiceJob) -> bool:
    if job.is_satellite:  # its state file, and what its state command reads
        return True
    words = [str(job.program), str(job.folder), *job.arguments, *job.variables.values()]
    # `--config=/tmp/…` is an argument.
    return any(word.rpartition("=")[2].startswith(("/tmp/", "/var/tmp/")) for word in words)  # noqa: S108


def _specifiers(text: str) -> str:
    return text.replace("%", "%%")


def _quoted(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{_specifiers(escaped)}"'
