"""Applies what a client chooses among the server's engines to its running conversation.

What is chosen is loaded in the background, and used from the next moment in which no reply is made or played. Replies
that are requested meanwhile wait for it, so that a choice is in force for the next reply.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field, fields, replace

from assistant.pipeline.session import Session
from assistant.setup.conversation.chosen_engines import ChosenEngines, EngineChoices, EngineWish
from assistant.setup.conversation.switched_engines import SwitchedEngines
from assistant.setup.derived_settings import session_settings
from audio.errors import EngineLoadError
from web.wire.incoming.choice_fields import ENDPOINT, LANGUAGE, VOICE
from web.wire.realtime import Realtime
from web.wire.values.errors import ProtocolError
from web.wire.values.session_config import AudioFormat, SessionConfig

IDLE_STEP_S = 0.05
IDLE_WITHIN_S = 60.0
"""Longest wait for a moment without a reply; then the engines change between two chunks of a reply."""


@dataclass(slots=True)
class SessionChoices:
    """The choices of one client.

    Attributes:
        choices: Loads the engines.
        engines: The engines of the conversation.
    """

    choices: EngineChoices
    engines: SwitchedEngines
    _wish: EngineWish = field(default_factory=EngineWish)  # what was asked for last
    _used: EngineWish = field(default_factory=EngineWish)  # what is in use
    _chosen: ChosenEngines | None = None
    _session: Session = field(init=False)
    _realtime: Realtime = field(init=False)
    _tell: Callable[[], None] = lambda: None  # sends the messages of `_realtime`
    _tasks: asyncio.TaskGroup | None = None
    _task: asyncio.Task[None] | None = None
    _releases: list[asyncio.Task[None]] = field(default_factory=list)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Loads engines inside, and releases them at the end."""
        try:
            async with asyncio.TaskGroup() as self._tasks:
                self._begin()
                yield
                for task in (self._task, *self._releases):
                    if task is not None:
                        task.cancel()
        finally:
            self._tasks = None
            if self._chosen is not None:
                await self.choices.release(self._chosen)

    def apply(self, config: SessionConfig, session: Session, realtime: Realtime, tell: Callable[[], None]) -> None:
        """Applies a client's settings. Words are recorded, or not, from the next turn record on.

        Args:
            config: The settings.
            session: The conversation.
            realtime: Gets the error if a choice cannot be used.
            tell: Sends the error.
        """
        self._session, self._realtime, self._tell = session, realtime, tell
        kept = self.choices.loader.settings.trace.words
        session.recorder.keep_words = kept if config.words is None else config.words
        telephone = config.input_format is not AudioFormat.PCM
        self._wish = EngineWish(config.language, config.chosen_voice, config.endpoint, telephone)
        self._begin()

    def _begin(self) -> None:
        if self._tasks is None or self._task is not None or self._wish == self._used:
            return
        if names := self._changed_names():  # no reply waits for the recognizer of another line
            self.engines.gate.close()
            self._realtime.choices_pending(names)
        self._task = self._tasks.create_task(self._change(), name="chosen engines")

    async def _change(self) -> None:
        try:
            while self._wish != self._used:
                wish = self._wish
                try:
                    chosen = await self.choices.engines(self.engines.first, wish)
                except EngineLoadError as error:
                    self._failed(wish, error)
                    continue
                before, self._chosen = self._chosen, chosen
                try:
                    await self._wait_until(self._has_no_reply)
                    self._use(wish, chosen)
                finally:
                    if before is not None and self._tasks is not None:
                        self._releases = [release for release in self._releases if not release.done()]
                        self._releases.append(self._tasks.create_task(self._release(before), name="former engines"))
        finally:
            self._task = None
            self._settled()

    async def _release(self, chosen: ChosenEngines) -> None:
        """Gives engines back that are no longer chosen, once nobody speaks: their recognizer may still be in use."""
        try:
            await self._wait_until(lambda: self._session.idle)
        finally:
            await self.choices.release(chosen)

    def _settled(self) -> None:
        """Lets replies begin: what was chosen is in force, or cannot be used."""
        if not self.engines.gate.is_open:
            self.engines.gate.open()
            self._realtime.choices_pending(())
            self._tell()

    def _changed_names(self) -> tuple[str, ...]:
        """Returns the client's own choices that are to change."""
        names = [choice.name for choice in fields(EngineWish) if choice.name != "telephone"]
        return tuple(name for name in names if getattr(self._wish, name) != getattr(self._used, name))

    def _has_no_reply(self) -> bool:
        """Whether no reply is in progress, except replies that wait for the change."""
        return len(self._session.active_replies) <= self.engines.gate.waiting

    def _failed(self, wish: EngineWish, error: EngineLoadError) -> None:
        """Keeps the engines in use, and reports the error to the client."""
        used, param = self._used, VOICE
        if wish.language != used.language:
            param = LANGUAGE
        elif wish.endpoint != used.endpoint:
            param = ENDPOINT
        if self._wish == wish:
            self._wish = used
        message = f"session.update: {param} cannot be used: {error}"
        voice = used.voice or self.engines.current.voice.name
        in_use = {"voice": voice, "language": used.language, "chosen_voice": used.voice, "endpoint": used.endpoint}
        self._realtime.choice_failed(ProtocolError("not_supported", message, param), in_use)
        self._tell()

    async def _wait_until(self, condition: Callable[[], bool]) -> None:
        loop = asyncio.get_running_loop()
        until_s = loop.time() + IDLE_WITHIN_S
        while not condition() and loop.time() < until_s:  # noqa: ASYNC110 - turns have no common event
            await asyncio.sleep(IDLE_STEP_S)

    def _use(self, wish: EngineWish, chosen: ChosenEngines) -> None:
        session, engines = self._session, chosen.engines
        self._used, self.engines.current = wish, engines
        session.engines.skill_effects.language = chosen.settings.assistant.language
        session.engines.skill_effects.effect_of = chosen.effect_of or self.engines.first_effect_of
        before = session.context.settings
        settings = replace(session_settings(chosen.settings), greeting=before.greeting, in_call=before.in_call)
        session.context.settings = settings
        session.context.languages.reset()
        names = {"stt": engines.recognizer.name, "llm": engines.model.name, "tts": engines.voice.name}
        why = {"stt_model": chosen.why_model} if chosen.why_model else {}
        others = {stage: name for stage, name in session.recorder.engines.items() if stage != "stt_model"}
        session.recorder.engines = {**others, **names, **why}


def choosing(choices: SessionChoices | None) -> AbstractAsyncContextManager[None]:
    """Returns `SessionChoices.running`, or nothing for a client that cannot choose."""
    return nullcontext() if choices is None else choices.running()
