"""Installs, queries, starts, stops and removes the service."""

import getpass
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from assistant.commands.service.environment_file import create_environment, missing, read_environment
from assistant.commands.service.launchd import launchd_plan, log_folder
from assistant.commands.service.plan import ServiceError, ServiceJob, ServicePlan, ServiceState, Step
from assistant.commands.service.systemd import systemd_plan
from assistant.commands.service.windows_task import windows_plan
from assistant.config.errors import ConfigError
from assistant.config.files import VARIABLE
from assistant.config.loading import load_settings
from assistant.config.settings import Settings
from assistant.config.sources import Option
from assistant.support.atomic_file import write_whole
from assistant.support.paths import at_home, config_folder, data_folder
from audio.private_file import make_private_folder

COMMAND_TIMEOUT_S = 60.0
"""Longest time in s of one command of the service manager. Stopping waits for turns in progress."""

RETRY_S = 1.0
LOG_LINES = 50
TOKEN = "REPARTEE_TOKEN"  # noqa: S105 - its name

FOLDER_VARIABLES = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "HF_HOME", "HF_HUB_CACHE")
"""Environment variables that a service gets from the shell that installs it: without them it would not find the user's
configuration and models."""


@dataclass(frozen=True, slots=True)
class Wish:
    """Options of `repartee service`.

    Attributes:
        talk: `repartee talk` instead of `repartee serve`.
        options: Options of that command, each as `--name=value`.
    """

    talk: bool = False
    options: tuple[str, ...] = ()


def job_of(wish: Wish, environ: Mapping[str, str]) -> ServiceJob:
    """Returns what the service manager is to run. Raises HomeError."""
    name = "repartee-talk" if wish.talk else "repartee"
    arguments = ("talk", "--plain") if wish.talk else ("serve",)
    options = wish.options
    if (named := environ.get(VARIABLE)) and not any(option.startswith("--config=") for option in options):
        options = (f"--config={absolute(named)}", *options)
    folder = data_folder(environ).absolute()
    logs = Path(log_folder(Path.home())) if sys.platform == "darwin" else folder
    return ServiceJob(
        name,
        program(),
        (*arguments, *options),
        folder,
        (config_folder() / "service.env").absolute(),
        logs / f"{name}.log",
        {name: environ[name] for name in FOLDER_VARIABLES if environ.get(name)},
    )


def program() -> Path:
    """Returns the installed `repartee`: beside this Python, else the one that runs. It need not be on the PATH."""
    name = "repartee.exe" if os.name == "nt" else "repartee"
    beside = Path(sys.executable).with_name(name)
    return beside if beside.exists() else Path(shutil.which(sys.argv[0]) or sys.argv[0]).absolute()


def absolute(path: str | Path) -> Path:
    """Returns the path as it is valid in every folder. Raises HomeError."""
    return at_home(str(path)).absolute()


def plan_of(job: ServiceJob, environ: Mapping[str, str]) -> ServicePlan:
    """Returns the plan of this machine's service manager. Raises ServiceError."""
    if sys.platform == "darwin":
        return launchd_plan(job, Path.home(), os.getuid())
    if sys.platform == "win32":
        domain = environ.get("USERDOMAIN", "")
        return windows_plan(job, job.folder, f"{domain}\\{getpass.getuser()}" if domain else getpass.getuser())
    return systemd_plan(job, at_home(environ.get("XDG_CONFIG_HOME") or "~/.config"))


def settings_for(arguments: Sequence[str], variables: Mapping[str, str]) -> Settings:
    """Loads the settings as the service will. Raises ConfigError.

    Args:
        arguments: The program's arguments, with options as `--name=value`.
        variables: The variables of the environment file.
    """
    given = [word.removeprefix("--").partition("=") for word in arguments if word.startswith("--")]
    config = next((Path(value) for name, _, value in given if name == "config"), None)
    options = [Option(f"--{name}", f"server.{name}", value) for name, _, value in given if name in {"host", "port"}]
    overrides = [value for name, _, value in given if name == "set"]
    return load_settings(config, variables, overrides, options).settings


def address_of(settings: Settings) -> str:
    """Returns the address of the server's page on this machine."""
    host = {"0.0.0.0": "localhost", "::": "localhost"}.get(settings.server.host, settings.server.host)  # noqa: S104
    secure = settings.server.tls_self_signed or settings.server.tls_cert
    return f"http{'s' if secure else ''}://{f'[{host}]' if ':' in host else host}:{settings.server.port}"


def wanted_variables(settings: Settings) -> list[str]:
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
        """Describes the service for this machine's service manager. Raises HomeError, ServiceError."""
        self._job = job_of(wish, environ)
        self._plan = plan_of(self._job, environ)
        self._flag = " --talk" if wish.talk else ""
        self._console = console

    @property
    def file(self) -> Path:
        """File that describes the service; it exists if the service is installed."""
        return Path(self._plan.file)

    def show_plan(self) -> None:
        """Prints the file and the commands of `install`, and changes nothing."""
        encoding = "utf-16" if self._plan.content[:2] in {b"\xff\xfe", b"\xfe\xff"} else "utf-8"
        self._say(f"# {self._plan.file}\n{self._plan.content.decode(encoding)}")
        for step in self._plan.install:
            self._say(f"$ {subprocess.list2cmdline(step.argv)}")

    def install(self) -> None:
        """Writes the file, and starts the service now and at each login. Raises ConfigError, ServiceError."""
        job, plan = self._job, self._plan
        there = read_environment(job.environment_file_path)
        settings = settings_for(job.arguments, there)
        wanted = wanted_variables(settings)
        self._check_available()
        created = create_environment(job.environment_file_path, wanted)
        try:
            for folder in (Path(job.folder), Path(job.log).parent, Path(plan.file).parent):
                make_private_folder(folder)
            write_whole(Path(plan.file), plan.content, private=True)  # a setting may be an address with a password
        except OSError as error:
            raise ServiceError(f"{plan.file} cannot be written ({error.strerror}); correct its folder") from error
        self.run_steps(plan.install)
        self._say(f"installed: {plan.file}")
        self._say(f"keys     : {job.environment_file}{' (new, only you can read it)' if created else ''}")
        if lacking := missing(wanted, there):
            self._say(
                f"missing  : {', '.join(lacking)}; write NAME=value into that file, then: repartee service "
                f"start{self._flag}"
            )
        self._say(f"it starts when you log in{f'; {plan.at_boot}' if plan.at_boot else ''}")
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
        self.run_steps(self._plan.stop)
        self.run_steps(self._plan.start)
        self.status()

    def stop(self) -> None:
        """Stops it until the next login. Raises ServiceError."""
        self._check_installed()
        self.run_steps(self._plan.stop)
        self._say("stopped; it starts again at the next login")

    def remove(self) -> None:
        """Stops it and deletes its file. The environment file stays, because it may hold keys. Raises ServiceError."""
        self._check_available()
        if self._content() is None:
            self._say("not installed; nothing to remove")
            return
        self.run_steps(self._plan.remove)
        try:
            Path(self._plan.file).unlink(missing_ok=True)
        except OSError as error:
            raise ServiceError(f"{self._plan.file} cannot be deleted ({error.strerror}); delete it yourself") from error
        self.run_steps(self._plan.removed)
        self._say(f"removed: {self._plan.file}")
        if self._job.environment_file_path.exists():
            self._say(f"kept, because it may hold keys: {self._job.environment_file}")

    def log(self) -> None:
        """Prints the last lines of the output. Raises ServiceError."""
        if not self._plan.log:
            self._say(last_lines(Path(self._job.log)))
            return
        if (shown := self._output(Step(self._plan.log))) is None:
            raise ServiceError(f"the log cannot be read; try: {subprocess.list2cmdline(self._plan.log)}")
        self._say(shown.rstrip("\n"))

    def _address(self, content: bytes) -> str:
        try:
            arguments = self._plan.arguments_of(content)
            there = read_environment(self._job.environment_file_path)
            return address_of(settings_for(arguments, there))
        except (ConfigError, ServiceError, ValueError) as error:
            return f"unknown: {error}"

    def _state(self) -> ServiceState:
        return self._plan.state_of(self._output(self._plan.query))

    def _content(self) -> bytes | None:
        try:
            return Path(self._plan.file).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise ServiceError(f"{self._plan.file} cannot be read ({error.strerror}); correct its mode") from error

    def _check_installed(self) -> None:
        self._check_available()
        if self._content() is None:
            raise ServiceError(f"not installed; to install it: repartee service install{self._flag}")

    def _check_available(self) -> None:
        if self._output(self._plan.available) is None:
            raise ServiceError(self._plan.remedy)

    def run_steps(self, steps: Sequence[Step]) -> None:
        """Runs commands of the service manager. Raises ServiceError at the first that fails and may not."""
        for step in steps:
            done = _done(step)
            for _ in range(step.tries - 1):
                if done is None or done.returncode == 0:
                    break
                time.sleep(RETRY_S)
                done = _done(step)
            if not step.may_fail and (done is None or done.returncode):
                said = "" if done is None else (done.stderr or done.stdout).strip().splitlines()[-1:]
                why = f" ({said[0]})" if said else ""
                raise ServiceError(f"{self._plan.system} refused: {subprocess.list2cmdline(step.argv)}{why}")

    def _output(self, step: Step) -> str | None:
        done = _done(step)
        return None if done is None or done.returncode else done.stdout

    def _say(self, text: str) -> None:
        self._console.print(text, soft_wrap=True)


def _done(step: Step) -> "subprocess.CompletedProcess[str] | None":
    """Runs a command. None: it does not exist, or it took too long."""
    try:
        return subprocess.run(  # noqa: S603 - the service manager's own programs, without a shell
            step.argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=COMMAND_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None


def last_lines(file: Path) -> str:
    """Returns the last lines of a log. Raises ServiceError."""
    try:
        with file.open("rb") as opened:
            opened.seek(max(0, opened.seek(0, os.SEEK_END) - 100 * LOG_LINES))
            return "\n".join(opened.read().decode(errors="replace").splitlines()[-LOG_LINES:])
    except FileNotFoundError as error:
        raise ServiceError(f"there is no log yet: {file}") from error
    except OSError as error:
        raise ServiceError(f"{file} cannot be read ({error.strerror}); correct its mode") from error
