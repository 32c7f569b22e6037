"""Implements `repartee talk`: a conversation through this machine's microphone and loudspeaker."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Protocol

from rich.console import Console

from assistant.commands.talk.card_profile import follow_card_latency
from assistant.commands.talk.cards import Cards, chime, open_cards
from assistant.commands.talk.keys import TalkControls
from assistant.commands.talk.resumed import resumed
from assistant.commands.talk.stage import Stage, perform, stage_of
from assistant.config.errors import ConfigError
from assistant.config.loading import Loaded
from assistant.config.settings import Settings
from assistant.end_of_turn.priors import PauseCounts
from assistant.endpoint_probe.local_servers import AUTO, choose
from assistant.events import Floor, Problem, SessionEvent
from assistant.pipeline.engines import Engines
from assistant.pipeline.session import Session
from assistant.registry.engine_choice import EngineChoice
from assistant.setup import build
from assistant.setup.answering.user_files import list_keeper, timer_keeper
from assistant.setup.answering.user_memory import UserMemory, user_memory
from assistant.setup.conversation import new_session
from assistant.setup.engine_loader import EngineLoader
from assistant.setup.listening.spoken_wake_words import spoken_wake_words
from assistant.setup.loading import close_engine
from assistant.storage.conversation_database import ConversationFileError
from assistant.storage.conversation_file import TERMINAL, ConversationFile
from assistant.storage.conversation_import import import_files
from assistant.storage.conversation_store import (
    ConversationStore,
    ResumeError,
    conversations_path,
    kept_pauses,
    unwritable,
)
from assistant.storage.list_keeper import ListKeeper
from assistant.storage.timer_keeper import TimerKeeper
from assistant.trace.file import TraceFile
from assistant.trace.folder import RetentionLimits
from assistant.turns.state.states import Phase as TurnFloor
from audio.errors import EngineLoadError
from audio.units import ms_of_reply_samples
from llm.discovery import PORTS, discover

NO_LISTENING_SOUNDS = (
    "turn.listening_sounds has no effect: with audio.echo = half-duplex the microphone would be off meanwhile; "
    "use cancel or headphones"
)

READY_TIMEOUT_S = 8.0
TICK_S = 0.02


@dataclass(slots=True)
class LocalTalker:
    """Connects the keys to a session of this process. Implements `Talker`."""

    session: Session
    cards: Cards
    endpoint: str

    @property
    def floor(self) -> Floor:
        """See `Talker`."""
        match self.session.turns.phase:
            case TurnFloor.USER_SPEAKING | TurnFloor.AWAITING_TRANSCRIPT if not self.session.hears_assistant_addressed:
                return "asleep"  # somebody speaks to somebody else
            case TurnFloor.USER_SPEAKING:
                return "hearing"
            case TurnFloor.AWAITING_TRANSCRIPT:
                return "thinking"
            case TurnFloor.REPLYING:
                return "thinking" if self.played_ms in {None, 0.0} else "speaking"
        return "listening" if self.session.wake_window_open else "asleep"

    @property
    def played_ms(self) -> float | None:
        """See `Talker`."""
        replying, counts = self.session.turns.replying, self.cards.speaker.counts
        if replying is None or counts.sound_id != replying:
            return None
        return max(0.0, ms_of_reply_samples(counts.pulled) - self.cards.speaker.latency_s * 1000)

    @property
    def key_held(self) -> bool:
        """See `Talker`."""
        return self.session.push_to_talk is not None and self.session.push_to_talk.held

    @property
    def needs_sound(self) -> bool:
        """See `Talker`."""
        key = self.session.push_to_talk
        return key is None or key.held or key.awaits_frames

    def interrupt(self) -> None:
        """See `Talker`."""
        self.session.cancel_reply(including_request=True)

    def repeat(self) -> bool:
        """See `Talker`."""
        return self.session.repeat()

    def type(self, text: str) -> None:
        """See `Talker`."""
        self.session.type(text)

    def forget(self) -> None:
        """See `Talker`."""
        self.session.clear_input()

    def set_push_to_talk(self, pressed: bool) -> None:
        """See `Talker`."""
        self.session.set_push_to_talk(pressed)

    def counts(self) -> dict[str, int]:
        """See `Talker`."""
        return {}

    def leave(self) -> None:
        """See `Talker`. Ends the microphone's stream, which ends the session."""
        self.session.announce_end()


class Opening(Protocol):
    """The beginning of a conversation."""

    def around(self, engines: Engines, loader: EngineLoader) -> Engines:
        """Returns the engines to use. Raises EngineLoadError if one that it needs is missing."""
        ...

    def begin(self, session: Session) -> None:
        """Begins. Called once, when everything is ready."""
        ...

    def show(self, event: SessionEvent) -> None:
        """Receives every event of the conversation."""
        ...


async def talk(
    loaded: Loaded,
    environ: Mapping[str, str],
    console: Console,
    *,
    plain: bool = False,
    llm: str | None = None,
    resume: str | None = None,
    ports: Sequence[int] = PORTS,
) -> None:
    """Holds a conversation until the user quits.

    Args:
        loaded: The settings.
        environ: Environment variables with the API keys.
        console: Receives the text after the screen is closed.
        plain: Whether to print lines.
        llm: Selects the language model, as for `choose`.
        resume: Name of the conversation to resume; "" for the latest, None for a new one.
        ports: Local ports to search for a language model.

    Raises:
        AudioError: There is no sound card, or an engine cannot be loaded.
        ConfigError: There is no endpoint called `llm`, or no conversation to resume.
    """
    choice = choose(loaded.settings, llm, await discover(ports) if llm == AUTO else (), ports)
    await converse(choice.settings, environ, console, plain=plain, resume=resume)


async def converse(
    settings: Settings,
    environ: Mapping[str, str],
    console: Console,
    *,
    plain: bool,
    resume: str | None = None,
    opening: Opening | None = None,
) -> None:
    """Holds a conversation with these settings; see `talk`. `opening`: how it begins; None: the user begins."""
    controls = TalkControls(settings.talk.mode, _wake_words(settings))
    stage = stage_of(controls, plain=plain)
    controls.on_event = stage.show
    local = _LocalConversation(settings, environ, stage, controls, resume, opening)
    try:
        await perform(stage, controls, local.hold)
    finally:
        for line in local.output_paths():
            console.print(line, soft_wrap=True, markup=False)


def _wake_words(settings: Settings) -> str:
    """Returns what wakes the assistant, as it is shown; "" if it always listens. Raises ConfigError."""
    talk = settings.talk
    if not talk.wake_word:
        return talk.wake_phrase if talk.mode == "wake" else ""
    if talk.mode != "open":
        raise ConfigError([f"talk.wake_word: needs talk.mode = open, not {talk.mode}; choose one of both"])
    try:
        phrases = spoken_wake_words(talk.wake_word.split())
    except EngineLoadError as error:
        raise ConfigError([f"talk.wake_word: {error}"]) from error
    return " or ".join(phrase.text for phrase in phrases.values())


@dataclass(slots=True)
class _LocalConversation:
    """One conversation, from loading to the last record."""

    settings: Settings
    environ: Mapping[str, str]
    stage: Stage
    controls: TalkControls
    resume: str | None
    opening: Opening | None = None
    trace: TraceFile | None = None
    memory: ConversationStore | None = None
    pauses: PauseCounts = field(default_factory=PauseCounts)  # of earlier conversations
    timers: TimerKeeper | None = None
    lists: ListKeeper | None = None
    facts: UserMemory | None = None  # what is remembered across conversations

    async def hold(self) -> None:
        """Loads the engines, runs the conversation and closes everything. Ends when the controls say so."""
        loader = EngineLoader(self.settings, self.environ, talks=True, show_measuring=self.stage.measuring)
        loader.export = build.span_export(self.settings, self._trouble)
        self.timers = timer_keeper(self.settings, self.environ, self._trouble)
        if self.timers is not None:
            loader.make_timers, loader.homes = self.timers.timers.join, self.timers.timers.homes
        self.lists = list_keeper(self.settings, self.environ, self._trouble)
        if self.lists is not None:
            loader.make_lists = self.lists.shared
        loader.memory = self.facts = user_memory(
            self.settings, self.environ, lambda: loader.language_model, self._trouble, [TERMINAL]
        )
        name = new_session.conversation_name()
        self.memory = await asyncio.to_thread(self._open_store, name, self._thread_reporter())
        async with AsyncExitStack() as closing:
            closing.push_async_callback(loader.aclose, self._trouble)
            async with asyncio.TaskGroup() as loading:
                watching = loading.create_task(self._show_engines(loader), name="engines, as they load")
                cards_coming = loading.create_task(self._cards(), name="sound card")
                engines = await loader.engines()
                closing.push_async_callback(close_engine, engines.recognizer, self._trouble)
                cards = await cards_coming
                watching.cancel()
            closing.push_async_callback(cards.aclose)
            if self.opening is not None:
                engines = self.opening.around(engines, loader)
            loader.chosen += cards.chosen
            self.stage.engines(loader.chosen)
            if "input" in cards.lacking:
                self.controls.muted = True
                await cards.microphone.mute(True)
            await self._converse(name, loader, engines, cards)

    async def _converse(self, name: str, loader: EngineLoader, engines: Engines, cards: Cards) -> None:
        limits = RetentionLimits.of(self.settings.trace)
        self.trace = trace = TraceFile(self.settings.trace.dir, name, self._trouble, limits)
        session = new_session.session(
            loader,
            engines=engines,
            microphone=cards.microphone,
            speaker=cards.speaker,
            trace=trace,
            on_event=lambda event: self._show(session, event),
            counters=cards.counters,
            in_use=cards.in_use,
            sound_output=cards.sound_output,
        )
        if cards.notice:
            self._trouble(cards.notice)
        session.reply_options = replace(session.reply_options, spoken="output" not in cards.lacking, markup=True)
        if engines.listening_sound is not None and cards.sound_output is None:
            self._trouble(NO_LISTENING_SOUNDS)
        if self.memory is not None:
            session.history.restore(self.memory.items)
            session.pause_stats = session.pause_stats.with_counts(self.pauses)
            if self.memory.continues:
                self.stage.resumed(resumed(self.memory.continues, self.memory.continued_at, self.memory.items))
        own = session.turns.settings
        max_ms = max(own.interrupt_after_ms, cards.interrupt_after_ms)
        session.turns.settings = replace(own, interrupt_after_ms=max_ms)
        self.controls.cards, self.controls.talker = cards, LocalTalker(session, cards, _endpoint(loader.chosen))
        async with asyncio.TaskGroup() as tasks:
            writers = [tasks.create_task(trace.run(), name="trace")]
            if loader.export is not None:
                writers.append(tasks.create_task(loader.export.run(), name="span export"))
            if self.memory is not None:
                writers.append(tasks.create_task(self.memory.run(), name="memory"))
            if self.timers is not None:
                writers.append(tasks.create_task(self.timers.run(), name="timers"))
                await self.timers.wait_for_first_reading()
            if self.lists is not None:
                writers.append(tasks.create_task(self.lists.run(), name="lists"))
            if self.facts is not None:
                conversation = "" if self.memory is None else self.memory.name
                facts = self.facts.begin(TERMINAL, conversation, kept=self.memory is not None)
                session.engines.skill_effects.facts = facts
                writers.append(tasks.create_task(self.facts.run(), name="memory of the user"))
            try:
                async with asyncio.TaskGroup() as talking:
                    talking.create_task(self._announce(session, cards), name="ready")
                    beside = [
                        talking.create_task(self._end(session, cards), name="the end"),
                        talking.create_task(follow_card_latency(session, cards), name="card profile"),
                    ]
                    await session.run()
                    for task in beside:
                        task.cancel()
            finally:
                for writer in writers:
                    writer.cancel()

    async def _end(self, session: Session, cards: Cards) -> None:
        await self.controls.ended.wait()
        session.announce_end()
        await cards.aclose()

    async def _announce(self, session: Session, cards: Cards) -> None:
        """Announces that the assistant listens, and begins."""
        try:
            async with asyncio.timeout(READY_TIMEOUT_S):
                while not cards.ready:  # noqa: ASYNC110 - the cards send no event
                    await asyncio.sleep(TICK_S)
        except TimeoutError:
            return  # the problem was reported already
        self.stage.ready()
        self.controls.begin()
        if self.settings.talk.ready_sound:
            cards.speaker.chime(chime())
        if self.opening is not None:
            self.opening.begin(session)

    async def _cards(self) -> Cards:
        cards = await asyncio.to_thread(open_cards, self.settings.audio, self._thread_reporter())
        self.controls.lacking = cards.lacking
        return cards

    def _thread_reporter(self) -> Callable[[str], None]:
        """Returns a function that reports problems from a thread."""
        loop = asyncio.get_running_loop()

        def report(what: str) -> None:
            loop.call_soon_threadsafe(self._trouble, what)

        return report

    async def _show_engines(self, loader: EngineLoader) -> None:
        shown = -1
        while True:
            if len(loader.chosen) != shown:
                shown = len(loader.chosen)
                self.stage.engines(list(loader.chosen))
            await asyncio.sleep(TICK_S)

    def _open_store(self, name: str, report: Callable[[str], None]) -> ConversationStore | None:
        """Opens or creates the stored conversation. Blocking."""
        if self.resume is None and not self.settings.talk.remember:
            return None
        now = datetime.now(UTC).isoformat(timespec="seconds")
        file = ConversationFile(
            conversations_path(self.environ),
            lambda: datetime.now(UTC).timestamp(),
            keeps_pauses=self.settings.turn.remember_pauses,
        )
        with suppress(ConversationFileError):  # reported below
            for problem in import_files(file):
                report(problem)
        if self.resume is None:
            memory = ConversationStore(file, name, now, self._trouble)
        else:
            try:
                memory = ConversationStore.open(file, self.resume, name, now, self._trouble)
            except ResumeError as error:
                raise ConfigError([f"--resume: {error}"]) from error
        if why := unwritable(file):
            report(why)
        self.pauses, damaged = kept_pauses(file, TERMINAL)
        if damaged:
            report(damaged)
        return memory

    def _show(self, session: Session, event: SessionEvent) -> None:
        self.stage.show(event)
        if self.opening is not None:
            self.opening.show(event)
        if self.memory is not None:
            self.memory.record(event, session.history.items_with_words, session.pause_stats.counts)
        if self.facts is not None:
            self.facts.record(event, session.engines.skill_effects.facts)

    def _trouble(self, what: str) -> None:
        self.stage.show(Problem(what))

    def output_paths(self) -> list[str]:
        """Returns the paths of the files written."""
        memory = self.memory
        kept = [] if memory is None or not memory.is_stored else [f"saved  {memory.name} in {memory.path}"]
        traced = [] if self.trace is None or not self.trace.path.is_file() else [f"trace  {self.trace.path}"]
        return [*traced, *kept]


def _endpoint(chosen: Sequence[EngineChoice]) -> str:
    return next(
        (
            f"{choice.name}, {choice.detail}" if choice.detail else choice.name
            for choice in chosen
            if choice.stage == "llm"
        ),
        "",
    )
