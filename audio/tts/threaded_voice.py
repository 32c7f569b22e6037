"""The part of a voice that is the same for all engines with a thread: its state, and one loading for all callers."""

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

from audio.queue_wait import QueueWait
from audio.threads.engine_thread import EngineThread
from audio.threads.shared_loading import SharedLoading

W = TypeVar("W", bound=EngineThread[Any])


class ThreadedVoice(ABC, Generic[W]):
    """Implements a part of `Voice` for an engine that one thread calls, for any number of conversations."""

    def __init__(self, title: str) -> None:
        """Creates the voice without loading it. `title`: the engine's name on the screen."""
        self._thread: W | None = None
        self._detail = "not loaded"
        self._loading = SharedLoading(f"the {title} voice", self._ensure_working)

    @property
    def detail(self) -> str:
        """See `Voice`."""
        return self._detail

    @property
    def ends_requests(self) -> bool:
        """See `SelfWatching`."""
        return True

    @property
    def queue_wait(self) -> QueueWait:
        """See `QueuedEngine`."""
        return QueueWait() if self._thread is None else self._thread.queue_wait

    async def load(self) -> None:
        """Loads the engine if it is not loaded, hangs or has failed, and synthesizes a text to set the loudness.

        espeak-ng does the second at each call. Concurrent callers share the loading; it continues if one of them is
        cancelled. Raises EngineLoadError.
        """
        await self._loading.wait()

    @abstractmethod
    async def _ensure_working(self) -> None:
        """Loads the engine if it is not loaded or has failed. Raises EngineLoadError."""
