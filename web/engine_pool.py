"""The engines of a server: what all conversations share, and a recognizer that is ready before its client comes."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from assistant.pipeline.engines import Engines
from assistant.setup.engine_loader import EngineLoader, close_engine
from web.health import EngineState, State
from web.metrics import Metrics

MOST_READY = 2
"""Recognizers waiting for a conversation: one for who comes next, one more from who has just left. 100 MB each."""

STAGES = ("vad", "turn", "stt", "llm", "tts")


@dataclass(slots=True)
class EnginePool:
    """Loads what conversations share, and lends each one its engines. Implements `web.health.EngineHealth`.

    A recognizer of its own takes up to a second to start. One is kept ready for whoever comes next; who leaves gives
    theirs back, and only where there is none another is started, by the task of the conversation that took the last.
    """

    workshop: EngineLoader
    metrics: Metrics
    _ready: list[Engines] = field(default_factory=list)
    _open: bool = False
    _failed: bool = False
    _filling: bool = False

    async def load(self) -> None:
        """Load and warm; raises EngineLoadError."""
        try:
            await self.workshop.open()
            self._ready.append(await self.workshop.engines())
        except Exception:
            self._failed = True
            raise
        self._open = True

    def state(self) -> Sequence[EngineState]:
        """One for each stage, before, while and after loading."""
        chosen = {one.stage: one for one in self.workshop.chosen}
        states = []
        for stage in STAGES:
            one = chosen.get(stage)
            if one is None:
                states.append(EngineState(stage, "failed" if self._failed else "loading"))
            else:
                ready: State = "ready" if self._open else "loading"
                states.append(EngineState(stage, ready, one.name, one.detail, one.why, one.fallback))
        return states

    @asynccontextmanager
    async def engines(self) -> AsyncGenerator[Engines]:
        """The engines of one conversation. Raises EngineLoadError."""
        engines = await self._one_that_works()
        transcriber = engines.recognizer
        try:
            yield engines
        finally:
            if self._open and len(self._ready) < MOST_READY and transcriber.reset():
                self._ready.append(self.workshop.around(transcriber))
            else:
                await close_engine(transcriber, self._left_behind)

    async def _one_that_works(self) -> Engines:
        """A recognizer may have died since it was put by, as where memory ran out: nobody's first words go to it."""
        while self._ready:
            engines = self._ready.pop()
            if engines.recognizer.works:
                return engines
            self.metrics.trouble("engine")
            await close_engine(engines.recognizer, self._left_behind)
        return await self.workshop.engines()

    async def refill(self) -> None:
        """Have engines ready for the next conversation; does nothing where there are, or somebody is at it.

        Where they cannot be loaded there are none: whoever comes next tries again, and is told.
        """
        if self._ready or self._filling or not self._open:
            return
        self._filling = True
        try:
            engines = await self.workshop.engines()
        except Exception:  # noqa: BLE001 - whatever it is, it is not the conversation's whose task this is
            self.metrics.trouble("engine")
            return
        finally:
            self._filling = False
        if self._open:
            self._ready.append(engines)
        else:
            await close_engine(engines.recognizer, self._left_behind)

    async def aclose(self) -> None:
        """Stop everything, within a limit."""
        self._open = False
        ready, self._ready = self._ready, []
        async with asyncio.TaskGroup() as tasks:
            for engines in ready:
                tasks.create_task(close_engine(engines.recognizer, self._left_behind))
            tasks.create_task(self.workshop.aclose(self._left_behind))

    def _left_behind(self, _what: str) -> None:
        self.metrics.trouble("engine")
