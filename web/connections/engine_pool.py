"""Keeps the engines of a server: the shared ones of all conversations, and recognizers that are ready to use."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from assistant.pipeline.engines import Engines
from assistant.setup.conversation.chosen_engines import EngineChoices
from assistant.setup.engine_loader import EngineLoader
from assistant.setup.loading import close_engine
from web.observation.health import EngineState, State
from web.observation.metrics import Metrics

MAX_READY = 2
"""Sets of engines kept ready: one for the next conversation, one from a conversation that ended."""

STAGES = ("vad", "turn", "stt", "llm", "tts")


@dataclass(slots=True)
class EnginePool:
    """Loads the shared engines and lends each conversation its own recognizer.

    Implements `web.observation.health.EngineHealth`.

    Loading a recognizer that failed takes seconds, so one set of engines is kept ready for the next conversation. A
    conversation that ends returns its recognizer. Another set is made only if none is ready, by a task of the
    conversation that took the last one.

    Attributes:
        engine_loader: Loads the engines.
        metrics: Counts troubles.
        choices: Further engines that clients may choose.
    """

    engine_loader: EngineLoader
    metrics: Metrics
    choices: EngineChoices = field(init=False)
    _ready: list[Engines] = field(default_factory=list)
    _open: bool = False
    _failed: bool = False
    _filling: bool = False

    def __post_init__(self) -> None:
        self.choices = EngineChoices(self.engine_loader)

    async def load(self) -> None:
        """Loads and warms the engines. Raises EngineLoadError."""
        try:
            await self.engine_loader.open()
            self._ready.append(await self.engine_loader.engines())
            await self.choices.refresh()
        except Exception:
            self._failed = True
            raise
        self._open = True

    def state(self) -> Sequence[EngineState]:
        """Returns the state of each stage, before, during and after loading."""
        chosen = {choice.stage: choice for choice in self.engine_loader.chosen}
        states = []
        for stage in STAGES:
            choice = chosen.get(stage)
            if choice is None:
                states.append(EngineState(stage, "failed" if self._failed else "loading"))
            else:
                ready: State = "ready" if self._open else "loading"
                states.append(EngineState(stage, ready, choice.name, choice.detail, choice.why, choice.fallback))
        return states

    @asynccontextmanager
    async def engines(self) -> AsyncGenerator[Engines]:
        """Lends the engines of one conversation. Raises EngineLoadError."""
        engines = await self._working_engines()
        transcriber = engines.recognizer
        try:
            yield engines
        finally:
            kept = self._open and len(self._ready) < MAX_READY and self.engine_loader.is_current(transcriber)
            if kept and transcriber.reset():
                self._ready.append(self.engine_loader.around(transcriber))
            else:
                await close_engine(transcriber, self._on_stop_timeout)

    async def _working_engines(self) -> Engines:
        """Returns engines with a working recognizer.

        The model of one that was kept ready may have failed, for example without memory.
        """
        while self._ready:
            engines = self._ready.pop()
            works, current = engines.recognizer.works, self.engine_loader.is_current(engines.recognizer)
            if works and current:
                return engines
            if not works:
                self.metrics.trouble("engine")
            await close_engine(engines.recognizer, self._on_stop_timeout)
        return await self.engine_loader.engines()

    async def refill(self) -> None:
        """Prepares engines for the next conversation, unless some are ready or being prepared.

        It may get another model than those before.

        If loading fails, none are ready: the next conversation tries again and gets the error.
        """
        if self._filling or not self._open:
            return
        self._filling = True
        try:
            await self.engine_loader.follow_turns()
            if any(self.engine_loader.is_current(engines.recognizer) for engines in self._ready):
                return
            engines = await self.engine_loader.engines()
        except Exception:  # noqa: BLE001 - must not end the conversation whose task this is
            self.metrics.trouble("engine")
            return
        finally:
            self._filling = False
        if self._open:
            self._ready.append(engines)
        else:
            await close_engine(engines.recognizer, self._on_stop_timeout)

    async def aclose(self) -> None:
        """Stops all engines within a time limit."""
        self._open = False
        ready, self._ready = self._ready, []
        await self.choices.aclose()
        async with asyncio.TaskGroup() as tasks:
            for engines in ready:
                tasks.create_task(close_engine(engines.recognizer, self._on_stop_timeout))
            tasks.create_task(self.engine_loader.aclose(self._on_stop_timeout))

    def _on_stop_timeout(self, _what: str) -> None:
        self.metrics.trouble("engine")
