"""A reading without a microphone: told by a loudspeaker, a sound file or as text; questions are typed."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, field
from typing import Protocol, TextIO

from assistant.commands.read.opening import ReadingOpening
from assistant.commands.talk.pipe import LineWriter, lines_of, standard_input
from assistant.commands.talk.text import printable
from assistant.config.settings import Settings
from assistant.events import ChunkSpoken, Problem, ReplySent, ReplyStopped, SessionEvent, TurnFinished
from assistant.pipeline.engines import Engines, ReplyOptions
from assistant.pipeline.session import Session
from assistant.setup import build
from assistant.setup.conversation import new_session
from assistant.setup.engine_loader import EngineLoader
from assistant.setup.loading import close_engine
from assistant.trace.file import TraceFile
from assistant.trace.folder import RetentionLimits
from audio.silent_microphone import SilentMicrophone
from audio.speaker import Speaker, WavSpeaker

ASK = "Type a question about it; ctrl+d ends."


class Output(Protocol):
    """The output of the reading."""

    @property
    def speaker(self) -> Speaker | None:
        """Plays it; None: it is text only."""
        ...

    def counters(self) -> dict[str, int]:
        """Returns counts for the trace."""
        ...


class Page:
    """Prints what is told, line by line. Created on the event loop."""

    def __init__(self, out: TextIO, gone: Callable[[], None]) -> None:
        """`gone`: called when the reader has closed the output."""
        self._out = LineWriter(out, gone)
        self._line = ""

    def show(self, event: SessionEvent, *, spoken: bool) -> None:
        """Prints an event."""
        match event:
            case ChunkSpoken() if spoken:
                self.line(event.text)
            case ChunkSpoken():
                *lines, self._line = (self._line + event.text).split("\n")
                for line in lines:
                    self.line(line)
            case ReplySent() | ReplyStopped():
                self.line(self._line)
                self._line = ""
            case Problem():
                self.line(f"problem: {event.text}")
            case _:
                pass

    def line(self, text: str) -> None:
        """Prints one line, unless it is blank."""
        if text.strip():
            self._out.write(printable(text))

    async def aclose(self) -> None:
        """Prints what is left."""
        self.line(self._line)
        await self._out.aclose()


@dataclass(slots=True)
class WrittenConversation:
    """One reading and the typed questions after it.

    Attributes:
        settings: The settings.
        environ: Environment variables with the API keys.
        opening: The reading.
        output: Where it goes.
        once: Whether to end after the reading.
        out: Receives the lines.
        typed: The typed questions; None: none.
        trace: The trace, once it is open.
    """

    settings: Settings
    environ: Mapping[str, str]
    opening: ReadingOpening
    output: Output
    once: bool
    out: TextIO
    typed: TextIO | None = field(default_factory=standard_input)
    trace: TraceFile | None = None
    _turn_over: asyncio.Event = field(default_factory=asyncio.Event)
    _microphone: SilentMicrophone = field(default_factory=SilentMicrophone)
    _page: Page = field(init=False)

    @property
    def _spoken(self) -> bool:
        return self.output.speaker is not None

    async def hold(self) -> None:
        """Loads the engines, reads, answers the typed questions and closes everything.

        Raises:
            AudioError: An engine cannot be loaded, or there is no language model.
        """
        self._page = Page(self.out, self._microphone.end)
        loader = EngineLoader(self.settings, self.environ, listens=False, speaks=self._spoken)
        loader.export = build.span_export(self.settings, self.report)
        async with AsyncExitStack() as closing:
            closing.push_async_callback(self._page.aclose)
            closing.push_async_callback(loader.aclose, self.report)
            engines = await loader.engines()
            closing.push_async_callback(close_engine, engines.recognizer, self.report)
            await self._converse(loader, self.opening.around(engines, loader))

    async def _converse(self, loader: EngineLoader, engines: Engines) -> None:
        limits = RetentionLimits.of(self.settings.trace)
        self.trace = trace = TraceFile(self.settings.trace.dir, new_session.conversation_name(), self.report, limits)
        session = new_session.session(
            loader,
            engines=engines,
            microphone=self._microphone,
            speaker=self.output.speaker or WavSpeaker(lambda _at_s, _pcm: None),
            trace=trace,
            on_event=self._show,
            counters=self.output.counters,
        )
        session.reply_options = ReplyOptions(spoken=self._spoken)
        async with asyncio.TaskGroup() as tasks:
            writers = [tasks.create_task(trace.run(), name="trace")]
            if loader.export is not None:
                writers.append(tasks.create_task(loader.export.run(), name="span export"))
            asking = tasks.create_task(self._ask(session), name="typed questions")
            await session.run()
            for task in (*writers, asking):
                task.cancel()

    async def _ask(self, session: Session) -> None:
        """Begins the reading, then passes on the typed questions, and ends the conversation."""
        self.opening.begin(session)
        by_hand = self.typed is not None and self.typed.isatty()
        if not (by_hand and self._spoken):  # a typed question interrupts what is spoken, and nothing else
            await self.opening.over.wait()
        if not self.once:
            async with aclosing(self._questions(by_hand=by_hand)) as questions:
                async for question in questions:
                    self._turn_over.clear()
                    session.type(question)
                    await self._turn_over.wait()
        await self.opening.over.wait()
        self._microphone.end()

    async def _questions(self, *, by_hand: bool) -> AsyncGenerator[str]:
        if self.typed is None:
            return
        if by_hand:
            self._page.line(ASK)
        async with aclosing(lines_of(self.typed)) as lines:
            async for line in lines:
                if line == "/quit":
                    return
                if not by_hand:
                    self._page.line(f"> {line}")
                yield line

    def _show(self, event: SessionEvent) -> None:
        self._page.show(event, spoken=self._spoken)
        self.opening.show(event)
        if isinstance(event, TurnFinished):
            self._turn_over.set()

    def report(self, what: str) -> None:
        """Prints a problem."""
        self._page.show(Problem(what), spoken=self._spoken)
