"""Lets a cheap voice speak while the neural one is too slow or has failed, so that no reply is silent."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import Protocol, runtime_checkable

from audio.degradation import Degradation
from audio.engine_lateness import EngineLateness
from audio.errors import EngineLoadError, TtsError
from audio.queue_wait import QueuedEngine, QueueWait
from audio.time_limit import ends_requests
from audio.tts import Chunk, Voice

log = logging.getLogger(__name__)


@runtime_checkable
class Relieved(Protocol):
    """A voice in whose place another one may speak.

    Attributes:
        relief: Why the other one spoke the last text, as a clause; "" if it did not.
    """

    @property
    def relief(self) -> str: ...


def relief_of(voice: object) -> str:
    """Returns why another voice spoke the last text, as a clause; "" if none did."""
    return voice.relief if isinstance(voice, Relieved) else ""


class ReliefVoice:
    """A voice with a cheap one beside it. Not thread-safe: call it on the event loop.

    The cheap one speaks from the level `CHEAP_VOICE` on, and texts of which the first one makes no sound because it
    failed. The failed voice is loaded again meanwhile.
    """

    def __init__(self, voice: Voice, cheap: Voice, lateness: EngineLateness) -> None:
        """Creates it. `cheap`: already loaded, and fast on every machine."""
        self.name = voice.name
        self.relief = ""
        self._voice = voice
        self._cheap = cheap
        self._lateness = lateness
        self._reload: asyncio.Task[None] | None = None

    @property
    def detail(self) -> str:
        """One line for the screen."""
        return self._voice.detail

    @property
    def ends_requests(self) -> bool:
        """See `SelfWatching`."""
        return ends_requests(self._voice)

    @property
    def queue_wait(self) -> QueueWait:
        """See `QueuedEngine`; empty if the voice has no queue."""
        return self._voice.queue_wait if isinstance(self._voice, QueuedEngine) else QueueWait()

    async def load(self) -> None:
        """Loads the voice. Raises EngineLoadError."""
        await self._voice.load()

    async def speak(self, text: str, speed: float = 1.0, ahead_s: float = 0.0) -> AsyncGenerator[Chunk]:
        """Yields the audio of a text; see `Voice.speak`. Raises TtsError if the cheap voice fails, too."""
        if self._lateness.level >= Degradation.CHEAP_VOICE:
            self._set_relief(self._lateness.cause)
            self._lateness.record_wait(0.0)  # the neural voice is tried again after a calm time
        elif self._reload is None:
            begun = False
            try:
                async with aclosing(self._voice.speak(text, speed, ahead_s)) as chunks:
                    async for chunk in chunks:
                        if not begun:
                            begun = True
                            self._set_relief("")
                        yield chunk
            except TtsError as failure:
                self._begin_reload()
                if begun:
                    raise
                self._set_relief(str(failure))
            else:
                return
        async with aclosing(self._cheap.speak(text, speed, ahead_s)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def aclose(self) -> None:
        """Closes both voices. Idempotent."""
        if self._reload is not None:
            self._reload.cancel()
            await asyncio.wait([self._reload])
        await self._voice.aclose()
        await self._cheap.aclose()

    def _set_relief(self, why: str) -> None:
        if why and not self.relief:
            log.warning("tts: %s speaks instead of %s, because %s", self._cheap.name, self.name, why)
        self.relief = why

    def _begin_reload(self) -> None:
        if self._reload is None:
            self._reload = asyncio.get_running_loop().create_task(self._load_again(), name=f"reload {self.name}")
            self._reload.add_done_callback(self._reloaded)

    async def _load_again(self) -> None:
        with suppress(EngineLoadError):  # the next text tries again
            await self._voice.load()

    def _reloaded(self, _task: "asyncio.Task[None]") -> None:
        self._reload = None
