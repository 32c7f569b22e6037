"""Puts the answers to parallel requests in order. No I/O, no clock.

The answer to the first open part is passed on as it arrives. Answers to later parts are kept until it is their turn.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

MAX_ANSWER_CHARS = 4000
"""Longest answer to one part; more is dropped."""


@dataclass(frozen=True, slots=True)
class AnswerText:
    """The next piece of the answer to the part with this index."""

    part: int
    text: str


@dataclass(frozen=True, slots=True)
class AnswerEnded:
    """The answer to the part is complete, or ends here.

    Attributes:
        outcome: "answered"; "broken": it failed after its beginning was passed on; "failed": nothing was passed on.
        reason: For a failure: why, as one spoken sentence.
    """

    part: int
    outcome: Literal["answered", "broken", "failed"] = "answered"
    reason: str = ""


AnswerEvent = AnswerText | AnswerEnded


@dataclass(slots=True)
class _Answer:
    pieces: list[str] = field(default_factory=list)
    taken: int = 0  # pieces passed on
    chars: int = 0
    ended: bool = False
    failure: str | None = None


class OrderedAnswers:
    """The answers to a number of parts, by their index. Not thread-safe."""

    def __init__(self, count: int) -> None:
        """`count`: number of parts."""
        self._answers = [_Answer() for _ in range(count)]
        self._open = 0  # index of the first part that is not passed on completely

    @property
    def complete(self) -> bool:
        """Whether everything was passed on."""
        return self._open == len(self._answers)

    def text_of(self, part: int) -> str | None:
        """Returns the complete answer to a part; None if it failed or has not ended."""
        answer = self._answers[part]
        return "".join(answer.pieces).strip() if answer.ended and answer.failure is None else None

    def add_text(self, part: int, text: str) -> None:
        """Adds a piece of the answer to a part. Blanks before its first word are dropped."""
        answer = self._answers[part]
        kept = (text if answer.chars else text.lstrip())[: MAX_ANSWER_CHARS - answer.chars]
        if kept and not answer.ended:
            answer.pieces.append(kept)
            answer.chars += len(kept)

    def is_blank(self, part: int) -> bool:
        """Returns whether the answer to a part has no visible text so far."""
        return not self._answers[part].pieces

    def restart(self, part: int) -> bool:
        """Drops the answer to a part, which is asked again. Returns False if a piece of it was passed on already."""
        answer = self._answers[part]
        if answer.ended or answer.taken:
            return False
        answer.pieces, answer.chars = [], 0
        return True

    def end(self, part: int, failure: str | None = None) -> None:
        """Ends the answer to a part. `failure`: why it failed, as one spoken sentence; None: it is complete."""
        answer = self._answers[part]
        if not answer.ended:
            answer.ended, answer.failure = True, failure

    def take(self) -> Iterator[AnswerEvent]:
        """Yields what can be passed on now, in the order of the parts. Each piece is yielded once."""
        while self._open < len(self._answers):
            part, answer = self._open, self._answers[self._open]
            if answer.failure is None or answer.taken:
                while answer.taken < len(answer.pieces):
                    answer.taken += 1
                    yield AnswerText(part, answer.pieces[answer.taken - 1])
            if not answer.ended:
                return
            self._open += 1
            if answer.failure is None:
                yield AnswerEnded(part)
            else:
                yield AnswerEnded(part, "broken" if answer.taken else "failed", answer.failure)
