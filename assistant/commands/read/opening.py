"""Begins a conversation with a reading, and measures it."""

import asyncio
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from assistant.documents.chat import ReadingChat
from assistant.documents.reading import Reading
from assistant.endpoint_probe.local_servers import SUGGESTED
from assistant.events import ChunkSpoken, SessionEvent, TurnFinished
from assistant.pipeline.engines import Engines
from assistant.pipeline.session import Session
from assistant.setup.engine_loader import EngineLoader
from audio.errors import EngineLoadError


@dataclass(slots=True)
class ReadingOpening:
    """Implements `Opening`. Created on the event loop, when the command begins.

    Attributes:
        reading: What is read.
        context_chars: How much of the documents' text later questions can refer to, in characters.
        over: Set when the reading has ended.
        first_text_s: Seconds from the beginning to the first text; None before.
        first_sound_s: Seconds from the beginning to the first audible sample; None before, or if there is no sound.
    """

    reading: Reading
    context_chars: int
    over: asyncio.Event = field(default_factory=asyncio.Event)
    first_text_s: float | None = None
    first_sound_s: float | None = None
    _chat: ReadingChat | None = None
    _began_s: float = field(init=False)
    _began_at: datetime = field(init=False)

    def __post_init__(self) -> None:
        self._began_s = asyncio.get_running_loop().time()
        self._began_at = datetime.now(UTC)

    def around(self, engines: Engines, loader: EngineLoader) -> Engines:
        """Returns the engines with the reading before the model, and without tools: documents are not trusted.

        Raises EngineLoadError if there is no language model.
        """
        model = loader.language_model
        if model is None:
            why = f" ({loader.local_problem})" if loader.local_problem else ""
            raise EngineLoadError(
                f"documents are summarized by a language model, and none is there{why}: `repartee models pull "
                f"{SUGGESTED}` gets one for this machine, `repartee endpoints add` connects one."
            )
        self._chat = chat = ReadingChat(self.reading, model, engines.model, self.context_chars)
        of_skills = engines.skill_effects.effect_of
        engines.skill_effects.effect_of = lambda messages: chat.effect_of(messages, of_skills)
        return replace(engines, model=chat, tools=None)

    def begin(self, session: Session) -> None:
        """Asks for the reading, as if the user had typed the request."""
        assert self._chat is not None, "`around` comes first"
        session.type(self._chat.request)

    def show(self, event: SessionEvent) -> None:
        """Measures the reading."""
        if isinstance(event, ChunkSpoken) and self.first_text_s is None:
            self.first_text_s = asyncio.get_running_loop().time() - self._began_s
        elif isinstance(event, TurnFinished) and not self.over.is_set():
            record = event.record
            if record.playout_start_ms is not None:
                zero = datetime.fromisoformat(record.started_at)
                sound = zero + timedelta(milliseconds=record.playout_start_ms)
                self.first_sound_s = (sound - self._began_at).total_seconds()
            self.over.set()

    def figures(self) -> str:
        """Returns the times of the reading in one line; "" if it did not begin."""
        if self.first_text_s is None:
            return ""
        reading = self.reading
        parts, documents = len(reading.selection.asked), len(reading.names)
        told = f"{parts} part{'s' * (parts != 1)} of {documents} document{'s' * (documents != 1)}"
        lacking = f", {len(reading.missing)} missing" if reading.missing else ""
        first = f"first text after {self.first_text_s:.1f} s"
        if self.first_sound_s is not None:
            first = f"first sound after {self.first_sound_s:.1f} s"
        asked = f"all summaries {reading.took_s:.1f} s after the first request, {reading.max_parallel} at a time"
        return f"{told}{lacking}; {first}; {asked}"
