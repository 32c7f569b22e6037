"""The service as a systemd user unit (Linux). Pure."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import PurePath

from assistant.commands.service.plan import NOT_RUNNING, ServiceJob, ServicePlan, ServiceState, Step

REMEDY = (
    "there is no systemd session of this user here; in a container make `repartee serve` its main command, elsewhere "
    "log in as this user (not with su or sudo) and try again"
)

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

_ENV = "/usr/bin/env"

_SHOWN = ("ActiveState", "SubState", "Result", "ExecMainStatus", "MainPID", "ActiveEnterTimestamp")


def unit(job: ServiceJob) -> str:
    """Returns the text of the unit."""
    variables = "".join(f"Environment={_quoted(f'{name}={value}')}\n" for name, value in job.variables.items())
    command = " ".join(_quoted(word) for word in (*_program(job), *job.arguments))
    return f"""\
# Written by `repartee service install`, which also replaces it. `repartee service remove` deletes it.
[Unit]
Description={job.description}
After=pipewire.service pulseaudio.service
StartLimitIntervalSec=300
StartLimitBurst=5

[Service]
Type=exec
# The colon: no environment variables are put in.
ExecStart=:{command}
# The minus: it need not exist. The second file holds keys and tokens.
WorkingDirectory=-{_specifiers(str(job.folder))}
EnvironmentFile=-{_specifiers(str(job.environment_file))}
{variables}Restart=on-failure
RestartSec=5
# Status 2: the configuration has an error; another start does not help.
RestartPreventExitStatus=2
# Turns in progress finish.
TimeoutStopSec=20
{_HARDENING}{"" if _is_temporary(job) else PRIVATE_TMP}

[Install]
WantedBy=default.target
"""


def systemd_plan(job: ServiceJob, config_home: PurePath) -> ServicePlan:
    """Returns the plan. `config_home`: $XDG_CONFIG_HOME or ~/.config."""
    name = f"{job.name}.service"
    return ServicePlan(
        system="systemd",
        file=config_home / "systemd" / "user" / name,
        content=unit(job).encode(),
        available=_systemctl("show-environment"),
        remedy=REMEDY,
        install=(_systemctl("daemon-reload"), _systemctl("enable", name), _systemctl("restart", name)),
        remove=(_systemctl("disable", "--now", name, may_fail=True),),
        removed=(_systemctl("daemon-reload"), _systemctl("reset-failed", name, may_fail=True)),
        start=(_systemctl("start", name),),
        stop=(_systemctl("stop", name),),
        query=_systemctl("show", name, f"--property={','.join(_SHOWN)}"),
        state_of=state_of,
        arguments_of=arguments_of,
        log=("journalctl", "--user", f"--unit={name}", "--no-pager", "--lines=50"),
        at_boot="to start it without a login: loginctl enable-linger",
    )


def state_of(shown: str | None) -> ServiceState:
    """Reads the output of `systemctl show`."""
    found = dict(line.split("=", 1) for line in (shown or "").splitlines() if "=" in line)
    active = found.get("ActiveState", "")
    if active in {"active", "activating", "deactivating", "reloading"}:
        words = "running" if found.get("SubState") == "running" else active
        return ServiceState(
            running=words == "running",
            words="waits for its next start" if found.get("SubState") == "auto-restart" else words,
            since=found.get("ActiveEnterTimestamp", "") if words == "running" else "",
            process=int(found.get("MainPID") or 0),
        )
    return ServiceState(running=False, words=_failed(found)) if active == "failed" else NOT_RUNNING


def _failed(found: Mapping[str, str]) -> str:
    result = found.get("Result", "")
    why = f"exit status {found.get('ExecMainStatus', '?')}" if result == "exit-code" else result
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
    words = [str(job.program), str(job.folder), *job.arguments, *job.variables.values()]
    # `--config=/tmp/…` is an argument.
    return any(word.rpartition("=")[2].startswith(("/tmp/", "/var/tmp/")) for word in words)  # noqa: S108


def _specifiers(text: str) -> str:
    return text.replace("%", "%%")


def _quoted(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{_specifiers(escaped)}"'


def _systemctl(*words: str, may_fail: bool = False) -> Step:
    return Step(("systemctl", "--user", *words), may_fail)
