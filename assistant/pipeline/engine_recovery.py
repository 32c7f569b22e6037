"""An engine that is loaded again when it has failed, once at a time, while the conversation goes on."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from audio.errors import AudioError

RESTART_TIMEOUT_S = 30.0


@dataclass(slots=True)
class EngineRecovery:
    """One engine's recovery.

    Attributes:
        name: The engine.
        load: Loads it, also again.
        complain: Told what goes wrong, in one sentence.
        tasks: Owns the recovery; set before `restart`.
        works: Set while the engine works, as far as anybody knows.
        failed: It could not be loaded the last time.
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
        """Load it again, if that is not being done already; `then` is called once it is back."""
        if self.works.is_set() and self.tasks is not None:
            self.works.clear()
            self._loading = self.tasks.create_task(self._load(then), name=f"restart {self.name}")

    def close(self) -> None:
        """The conversation is over: what is being loaded is not waited for."""
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
            self.report_problem(f"{self.name} could not be restarted: {reason}")
        finally:
            self.works.set()  # if it is still dead, the next turn will find out and try again


def reason_of(error: Exception) -> str:
    """What a foreign error may say: an engine's own sentence, or only its kind, for it could hold words.

    Engines promise AudioError; where one breaks the promise the conversation goes on all the same. "" for a timeout.
    """
    if isinstance(error, AudioError):
        return str(error)
    return "" if isinstance(error, TimeoutError) else f"internal error ({type(error).__name__})"
