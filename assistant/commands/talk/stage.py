"""Displays of a conversation of `repartee talk`, as a screen or as lines, and running both together."""

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol

from assistant.commands.talk.keys import TalkControls
from assistant.commands.talk.resumed import Resumed
from assistant.events import SessionEvent, TurnFinished
from assistant.support.console import terminal
from assistant.trace.record import TurnRecord
from audio.noisy_libraries import hushed
from audio.portaudio.owner import library_in_use

if TYPE_CHECKING:
    from assistant.registry.engine_choice import EngineChoice

LEAVE_TIMEOUT_S = 1.5
"""Seconds for the conversation to end after the screen is closed. Then it is cancelled; its records are still
written."""


class Stage(Protocol):
    """Display of a conversation."""

    @property
    def records(self) -> list[TurnRecord]:
        """Records of the turns so far."""
        ...

    def show(self, event: SessionEvent) -> None:
        """Shows one event of the conversation."""
        ...

    def engines(self, chosen: "Sequence[EngineChoice]") -> None:
        """Shows the engines loaded so far."""
        ...

    def measuring(self, what: str) -> None:
        """Shows what is measured during the start."""
        ...

    def resumed(self, past: Resumed) -> None:
        """Shows the last words of the resumed conversation."""
        ...

    def ready(self) -> None:
        """Reports that everything is loaded."""
        ...

    def hushed(self) -> AbstractContextManager[object]:
        """Redirects all other output while the context is active; `run` only inside it."""
        ...

    async def run(self) -> None:
        """Runs until the user quits or `close` is called."""
        ...

    def close(self) -> None:
        """Ends the display, because the conversation is over."""
        ...

    async def aclose(self) -> None:
        """Prints the final lines."""
        ...


class _ScreenStage:
    """The Textual app."""

    def __init__(self, controls: TalkControls) -> None:
        from assistant.commands.talk.screen import TalkScreen  # noqa: PLC0415 - Textual takes a quarter of a second

        self.records: list[TurnRecord] = []
        self._chosen: Sequence[EngineChoice] = ()
        self._began = False
        self._app = TalkScreen(controls, clock=time_of_day)
        self._over = False

    def show(self, event: SessionEvent) -> None:
        if isinstance(event, TurnFinished):
            self._began = True
            self.records.append(event.record)
        self._app.show(event)

    def engines(self, chosen: "Sequence[EngineChoice]") -> None:
        self._chosen = tuple(chosen)
        self._app.engines(chosen)

    def measuring(self, what: str) -> None:
        self._app.measuring(what)

    def resumed(self, past: Resumed) -> None:
        self._app.resumed(past)

    def ready(self) -> None:
        self._began = True
        self._app.ready()

    @contextmanager
    def hushed(self) -> Generator[None]:
        # Textual draws on sys.__stderr__ as it is at the start: on the stream that still leads to the terminal.
        before = sys.__stderr__
        with hushed(library_in_use) as screen:
            setattr(sys, "__stderr__", screen)  # noqa: B010 - it is declared as final
            try:
                yield
            finally:
                setattr(sys, "__stderr__", before)  # noqa: B010

    async def run(self) -> None:
        if not self._over:
            await self._app.run_async()

    def close(self) -> None:
        self._over = True
        if self._app.is_running:
            self._app.exit()

    async def aclose(self) -> None:
        from assistant.commands.demo_screen import summary  # noqa: PLC0415 - only here

        if self._chosen and self._began:
            summary(terminal(), self.records, self._chosen, verbose=False)


def stage_of(controls: TalkControls, *, plain: bool) -> Stage:
    """Returns the screen, or lines if requested or if a screen cannot be drawn, which is reported."""
    from assistant.commands.talk.plain import TalkPlain, screen_problem  # noqa: PLC0415 - only here

    encoding = sys.stdout.encoding or ""
    terminal = sys.stdout.isatty() and sys.stderr.isatty()  # the screen is drawn on stderr, except on Windows
    why = screen_problem(os.environ, keys=sys.stdin.isatty(), terminal=terminal, encoding=encoding)
    if plain or why:
        return TalkPlain(controls, clock=time_of_day, note="" if plain else why)
    return _ScreenStage(controls)


async def perform(stage: Stage, controls: TalkControls, hold: Callable[[], Awaitable[None]]) -> None:
    """Shows a conversation while it runs. If one of both ends, the other ends, too. Raises what `hold` raises."""
    failures: list[Exception] = []

    async def holding() -> None:
        try:
            await hold()
        except Exception as error:  # noqa: BLE001 - raised again after the screen is closed
            failures.append(error)
        finally:
            stage.close()

    with _signals(stage.close), stage.hushed():
        async with asyncio.TaskGroup() as tasks:
            work = tasks.create_task(controls.run(), name="controls")
            talking = tasks.create_task(holding(), name="conversation")
            try:
                await stage.run()
            finally:
                controls.quit()
                if controls.talker is not None:  # otherwise it is still loading
                    await asyncio.wait({talking}, timeout=LEAVE_TIMEOUT_S)
                talking.cancel()
                work.cancel()
    await stage.aclose()
    if failures:
        raise failures[0]


@contextmanager
def _signals(end: Callable[[], None]) -> Generator[None]:
    """Lets a first signal end the conversation, and a second one the program.

    Signals that were ignored at the start (`nohup`, a shell's background job) stay ignored.
    """
    loop = asyncio.get_running_loop()
    before: dict[int, Any] = {}  # a handler or a constant for one

    def handle(number: int, _frame: FrameType | None) -> None:
        signal.signal(number, before[number])
        loop.call_soon_threadsafe(end)

    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK"):  # not every system has all of them
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            before[number] = signal.signal(number, handle)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def time_of_day() -> str:
    """Returns the local time for display."""
    return datetime.now(UTC).astimezone().strftime("%H:%M:%S")
