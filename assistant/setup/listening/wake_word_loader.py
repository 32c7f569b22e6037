"""Loads the detector of a sleeping conversation, and loads it once more if it fails.

    loading ──▶ listening ──error──▶ loading ──▶ listening ──error──▶ failed
       └──error──▶ failed

In each of these states the conversation sleeps: speech is not recognized because the detector is broken.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from assistant.pipeline.engine_recovery import reason_of
from assistant.pipeline.session import Session
from assistant.setup.listening.wake_words import wake_word_detector
from assistant.support.notice import notice
from audio.wake.listener import WakeWordListener

LOAD_TIMEOUT_S = 60.0
"""Time limit for loading a detector, in seconds. On an idle machine it takes 50 ms."""

MAX_RELOADS = 1
"""Limit on reloads of a detector that has failed: an error that comes back is one of the library."""


@dataclass(slots=True)
class WakeWordLoader:
    """Loads the detector of one listener in a thread.

    Attributes:
        session: The conversation that uses the listener.
        listener: The listener.
        names: The wake words.
        on_failed: Called when the detector will not be loaded again.
    """

    session: Session
    listener: WakeWordListener
    names: Sequence[str]
    on_failed: Callable[[], None] = lambda: None
    _reloads: int = 0

    def watch(self) -> None:
        """Loads the detector again if it fails."""
        self.listener.on_failure = self._detector_failed

    def start(self) -> None:
        """Loads the detector, as soon as the conversation runs. Problems are reported."""
        self.watch()
        tasks = self.session.side_tasks
        if not tasks.accepts_tasks:
            self._fail("too many tasks run beside the conversation.")
            return
        tasks.start_task(self._load, name=f"wake word {' '.join(self.names)}")

    async def _load(self) -> None:
        try:
            async with asyncio.timeout(LOAD_TIMEOUT_S):
                self.listener.detector = await asyncio.to_thread(wake_word_detector, self.names)
        except Exception as error:  # noqa: BLE001 - the user is told
            self._fail(_sentence(error))

    def _detector_failed(self, error: Exception) -> None:
        if self._reloads == MAX_RELOADS:
            self._fail(_sentence(error))
            return
        self._reloads += 1
        self.session.context.report_problem(notice("wake_word_reloads", reason=reason_of(error)))
        self.start()

    def _fail(self, reason: str) -> None:
        if self.session.wake_word is self.listener:  # the client has not changed it meanwhile
            self.on_failed()
            self.session.context.report_problem(notice("wake_word_failed", reason=reason))


def _sentence(error: Exception) -> str:
    reason = reason_of(error) or f"its detector was not loaded within {LOAD_TIMEOUT_S:g} s"
    return f"{reason.rstrip('.')}."
