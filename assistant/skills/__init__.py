"""What is answered without a language model: time, sums, units, small talk, and what is missing."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class SkillContext:
    """What an answer may depend on besides the words.

    Attributes:
        now: Local time, with its zone.
        last_reply: What the assistant said last, as it was heard; None when it has said nothing yet.
        language: BCP 47 tag of the conversation ("en", "en-GB"); the sentences are English.
    """

    now: datetime
    last_reply: str | None = None
    language: str = "en"

    def __post_init__(self) -> None:
        """Raises ValueError when `now` has no zone: the time elsewhere could not be told from it."""
        if self.now.tzinfo is None:
            raise ValueError("SkillContext.now has no time zone; pass datetime.now().astimezone()")


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply written for the ear: numbers and units as words.

    Attributes:
        text: One to three sentences.
        skill: Which skill answered: "time", "date", "arithmetic", ...
    """

    text: str
    skill: str


# An answer that waits only for its context. Everything that can be refused has been refused before it exists.
Reply = Callable[[SkillContext], str]
