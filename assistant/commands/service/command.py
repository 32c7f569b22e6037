"""Installs, queries, starts, stops and removes the service."""

import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rich.console import Console

from assistant.commands.service.environment_file import create_environment, missing, read_environment
from assistant.commands.service.unit import (
    STATE_PROPERTIES,
    ServiceError,
    ServiceJob,
    ServiceState,
    arguments_of,
    state_of,
    unit,
)
from assistant.config.errors import ConfigError
from assistant.config.files import VARIABLE
from assistant.config.loading import load_settings
from assistant.config.settings import Settings
from assistant.config.sources import Option
from assistant.support.atomic_file import write_whole
from assistant.support.paths import at_home, config_folder, data_folder
from audio.private_file import make_private_folder

COMMAND_TIMEOUT_S = 60.0
"""Longest time in s of one `systemctl`. Stopping waits for turns in progress."""

LOG_LINES = 50
REMEDY = (
    "there is no systemd session of this user here; in a container make `repartee serve` its main command, elsewhere "
    "log in as this user (not with su or sudo) and try again; macOS and Windows: docs/daily-running.md"
)
TOKEN = "REPARTEE_TOKEN"  # noqa: S105 - its name

FOLDER_VARIABLES = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "HF_HOME", "HF_HUB_CACHE")
"""Environment variables that a service gets from the shell that installs it: without them it would not find the user's
configuration and models."""


Kind = Literal["serve", "talk", "satellite"]

_NAMES: Mapping[Kind, str] = {"serve": "repartee", "talk": "repartee-talk", "satellite": "repartee-satellite"}
_ARGUMENTS: Mapping[Kind, tuple[str, ...]] = {
    "serve": ("serve",),
    "talk": ("talk", "--plain"),
    "satellite": ("talk", "--headless"),
}
_OPTIONS: Mapping[str, str] = {
    "host": "server.host",
    "port": "server.port",
    "room": "satellite.room",
    "wake-word": "talk.wake_word",
}
"""Options of the program that are short for a setting."""


@dataclass(frozen=True, slots=True)
class Wish:
    """Options of `repartee service`.

    Attributes:
        kind: What runs: `repartee serve`, `repartee talk`, or `repartee talk --headless`.
        options: Options of that command, each as `--name=value`.
    """

    kind: Kind = "serve"
    options: tuple[str, ...] = ()


def job_of(wish: Wish, environ: Mapping[str, str]) -> ServiceJob:
    """Returns the program that systemd runs. Raises HomeError, ServiceError."""
    options = wish.options
    if (named := environ.get(VARIABLE)) and not any(option.startswith("--config=") for option in options):
        options = (f"--config={absolute(named)}", *options)
    return ServiceJob(
        _NAMES[wish.kind],
        program(),
        (*_ARGUMENTS[wish.kind], *options),
        data_folder(environ).absolute(),
        (config_folder() / "service.env").absolute(),
        {name: environ[name] for name in FOLDER_VARIABLES if environ.get(name)},
        is_satellite=wish.kind == "satellite",
    )


def program() -> Path:
    """Returns the installed `repartee`: beside this Python, else the one that runs. It need not be on the PATH."""
    beside = Path(sys.executable).with_name("repartee")
    return beside if beside.exists() else Path(shutil.which(sys.argv[0]) or sys.argv[0]).absolute()


def absolute(path: str | Path) -> Path:
    """Returns the path as it is valid in every folder. Raises HomeError."""
    return at_home(str(path)).absolute()


def settings_for(arguments: Sequence[str], variables: Mapping[str, str]) -> Settings:
    """Loads the settings as the service will. Raises ConfigError.

    Args:
        arguments: The program's arguments, with options as `--name=value`.
        variables: The variables of the environment file.
    """
    given = [word.removeprefix("--").partition("=") for word in arguments if word.startswith("--")]
    config = next((Path(value) for name, _, value in given if name == "config"), None)
    options = [Option(f"--{name}", _OPTIONS[name], value) for name, _, value in given if name in _OPTIONS]
    overrides = [value for name, _, value in given if name == "set"]
    return load_settings(config, variables, overrides, options).settings


def address_of(settings: Settings) -> str:
    """Returns the address of the server's page on this machine."""
    host = {"0.0.0.0": "localhost", "::": "localhost"}.get(settings.server.host, settings.server.host)  # noqa: S104
    secure = settings.server.tls_self_signed or settings.server.tls_cert
    return f"http{'s' if secure else ''}://{f'[{host}]' if ':' in host else host}:{settings.server.port}"


def needed_variables(settings: Settings) -> list[str]:
    """Returns the names of the keys that the settings name, and the token if other machines may connect."""
    names = [name for endpoint in settings.llm.endpoints for name in endpoint.variables]
    names += [name for server in settings.tools.servers for name in server.variables]
    if settings.home.url:
        names.append(settings.home.token_env)
    if settings.server.host not in {"127.0.0.1", "localhost", "::1"}:
        names.append(TOKEN)
    return list(dict.fromkeys(names))


class Service:
    """One service of this user. Prints to a console what it did."""

    def __init__(self, wish: Wish, environ: Mapping[str, str], console: Console) -> None:
        """Describes the service for systemd. Raises HomeError, ServiceError."""
        self._job = job_of(wish, environ)
        self._unit = f"{self._job.name}.service"
        self._flag = "" if wish.kind == "serve" else f" --{wish.kind}"
        self._console = console
        self.file = at_home(environ.get("XDG_CONFIG_HOME") or "~/.config") / "systemd" / "user" / self._unit
        """The unit; it exists if the service is installed."""

    def show_plan(self) -> None:
        """Prints the unit and the commands of `install`, and changes nothing."""
        self._say(f"# {self.file}\n{unit(self._job)}")
        for words in self._starting_commands():
            self._say(f"$ {shlex.join(_systemctl(*words))}")

    def settings(self) -> Settings:
        """Returns the settings that it will have. Raises ConfigError, ServiceError."""
        return settings_for(self._job.arguments, read_environment(self._job.environment_file))

    def install(self) -> None:
        """Writes the unit, and starts the service now and at each login. Raises ConfigError, ServiceError."""
        job = self._job
        there = read_environment(job.environment_file)
        settings = self.settings()
        variables = [TOKEN] if job.is_satellite else needed_variables(settings)
        self._check_available()
        created = create_environment(job.environment_file, variables)
        try:
            for folder in (job.folder, self.file.parent):
                make_private_folder(folder)
            write_whole(self.file, unit(job).encode(), private=True)  # a setting may be an address with a password
        except OSError as error:
            raise ServiceError(f"{self.file} cannot be written ({error.strerror}); correct its folder") from error
        for words in self._starting_commands():
            self._run(*words)
        self._say(f"installed: {self.file}")
        self._say(f"keys     : {job.environment_file}{' (new, only you can read it)' if created else ''}")
        if lacking := missing(variables, there):
            self._say(
                f"missing  : {', '.join(lacking)}; write NAME=value into that file, then: repartee service "
                f"start{self._flag}"
            )
        self._say("it starts when you log in; to start it without a login: loginctl enable-linger")
        self.status()

    def status(self) -> bool:
        """Prints whether it runs, since when, its address and its log. Returns whether it runs. Raises ServiceError."""
        self._check_available()
        if (content := self._content()) is None:
            self._say(f"not installed; to install it: repartee service install{self._flag}")
            return False
        state = self._state()
        since = f" since {state.since}" if state.since else ""
        process = f" (process {state.process})" if state.process else ""
        self._say(f"state    : {state.words}{since}{process}")
        if not self._flag:
            self._say(f"address  : {self._address(content)}")
        self._say(f"log      : repartee service log{self._flag}")
        if not state.running:
            self._say(f"to start it: repartee service start{self._flag}")
        return state.running

    def start(self) -> None:
        """Starts it, again if it runs. Raises ServiceError."""
        self._check_installed()
        self._run("stop", self._unit)
        self._run("start", self._unit)
        self.status()

    def stop(self) -> None:
        """Stops it until the next login. Raises ServiceError."""
        self._check_installed()
        self._run("stop", self._unit)
        self._say("stopped; it starts again at the next login")

    def remove(self) -> None:
        """Stops it and deletes its unit. The environment file stays, because it may hold keys. Raises ServiceError."""
        self._check_available()
        if self._content() is None:
            self._say("not installed; nothing to remove")
            return
        _output(_systemctl("disable", "--now", self._unit))  # fails if it is neither enabled nor running
        try:
            self.file.unlink(missing_ok=True)
        except OSError as error:
            raise ServiceError(f"{self.file} cannot be deleted ({error.strerror}); delete it yourself") from error
        self._run("daemon-reload")
        _output(_systemctl("reset-failed", self._unit))  # fails if it has not failed
        self._say(f"removed: {self.file}")
        if self._job.environment_file.exists():
            self._say(f"kept, because it may hold keys: {self._job.environment_file}")

    def log(self) -> None:
        """Prints the last lines of the output. Raises ServiceError."""
        command = ("journalctl", "--user", f"--unit={self._unit}", "--no-pager", f"--lines={LOG_LINES}")
        if (lines := _output(command)) is None:
            raise ServiceError(f"the log cannot be read; try: {shlex.join(command)}")
        self._say(lines.rstrip("\n"))

    def _starting_commands(self) -> Sequence[Sequence[str]]:
        return (("daemon-reload",), ("enable", self._unit), ("restart", self._unit))

    def _address(self, content: bytes) -> str:
        try:
            arguments = arguments_of(content)
            there = read_environment(self._job.environment_file)
            return address_of(settings_for(arguments, there))
        except (ConfigError, ServiceError, ValueError) as error:
            return f"unknown: {error}"

    def _state(self) -> ServiceState:
        return state_of(_output(_systemctl("show", self._unit, f"--property={','.join(STATE_PROPERTIES)}")))

    def _content(self) -> bytes | None:
        try:
            return self.file.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise ServiceError(f"{self.file} cannot be read ({error.strerror}); correct its mode") from error

    def _check_installed(self) -> None:
        self._check_available()
        if self._content() is None:
            raise ServiceError(f"not installed; to install it: repartee service install{self._flag}")

    def _check_available(self) -> None:
        if _output(_systemctl("show-environment")) is None:
            raise ServiceError(REMEDY)

    def _run(self, *words: str) -> None:
        command = _systemctl(*words)
        done = _done(command)
        if done is None or done.returncode:
            output = "" if done is None else (done.stderr or done.stdout).strip().splitlines()[-1:]
            reason = f" ({output[0]})" if output else ""
            raise ServiceError(f"systemd refused: {shlex.join(command)}{reason}")

    def _say(self, text: str) -> None:
        self._console.print(text, soft_wrap=True)


def _systemctl(*words: str) -> tuple[str, ...]:
    return ("systemctl", "--user", *words)


def _output(command: Sequence[str]) -> str | None:
    done = _done(command)
    return None if done is None or done.returncode else done.stdout


def _done(command: Sequence[str]) -> "subprocess.CompletedProcess[str] | None":
    """Runs a command. None: it does not exist, or it took too long."""
    try:
        return subprocess.run(  # noqa: S603 - systemd's own programs, without a shell
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=COMMAND_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
