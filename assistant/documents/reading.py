"""One reading: the chosen parts of the documents, and the reply made of their summaries, in order.

    documents ─split─▶ parts ─select─▶ asked in parallel ─▶ summaries in order ─▶ text of one reply

The reply begins before any summary is there, with the name of the first document.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from assistant.config.settings import Settings
from assistant.config.tool_settings import DocumentsSection
from assistant.documents import Part, SplitDocument
from assistant.documents.budget import ReadingLimits, Selection, select
from assistant.documents.fan_out import Answers, ask
from assistant.documents.ordered_answers import AnswerEnded, AnswerText
from assistant.documents.prompts import ANSWER_TOKENS
from assistant.documents.wording import Wording, broken, document_lead, left_out, missing, part_lead, wording_of
from llm.chat import ChatEvent, ChatModel, PartAnswered, Token

CONTEXT_CHARS = 6000
"""Text of the documents that later questions can refer to, in characters: 1500 tokens more in each prompt."""

LOCAL_CONTEXT_CHARS = 2000
"""Text of the documents with each question, in characters, for a model on this machine: more delays its first answer by
over half a minute on two busy cores (docs/lab/documents.md)."""

END = "\n\n"
"""Ends a sentence for the chunker, whatever the model wrote."""


@dataclass(slots=True)
class Reading:
    """The documents of one reading and the answers so far.

    Attributes:
        names: Names of the documents, in order.
        selection: The parts that are asked, and those left out.
        language: Language code of the summaries.
        max_parallel: How many parts are asked at once.
        missing: The parts that could not be summarized in the last reply.
        ended: The parts that have ended, in the order of their ends, of all replies.
    """

    names: Sequence[str]
    selection: Selection
    language: str
    max_parallel: int
    missing: list[Part] = field(default_factory=list)
    ended: list[PartAnswered] = field(default_factory=list)
    _answers: Answers = field(init=False)

    def __post_init__(self) -> None:
        self._answers = Answers(self.selection.asked)

    @property
    def left_out(self) -> str:
        """The parts beyond the limits, named in one sentence; "" if there are none."""
        return left_out(self.selection.left_out, wording_of(self.language))

    @property
    def took_s(self) -> float:
        """Seconds from the first request to the end of the last part that has ended; 0 before."""
        ended = self.ended
        return max(part.ended_s for part in ended) - min(part.asked_at_s for part in ended) if ended else 0.0

    async def reply(self, model: ChatModel, heard: str = "") -> AsyncGenerator[ChatEvent]:
        """Yields the events of the reply. Closing it cancels the requests; answers that were complete are kept.

        `heard`: what was heard of an earlier, interrupted reply. Parts that are wholly in it are not told again.
        """
        parts, words = self.selection.asked, wording_of(self.language)
        told, self.missing = _Told(parts, words, heard), []
        for sentence in () if heard.strip() else (told.first_lead(), self.left_out):
            if sentence:
                yield Token(sentence.strip() + END)
        async with aclosing(ask(self._answers, model, self.language, self.max_parallel)) as events:
            async for event in events:
                match event:
                    case AnswerText() | AnswerEnded():
                        if isinstance(event, AnswerEnded) and event.outcome != "answered":
                            self.missing.append(parts[event.part])
                        if text := told.text_of(event, self._answers.texts):
                            yield Token(text)
                    case PartAnswered():
                        self.ended.append(event)
                        yield event
                    case _:
                        if text := told.end():
                            yield Token(text)
                        yield event


class _Told:
    """Turns ordered answers into the text of the reply. No I/O."""

    def __init__(self, parts: Sequence[Part], words: Wording, heard: str) -> None:
        self._parts = parts
        self._words = words
        self._heard = _plain(heard)
        self._document = -1  # the last one that was named
        self._begun = -1  # the last part that was begun
        self._missing: list[Part] = []
        self._reason = ""

    def first_lead(self) -> str:
        """Returns the beginning of a new reply, which needs no answer; "" if nothing is asked."""
        return self._document_lead(self._parts[0]) if self._parts else ""

    def text_of(self, event: AnswerText | AnswerEnded, complete: dict[int, str]) -> str:
        """Returns the text to tell next; "" for none. `complete`: the complete answers, by index."""
        part = self._parts[event.part]
        if self._was_heard(complete.get(event.part, "")):
            self._document = part.document
            return ""
        if isinstance(event, AnswerText):
            lead = self._lead(event.part, part)
            return lead + event.text
        match event.outcome:
            case "answered":
                return END
            case "broken":
                return f"{END}{broken(part, self._words)}{END}"
            case "failed":
                self._missing.append(part)
                self._reason = event.reason
                return ""

    def _was_heard(self, answer: str) -> bool:
        return bool(answer) and _plain(answer) in self._heard

    def end(self) -> str:
        """Returns the last text."""
        return self._missing_sentence()

    def _lead(self, position: int, part: Part) -> str:
        if position == self._begun:
            return ""
        self._begun = position
        lead = self._missing_sentence() + self._document_lead(part)
        if sentence := part_lead(part, self._words):
            lead += sentence + END
        return lead

    def _document_lead(self, part: Part) -> str:
        if part.document == self._document:
            return ""
        self._document = part.document
        return document_lead(part, self._words) + END

    def _missing_sentence(self) -> str:
        if not self._missing:
            return ""
        sentence = missing(self._missing, self._reason, self._words)
        self._missing = []
        return sentence + END


def _plain(text: str) -> str:
    """Returns the words of a text between single blanks; "" if there are none."""
    words = " ".join(text.split())
    return f" {words} " if words else ""


def reading_of(documents: Sequence[SplitDocument], settings: Settings, *, max_parts: int | None = None) -> Reading:
    """Returns the reading of these documents within the limits of the settings. `max_parts`: a lower limit."""
    section = settings.documents
    limits = limits_of(settings)
    if max_parts is not None:
        limits = replace(limits, max_parts=min(max_parts, limits.max_parts))
    parts = [replace(part, document=index) for index, document in enumerate(documents) for part in document.parts]
    names = [document.name for document in documents]
    return Reading(names, select(parts, limits), settings.assistant.language, _parallel(settings, section))


def limits_of(settings: Settings) -> ReadingLimits:
    """Returns the limits of one reading."""
    section, endpoints = settings.documents, settings.llm.endpoints
    return ReadingLimits(
        section.max_parts,
        section.max_price,
        max((endpoint.price_in_per_million for endpoint in endpoints), default=0.0),
        max((endpoint.price_out_per_million for endpoint in endpoints), default=0.0),
        ANSWER_TOKENS,
    )


def context_chars_of(settings: Settings) -> int:
    """Returns how much of the documents' text later questions can refer to, in characters."""
    return LOCAL_CONTEXT_CHARS if _is_local(settings) else CONTEXT_CHARS


def _parallel(settings: Settings, section: DocumentsSection) -> int:
    """Returns how many parts are asked at once. A model on this machine answers one request after another."""
    return 1 if _is_local(settings) else section.max_parallel


def _is_local(settings: Settings) -> bool:
    """Returns whether only a model on this machine can answer, as also without configured endpoints."""
    return all(endpoint.is_on_this_machine for endpoint in settings.llm.endpoints)
