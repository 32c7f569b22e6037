"""Shows the state of a satellite outside of the program: by a command, as for an LED, and in a file.

The last state wins: a command that is slow, or a disk, delays the display and never the conversation.
"""

import asyncio
import os
import shlex
import signal
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from assistant.config.errors import ConfigError
from assistant.events import Floor
from assistant.support.atomic_file import write_whole

COMMAND_TIMEOUT_S = 2.0
"""Longest time in s of one command; then it is killed."""

SECRET = "REPARTEE_TOKEN"  # noqa: S105 - its name: the command does not get it

ShownState = Literal["asleep", "listening", "hearing", "thinking", "speaking", "muted", "disconnected"]

_SPECIAL = "satellite.state_file {file}: it is not an ordinary file; name another one, as in /run/repartee/state"

_SHOWN: dict[Floor, ShownState] = {"starting": "disconnected", "closed": "muted", "typing": "muted"}


def shown_state(floor: Floor) -> ShownState:
    """Returns the state that is shown for a state of the conversation."""
    return _SHOWN.get(floor, floor)  # type: ignore[arg-type]  # the other states have the same names


@dataclass(slots=True)
class StateDisplay:
    """The display of one satellite. Not thread-safe.

    Attributes:
        command: The program and its arguments, to which the state is added; empty: none.
        file: File that contains the state; None: none.
        report: Called once with a sentence for each kind of failure.
    """

    command: Sequence[str]
    file: Path | None
    report: Callable[[str], None]
    _state: str = ""
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _reported: set[str] = field(default_factory=set)

    def show(self, state: ShownState) -> bool:
        """Shows a state soon; returns whether it is another one than before."""
        if state == self._state:
            return False
        self._state = state
        self._changed.set()
        return True

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Shows the latest state while the block runs, and at its end "disconnected", however it ends."""
        async with asyncio.TaskGroup() as tasks:
            showing = tasks.create_task(self._follow(), name="state")
            try:
                yield
            finally:
                showing.cancel()
                await asyncio.wait({showing})
                self._state = "disconnected"
                await self._show_latest()

    async def _follow(self) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            await self._show_latest()

    async def _show_latest(self) -> None:
        state = self._state
        if self.file is not None:
            await self._write(self.file, state)
        if self.command and state == self._state:
            await self._run_command(state)

    async def _write(self, file: Path, state: str) -> None:
        if _is_special(file):
            self._fail(_SPECIAL.format(file=file))
            return
        try:  # not durable: after a power cut the satellite writes it anew
            await asyncio.to_thread(write_whole, file, f"{state}\n".encode(), durable=False)
        except OSError as error:
            self._fail(f"satellite.state_file {file}: it cannot be written ({error.strerror})")

    async def _run_command(self, state: str) -> None:
        environ = {name: value for name, value in os.environ.items() if name != SECRET}
        try:
            process = await asyncio.create_subprocess_exec(
                *self.command,
                state,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
                env=environ,
                start_new_session=True,
            )
        except OSError as error:
            self._fail(f"satellite.state_command {self.command[0]}: it cannot be started ({error.strerror})")
            return
        try:
            async with asyncio.timeout(COMMAND_TIMEOUT_S):
                status = await process.wait()
        except TimeoutError:
            self._fail(f"satellite.state_command {self.command[0]}: it took more than {COMMAND_TIMEOUT_S:g} s")
            return
        finally:
            if process.returncode is None:  # with what it has started
                with suppress(ProcessLookupError):
                    _kill(process)
                await asyncio.shield(process.wait())
        if status:
            self._fail(f"satellite.state_command {self.command[0]}: it ended with status {status}")

    def _fail(self, what: str) -> None:
        if what not in self._reported:
            self._reported.add(what)
            self.report(what)


def _is_special(file: Path) -> bool:
    """Returns whether it is a pipe, a device or a folder: writing to a pipe would wait for a reader."""
    return file.exists() and not file.is_file()


def _kill(process: asyncio.subprocess.Process) -> None:
    if hasattr(os, "killpg"):
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()


def state_display(command: str, file: str, report: Callable[[str], None]) -> StateDisplay | None:
    """Returns the display that the settings describe; None for none. Raises ConfigError."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ConfigError([f"satellite.state_command: it cannot be read ({error}); correct its quotes"]) from error
    if not words and not file:
        return None
    path = Path(file).expanduser() if file else None
    if path is not None and _is_special(path):
        raise ConfigError([_SPECIAL.format(file=path)])
    return StateDisplay(words, path, report)
