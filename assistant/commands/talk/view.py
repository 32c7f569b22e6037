"""Content of the screen of `repartee talk`, updated by events and the status. No I/O, no clock."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, Literal

from assistant.commands.talk.blocks import ReadableText, ReplyBlocks
from assistant.commands.talk.controls import Status
from assistant.commands.talk.resumed import Resumed
from assistant.commands.talk.text import printable
from assistant.commands.talk.words import HighlightedWord, ReplyWords
from assistant.events import (
    ChunkSpoken,
    InterimWords,
    LanguageChanged,
    MarkupWritten,
    Problem,
    ReplySent,
    ReplyStarted,
    ReplyStopped,
    SessionEvent,
    SpeechDiscarded,
    SpeechStarted,
    TurnFinished,
    UserTurnCommitted,
    WordsTimed,
)
from assistant.history.shown_speakers import ShownSpeakers
from assistant.models.language_names import NAMES
from assistant.trace.latency_summary import LatencySummary, TurnLatency, latency_summary
from assistant.trace.record import FAILED, TurnRecord
from assistant.turns.events import ReplyId

if TYPE_CHECKING:
    from assistant.registry.engine_choice import EngineChoice

MAX_ENTRIES = 200
"""Maximum number of transcript entries on the screen; older ones are removed."""

MAX_LATENCIES = 1000
"""Number of last turns in the running percentiles."""

MAX_TYPED = 20
"""Maximum number of typed texts whose turns are pending; more could only be pending if a server is unreachable."""

MAX_CHARS = 2000
"""Longest text of a user message or problem, in characters."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A paragraph of the transcript.

    Attributes:
        key: Constant while the entry changes.
        who: Speaker; "resumed", "fallback", "measuring" and "problem" are messages of the program.
        text: Safe for a terminal. Only code and tables have several lines.
        time_text: Time as text; only for messages of the program.
        mark: Note such as "interrupted"; else "".
        settled: Whether it is final; interim words are not.
        first: Whether it starts a message; else it continues one.
        highlight: Start and end character of the word being spoken.
        unheard_from: First character that was not played (yet); None if all was.
    """

    key: int
    who: Literal["you", "repartee", "resumed", "fallback", "measuring", "problem"]
    text: str
    time_text: str = ""
    mark: str = ""
    settled: bool = True
    first: bool = True
    highlight: tuple[int, int] | None = None
    unheard_from: int | None = None


class View:
    """Everything that the screen shows.

    Attributes:
        entries: The transcript.
        chosen: The engines loaded so far.
        last: The last turn with a known latency.
        latencies: Percentiles of the last turns; failed turns have their own.
        typed_turns: Number of answered turns that were typed, which have no response latency.
        troubles: Number of problems.
        trouble_at: Time of the last problem as text; "" before any.
        status: The last status; None before.
    """

    def __init__(self) -> None:
        """Starts empty."""
        self.entries: deque[Entry] = deque(maxlen=MAX_ENTRIES)
        self.chosen: tuple[EngineChoice, ...] = ()
        self.last: TurnRecord | None = None
        self.latencies = LatencySummary()
        self.typed_turns = 0
        self.troubles = 0
        self.trouble_at = ""
        self.status: Status | None = None
        self._keys = count()
        self._turn_latencies: deque[TurnLatency] = deque(maxlen=MAX_LATENCIES)
        self._interim = ""  # words that arrived before the start of their speech was reported
        self._speech_key: int | None = None  # entry of the current speaker
        self._last_turn: tuple[int, int] | None = None  # the last committed turn, and its entry
        self._typed: deque[str] = deque(maxlen=MAX_TYPED)  # shown texts whose turns are not committed yet
        self._speakers = ShownSpeakers()
        self._new_language = ""  # of the turn that is about to be committed, if the one before was in another
        self._reply_id: ReplyId | None = None
        self._spoken = True
        self._words = ReplyWords()
        self._passages: list[int] = []  # entries of the reply
        self._stopped: list[int] = []  # entries of the last reply that was interrupted
        self._blocks = ReplyBlocks()  # its code and tables, until they are shown
        self._readable = ReadableText()  # its text, if it is not spoken
        # the highlighted word, and the number of passages at that time
        self._highlighted: tuple[HighlightedWord | None, int] = (None, 0)

    # Events --------------------------------------------------------------------------------------------------

    def apply(self, event: SessionEvent, time_text: str) -> None:
        """Applies one event of the conversation; `time_text` is the time of day as text."""
        match event:
            case SpeechStarted():
                self._begin_speech()
            case InterimWords():
                self._show_interim(event.text)
            case SpeechDiscarded():
                self._remove_speech()
            case UserTurnCommitted():
                self._commit(event)
            case ReplyStarted() | ChunkSpoken() | WordsTimed() | MarkupWritten() | ReplySent() | ReplyStopped():
                self._apply_reply(event)
            case TurnFinished():
                self._finish(event.record, time_text)
            case Problem():
                self._trouble(event.text, time_text)
            case LanguageChanged():
                self._new_language = NAMES.get(event.language, event.language)
            case _:
                pass  # without effect on the screen

    def set_status(self, status: Status) -> None:
        """Applies the current status."""
        self.status = status
        self._highlight(status.played_ms)

    def engines(self, chosen: Sequence["EngineChoice"], time_text: str) -> None:
        """Applies the engines loaded so far; adds an entry for each new fallback."""
        known = {(engine.stage, engine.name) for engine in self.chosen}
        self.chosen = tuple(chosen)
        for engine in self.chosen:
            if engine.fallback and (engine.stage, engine.name) not in known:
                text = printable(f"{engine.stage} {engine.name}: {engine.why}", MAX_CHARS)
                self._append(Entry(next(self._keys), "fallback", text, time_text=time_text))

    def measuring(self, what: str, time_text: str) -> None:
        """Adds an entry that says what is measured during the start."""
        self._append(Entry(next(self._keys), "measuring", printable(what, MAX_CHARS), time_text=time_text))

    def resumed(self, past: Resumed, time_text: str) -> None:
        """Adds the last words of the resumed conversation."""
        self._append(Entry(next(self._keys), "resumed", printable(past.heading, MAX_CHARS), time_text=time_text))
        for who, text in past.last:
            self._append(Entry(next(self._keys), who, text, mark="earlier"))

    def typed(self, text: str) -> None:
        """Adds a typed text."""
        entry = Entry(next(self._keys), "you", printable(text, MAX_CHARS), mark="typed")
        self._typed.append(entry.text)
        self._append(entry)

    # User speech ---------------------------------------------------------------------------------------------

    def _begin_speech(self) -> None:
        if self._speech_key is None:
            entry = Entry(next(self._keys), "you", "", settled=False)
            self._speech_key = entry.key
            self._append(entry)
        if self._interim:
            self._show_interim(self._interim)

    def _show_interim(self, text: str) -> None:
        self._interim = text
        if self._speech_key is not None:
            self._change(self._speech_key, text=printable(text, MAX_CHARS))

    def _remove_speech(self) -> None:
        if self._speech_key is not None:
            self._remove(self._speech_key)
        self._speech_key, self._interim = None, ""

    def _commit(self, event: UserTurnCommitted) -> None:
        if event.origin == "resumed":
            self._cut_stopped_reply()
        text = printable(event.text, MAX_CHARS)
        if event.origin == "requested" and text in self._typed:
            self._typed.remove(text)
            text = ""  # already on the screen
        elif event.origin == "requested" and not text:
            self._typed.clear()  # a local conversation answers all typed texts at once, without repeating them
        if not text:
            if event.origin == "spoken":
                self._remove_speech()
            return
        state = "roughly" if event.low_confidence else "" if event.answered else "not answered"
        mark = ", ".join(filter(None, (self._speakers.shown(event.speaker), self._new_language, state)))
        self._new_language = ""
        if self._last_turn is not None and self._last_turn[0] == event.turn:
            # The user continued: these words are the whole turn.
            self._remove(self._last_turn[1])
        if self._speech_key is None:
            self._begin_speech()
        assert self._speech_key is not None
        self._change(self._speech_key, text=text, mark=mark, settled=True)
        self._last_turn = (event.turn, self._speech_key)
        self._speech_key, self._interim = None, ""

    # Reply ---------------------------------------------------------------------------------------------------

    def _apply_reply(
        self, event: ReplyStarted | ChunkSpoken | WordsTimed | MarkupWritten | ReplySent | ReplyStopped
    ) -> None:
        match event:
            case ReplyStarted():
                self._begin_reply(event.reply_id, spoken=event.spoken)
            case ChunkSpoken():
                self._add_chunk(event)
            case WordsTimed() if event.reply_id == self._reply_id:
                self._words.place(event.words)
            case MarkupWritten() if event.reply_id == self._reply_id:
                self._blocks.add_text(event.text)
            case ReplySent() if event.reply_id == self._reply_id:
                self._finish_text()
                if event.incomplete:
                    self._mark_reply(f"stopped early: {printable(event.incomplete, MAX_CHARS)}")
                self._show_blocks()
            case ReplyStopped() if event.reply_id == self._reply_id:
                self._stop_reply(event)
            case _:
                pass  # of another reply

    def _begin_reply(self, reply_id: ReplyId, *, spoken: bool) -> None:
        self._highlight(None)
        self._reply_id, self._spoken = reply_id, spoken
        self._words, self._passages, self._blocks = ReplyWords(), [], ReplyBlocks()
        self._readable = ReadableText()

    def _show_blocks(self) -> None:
        """Appends the code and the tables of the reply, once."""
        for block in self._blocks.blocks(links=not self._spoken):
            text = "\n".join((f"{block.title}:", *(f"  {line}" for line in block.lines)))
            self._append(Entry(next(self._keys), "repartee", text, first=False))
        self._blocks = ReplyBlocks()

    def _add_chunk(self, event: ChunkSpoken) -> None:
        if event.reply_id != self._reply_id:
            self._begin_reply(event.reply_id, spoken=True)
        if self._spoken:
            self._add_text(event.text)
        else:
            self._blocks.add_text(event.text)
            self._add_text(self._readable.add_text(event.text))

    def _finish_text(self) -> None:
        """Shows the rest of a reply that is not spoken."""
        if not self._spoken and (rest := self._readable.finish()):
            self._add_text(rest)

    def _add_text(self, added: str) -> None:
        self._words.add_chunk(added, spaced=self._spoken)
        texts = self._words.passages
        if self._passages:
            self._change(self._passages[-1], text=texts[len(self._passages) - 1])
        for text in texts[len(self._passages) :]:
            entry = Entry(next(self._keys), "repartee", text, first=not self._passages)
            self._passages.append(entry.key)
            self._append(entry)
        self._highlight(self.status.played_ms if self.status else None)

    def _highlight(self, played_ms: float | None) -> None:
        """Highlights the word being spoken. None: everything was played."""
        highlight = None if played_ms is None or not self._spoken else self._words.word_at(played_ms)
        if (highlight, len(self._passages)) == self._highlighted:
            return
        self._highlighted = (highlight, len(self._passages))
        for index, key in enumerate(self._passages):
            word, ahead = None, None
            if highlight is not None and index == highlight.passage:
                word = (highlight.start, highlight.end) if highlight.end > highlight.start else None
                ahead = highlight.end
            elif highlight is not None and index > highlight.passage:
                ahead = 0
            self._change(key, highlight=word, unheard_from=ahead)

    def _mark_reply(self, mark: str) -> None:
        if self._passages:
            self._change(self._passages[-1], mark=mark)

    def _stop_reply(self, event: ReplyStopped) -> None:
        self._highlight(None)
        self._finish_text()
        if not event.heard and event.reason == "went on":
            for key in self._passages:  # nothing of it was played
                self._remove(key)
        else:
            passage, position = self._words.unheard_position(event.heard)
            for index, key in enumerate(self._passages):
                if self._spoken and index >= passage:  # shown text counts as heard
                    self._change(key, unheard_from=position if index == passage else 0)
            self._mark_reply("not heard" if event.reason == "unheard" else "interrupted")
            self._show_blocks()
        self._stopped = self._passages
        # Later parts of the reply are neither shown nor highlighted.
        self._words, self._passages, self._reply_id = ReplyWords(), [], None

    def _cut_stopped_reply(self) -> None:
        """Removes the unheard words of the last reply that stopped, because they follow as a reply of their own."""
        kept, self._stopped = self._stopped, []
        for entry in [entry for entry in self.entries if entry.key in kept and entry.unheard_from is not None]:
            if entry.unheard_from:
                self._change(entry.key, text=entry.text[: entry.unheard_from].rstrip(), unheard_from=None)
            else:
                self._remove(entry.key)

    # Latencies and problems ----------------------------------------------------------------------------------

    def _finish(self, record: TurnRecord, time_text: str) -> None:
        if record.response_latency_ms is not None:
            self.last = record
        elif (
            record.no_latency_reason == "requested"
            and record.outcome in {"answered", "interrupted"}
            and not record.failed
        ):
            self.typed_turns += 1
        if record.failed or record.response_latency_ms is not None:
            self._turn_latencies.append(TurnLatency.of(record))
            self.latencies = latency_summary(self._turn_latencies)
        if record.response_latency_ms is None and record.outcome in FAILED:
            self._trouble(f"turn {record.turn} {record.outcome}: no reply was heard", time_text)

    def _trouble(self, what: str, time_text: str) -> None:
        self.troubles += 1
        self.trouble_at = time_text
        self._append(Entry(next(self._keys), "problem", printable(what, MAX_CHARS), time_text=time_text))

    # Transcript ----------------------------------------------------------------------------------------------

    def _append(self, entry: Entry) -> None:
        """Appends an entry. Interim words stay last: other entries go before them."""
        if self.entries and self.entries[-1].key == self._speech_key and entry.key != self._speech_key:
            speaking = self.entries.pop()
            self.entries.append(entry)
            self.entries.append(speaking)
        else:
            self.entries.append(entry)

    def _change(self, key: int, **changes: object) -> None:
        """Changes an entry; has no effect on a removed one."""
        for index in range(len(self.entries) - 1, -1, -1):
            if self.entries[index].key == key:
                self.entries[index] = replace(self.entries[index], **changes)  # type: ignore[arg-type]
                return

    def _remove(self, key: int) -> None:
        for entry in self.entries:
            if entry.key == key:
                self.entries.remove(entry)
                return
