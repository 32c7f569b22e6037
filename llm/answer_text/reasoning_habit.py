"""Remembers how an endpoint's model reasons, from one answer to the next."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from llm.answer_text.marks import MARK, MAX_MARK_CHARS, Mark, kind_of

MAX_PLAIN_ANSWERS = 3
"""Answers without reasoning, one after another, after which a learned habit is forgotten."""

_ALWAYS_UNMARKED = re.compile(
    r"deepseek-?r1|(?<![a-z])qwq(?![a-z])|qwen3[\w.:-]*(?<!non)(?<!non-)(?<!no)(?<!no-)thinking|exaone-deep|minimax-m2"
    r"|olmo-?3[\w.:-]*-think(?![a-z])",
    re.IGNORECASE,
)
"""Models that always reason and whose template contains the first mark.

For models with optional reasoning, the name does not tell whether it is on."""


@dataclass(slots=True)
class ReasoningHabit:
    """Habits of an endpoint's model in its reasoning; carried over from one answer to the next.

    Attributes:
        begins_unmarked: Whether its reasoning had an end mark but no begin mark, or is expected to.
        stops: Stop sequences of the prompt, which pass: `StopSequenceParser` ends the answer there.
        known: Whether an answer has shown how it reasons. Until then, a beginning that reads like thoughts is held.
    """

    begins_unmarked: bool = False
    stops: tuple[str, ...] = ()
    known: bool = False
    _plain_left: int = 1  # answers without reasoning until `begins_unmarked` is given up

    def saw_lone_end(self) -> None:
        """Records reasoning with an end mark only."""
        self.begins_unmarked, self.known, self._plain_left = True, True, MAX_PLAIN_ANSWERS

    def saw_plain_answer(self) -> None:
        """Records an answer without reasoning."""
        self.known = True
        self._plain_left -= 1
        if self._plain_left <= 0:
            self.begins_unmarked = False

    def saw_separate_reasoning(self) -> None:
        """Records that the service sends reasoning apart from the text."""
        self.begins_unmarked, self.known = False, True


def begins_unmarked(model: str) -> bool:
    """Returns whether a model of this name reasons before every answer, without a begin mark.

    If the guess is wrong, only the first answer is held back until its end; its text then corrects the guess.
    """
    return _ALWAYS_UNMARKED.search(model) is not None


def habit_of(prompt: str, stops: Sequence[str] = ()) -> ReasoningHabit:
    """Returns the habit for a prompt: reasoning follows if it ends with a begin mark. `stops`: see the class."""
    end = prompt.rstrip()[-MAX_MARK_CHARS:]
    marks = MARK.findall(end)
    unmarked = bool(marks) and end.endswith(marks[-1]) and kind_of(marks[-1]) is Mark.THOUGHTS
    return ReasoningHabit(begins_unmarked=unmarked, stops=tuple(stops))
