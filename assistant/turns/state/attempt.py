"""Defines one speculative reply and the words that it answers. No I/O, no clock."""

from dataclasses import dataclass
from enum import Enum, auto
from typing import Literal

from assistant.turns.effects import PrepareReply
from assistant.turns.events import ReplyId
from audio.units import Samples

IgnoreReason = Literal["", "noise", "overheard", "called", "backchannel"]
"""Reason for which a transcript is not answered; "" if it is answered."""

WITHOUT_TEXT = frozenset({"noise", "backchannel", "overheard"})
"""The reasons for which the words of a transcript are dropped."""

IF_INTERRUPTED = frozenset({"backchannel", "overheard"})
"""The reasons for which a transcript with words is only ignored if its turn interrupted a reply."""


class Stability(Enum):
    """The stability of an attempt's transcript: whether its words may still change.

    - DRAFT: the last word may be missing. A draft is never committed.
    - CONFIRMED: all words so far. They are committed once the transcript has settled.
    - LOST: the recognizer failed or timed out. There are no words, and the reply says so.
    - UNRECOGNIZED: clear speech without a word that was recognized. The reply says so.
    """

    DRAFT = auto()
    CONFIRMED = auto()
    LOST = auto()
    UNRECOGNIZED = auto()


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a transcript.

    Attributes:
        text: All words of the turn, with those of retracted replies.
        new_text: The words that are not in the history yet.
        low_confidence: The recognizer reports low confidence in the words.
        stability: How far they may still change.
        ignored_because: Why they are not answered.
        guessed: The recognizer took some of them for noise, but the speech was clear.
    """

    text: str
    new_text: str
    low_confidence: bool = False
    stability: Stability = Stability.CONFIRMED
    ignored_because: IgnoreReason = ""
    guessed: bool = False

    @property
    def is_draft(self) -> bool:
        """Whether the transcript is a draft."""
        return self.stability is Stability.DRAFT

    @property
    def are_lost(self) -> bool:
        """Whether there is no transcript."""
        return self.stability is Stability.LOST

    @property
    def need_apology(self) -> bool:
        """Whether there are no words, and the reply says so."""
        return self.are_lost or self.stability is Stability.UNRECOGNIZED


@dataclass(slots=True)
class Attempt:
    """One speculative reply to the transcript so far.

    Attributes:
        reply_id: The id of the reply.
        expected: The id of the requested transcript; None without a request.
        settled: The latest transcript, known or requested, does not change any more.
        words: The transcript so far; None before the first one.
        foreseen_until: It began before the silence, with a draft that covers the speech up to here. None once
            transcripts are requested, as for any other attempt.
    """

    reply_id: ReplyId
    expected: ReplyId | None
    settled: bool
    words: Words | None = None
    foreseen_until: Samples | None = None

    @property
    def final_words(self) -> Words | None:
        """The transcript, once it does not change any more."""
        if self.words is None or self.expected is not None or self.words.is_draft:
            return None
        return self.words if self.settled or self.words.are_lost else None


def prepare_reply(reply_id: ReplyId, words: Words, *, foreseen: bool = False) -> PrepareReply:
    """Returns the effect that starts the reply of an attempt."""
    unrecognized = words.stability is Stability.UNRECOGNIZED
    return PrepareReply(
        reply_id, words.text, words.new_text, words.are_lost, unrecognized=unrecognized, foreseen=foreseen
    )
