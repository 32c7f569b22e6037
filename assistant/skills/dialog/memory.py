"""The memory of a conversation: the open question, the last subjects, and whether a refusal was said in full."""

import re
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from assistant.skills.languages.sentences import TemplateMatch

QUESTION_S = 60.0
"""Time for which a question stays open, in seconds from the commit of the turn that asks it."""

SUBJECT_S = 300.0
"""Time for which "it" refers to the last subject, in seconds. Later, people name what they mean."""

Slot = Literal["duration", "moment", "task", "items", "note"]
"""A part that a request may lack: how long, at what time or after how long, the task of a reminder, items, a note."""

# ---- open questions ----


@dataclass(frozen=True, slots=True)
class WhichEntry:
    """Asks which of these timers, alarms or reminders the request means.

    Attributes:
        match: The request.
        numbers: The entries in the order in which they were told.
    """

    match: "TemplateMatch"
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class WhichName:
    """Asks which of these names the request to a service means: a device, a place.

    Attributes:
        skill: The skill that asks.
        match: The request.
        names: The names in the order in which they were told; () if the user may say any.
        ids: What the skill knows them by, in the same order.
        time_phrase: The words for the time at which the request is to be done; "" for now.
    """

    skill: str
    match: "TemplateMatch"
    names: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    time_phrase: str = ""


@dataclass(frozen=True, slots=True)
class MissingSlot:
    """Asks for the missing part of the request."""

    match: "TemplateMatch"
    slot: Slot


@dataclass(frozen=True, slots=True)
class Confirm:
    """Asks whether this request is to be done."""

    match: "TemplateMatch"


OpenQuestion = WhichEntry | WhichName | MissingSlot | Confirm

# ---- subjects ----


@dataclass(frozen=True, slots=True)
class TimerSet:
    """A timer with this name and length was set by this request."""

    match: "TemplateMatch"
    name: str | None
    length_s: float


@dataclass(frozen=True, slots=True)
class AlarmSet:
    """An alarm, a reminder of `about`, or a planned command was set by this request for this local time."""

    match: "TemplateMatch"
    local_time: datetime
    about: str | None
    is_planned: bool = False


@dataclass(frozen=True, slots=True)
class EntriesNamed:
    """These timers, alarms or reminders were paused, resumed or told by this request; () for all of the kind."""

    match: "TemplateMatch"
    numbers: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class RequestAnswered:
    """Another request was answered: a calculation, a time, a coin."""

    match: "TemplateMatch"


@dataclass(frozen=True, slots=True)
class ServiceAsked:
    """A service was asked: the weather, the home.

    Attributes:
        skill: The skill that answered.
        match: The request.
        name: What "it" refers to: the device; "" for nothing.
    """

    skill: str
    match: "TemplateMatch"
    name: str = ""


@dataclass(frozen=True, slots=True)
class ListNamed:
    """A list was changed or told.

    Attributes:
        name: The list.
        texts: The items that were named; () for the list itself.
    """

    name: str
    texts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FactsNamed:
    """Facts about the user were kept or told: their texts."""

    texts: tuple[str, ...]


Subject = TimerSet | AlarmSet | EntriesNamed | RequestAnswered | ServiceAsked | ListNamed | FactsNamed

# ---- memory ----

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Remember:
    """The part of a committed turn that is remembered. It is an effect, so that a dropped attempt leaves nothing.

    Attributes:
        question: The question that the reply asks; None closes the one before.
        question_text: The words of the question in the reply.
        reply: The whole reply: before some questions it tells what there is to choose from.
        subjects: The new subjects, the latest last.
        refused: Whether the reply says in full that no language model is connected.
        language: The language of the conversation.
    """

    question: OpenQuestion | None = None
    question_text: str = ""
    reply: str = ""
    subjects: tuple[Subject, ...] = ()
    refused: bool = False
    language: str = "en"


@dataclass(frozen=True, slots=True)
class Memory:
    """The memory of one conversation. A new turn makes a new one, so that a retracted turn restores the one before.

    Attributes:
        question: The open question; None if there is none.
        question_text: Its words in the reply.
        reply: The reply that asks it.
        subjects: The last subject of each kind, the latest first.
        refused: Whether it was said in full that no language model is connected.
        language: The language of question and subjects.
        asked_s: Loop time of the question.
        subject_s: Loop time of the latest subject.
    """

    question: OpenQuestion | None = None
    question_text: str = ""
    reply: str = ""
    subjects: tuple[Subject, ...] = ()
    refused: bool = False
    language: str = "en"
    asked_s: float = field(default=0.0, compare=False)
    subject_s: float = field(default=0.0, compare=False)

    def after(self, remember: Remember | None, now_s: float) -> "Memory":
        """Returns the memory after a committed turn. `remember`: None if the language model answered."""
        if remember is None:
            return Memory(refused=self.refused)
        before = self.subjects if self.language == remember.language else ()
        for new in remember.subjects:
            before = (new, *(subject for subject in before if _sort(subject) != _sort(new)))
        return Memory(
            remember.question,
            remember.question_text,
            remember.reply,
            before,
            self.refused or remember.refused,
            remember.language,
            asked_s=now_s,
            subject_s=now_s if remember.subjects else self.subject_s,
        )

    def remaining_at(self, now_s: float) -> "Memory":
        """Returns what is still remembered at loop time `now_s`."""
        question = self.question if now_s - self.asked_s <= QUESTION_S else None
        return replace(self, question=question, subjects=self.subjects if now_s - self.subject_s <= SUBJECT_S else ())

    def heard_question(self, last_reply: str | None, language: str) -> OpenQuestion | None:
        """Returns the open question if `last_reply`, the heard part of the last reply, includes its beginning.

        The question need not have begun: a user who has heard the choices may answer 'the second one'.
        A question without words is returned: its skill knows them when its service has answered.
        """
        if self.question is None or self.language != language:
            return None
        if not self.question_text:
            return self.question
        asked, heard = _words(self.question_text), _words(last_reply or "")
        begun = any(heard[-count:] == asked[:count] for count in range(1, len(asked) + 1)) or self._heard_choice(heard)
        whole = any(heard[index : index + len(asked)] == asked for index in range(len(heard) - len(asked) + 1))
        return self.question if begun or whole else None

    def _heard_choice(self, heard: list[str]) -> bool:
        """Returns whether the first of the entries or names to choose from has begun, behind a colon."""
        introduction, colon, _choices = self.reply.partition(":")
        if not colon or not isinstance(self.question, WhichEntry | WhichName):
            return False
        told, least = _words(self.reply), len(_words(introduction)) + 1
        return any(heard[-count:] == told[:count] for count in range(least, len(told) + 1))

    def subjects_in(self, language: str) -> tuple[Subject, ...]:
        """Returns the last subjects, the latest first, if they are in this language."""
        return self.subjects if self.language == language else ()

    def last_asked(self, skill: str, language: str) -> ServiceAsked | None:
        """Returns what this service was asked last."""
        asked = (
            subject
            for subject in self.subjects_in(language)
            if isinstance(subject, ServiceAsked) and subject.skill == skill
        )
        return next(asked, None)


def _sort(subject: Subject) -> str:
    """Returns the sort of a subject; the memory keeps one of each."""
    if isinstance(subject, ServiceAsked):
        return subject.skill
    if isinstance(subject, ListNamed):
        return "list"
    if isinstance(subject, FactsNamed):
        return "facts"
    return "entries" if isinstance(subject, TimerSet | AlarmSet | EntriesNamed) else "answer"


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())
