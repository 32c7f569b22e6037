"""Reloads an engine after it has failed, while the conversation continues."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from assistant.support.notice import notice
from audio.errors import AudioError

RESTART_TIMEOUT_S = 300.0
"""Longest time that loading an engine again may take, in seconds: as long as its first loading."""


@dataclass(slots=True)
class EngineRecovery:
    """Reloads one engine. At most one reload runs at a time.

    Attributes:
        name: Name of the engine.
        load: Loads the engine, also repeatedly.
        report_problem: Receives problem descriptions, one sentence each.
        tasks: Owns the reload task; set before `restart`.
        works: Set while the engine works, as far as is known.
        failed: Whether the last reload failed.
    """

    name: str
    load: Callable[[], Awaitable[None]]
    report_problem: Callable[[str], None]
    tasks: asyncio.TaskGroup | None = None
    works: asyncio.Event = field(default_factory=asyncio.Event)
    failed: bool = False
    _loading: asyncio.Task[None] | None = None

    def __post_init__(self) -> None:
        self.works.set()

    def restart(self, then: Callable[[], None] | None = None) -> None:
        """Reloads the engine, unless a reload is already running. `then` is called after success."""
        if self.works.is_set() and self.tasks is not None:
            self.works.clear()
            self._loading = self.tasks.create_task(self._load(then), name=f"restart {self.name}")

    def close(self) -> None:
        """Cancels a reload, because the conversation is over."""
        if self._loading is not None:
            self._loading.cancel()

    async def _load(self, then: Callable[[], None] | None) -> None:
        try:
            async with asyncio.timeout(RESTART_TIMEOUT_S):
                await self.load()
            self.failed = False
            if then is not None:
                then()
        except Exception as error:  # noqa: BLE001 - see reason_of
            self.failed = True
            reason = reason_of(error) or f"no answer within {RESTART_TIMEOUT_S:g} s"
            self.report_problem(notice("restart_failed", name=self.name, reason=reason))
        finally:
            self.works.set()  # if it still fails, the next turn starts another reload


def reason_of(error: Exception) -> str:
    """Returns the text of an engine's error, or only its type if it is not an AudioError; "" for a timeout.

    Engines should raise AudioError only. The message of any other exception could contain words of the conversation.
    """
    if isinstance(error, AudioError):
        return str(error)
    return "" if isinstance(error, TimeoutError) else f"internal error ({type(error).__name__})"
