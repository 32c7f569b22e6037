"""A model's thoughts, where a service sends them amidst its answer: told apart from what is to be heard. No I/O.

Most services have a parser for that. Without one, thoughts stand between marks before the answer; or the template has
already said the first mark, and only the last one comes; or the marks are gone, as gpt-oss's, and words are left.
"""

import re
from dataclasses import dataclass

from llm.empty_answer import without_blanks

_MARKS = {
    **{f"<{name}>": f"</{name}>" for name in ("think", "thinking", "thought", "reasoning", "seed:think")},
    "◁think▷": "◁/think▷",
    "[THINK]": "[/THINK]",
    "<|channel|>analysis<|message|>": "<|channel|>final<|message|>",
    "<|channel|>final<|message|>": "",
}
"""Where thoughts begin and end; the last has none, or they were left out."""

_BARE = "analysis"
"""gpt-oss without its marks: "analysisThe user asks...assistantfinalIt is four."."""

_ENDS = {**_MARKS, _BARE: "assistantfinal"}

_ALWAYS_UNMARKED = re.compile(
    r"deepseek-?r1|(?<![a-z])qwq(?![a-z])|qwen3[\w.:-]*(?<!non)(?<!non-)(?<!no)(?<!no-)thinking|exaone-deep|minimax-m2"
    r"|olmo-?3[\w.:-]*-think(?![a-z])",
    re.IGNORECASE,
)
"""Models that always think, and whose own templates have said the first mark. Of those that can do without, the name
does not tell what they do here."""

_LONE_END = re.compile("|".join(re.escape(end) for end in _MARKS.values() if "/" in end), re.IGNORECASE)
_MOST_CHARS = max(map(len, (*_ENDS, *_ENDS.values())))


@dataclass(slots=True)
class ReasoningHabit:
    """How an endpoint's model thinks, from one answer to the next.

    Attributes:
        begins_unmarked: Its thoughts ended with a mark and had begun with none.
    """

    begins_unmarked: bool = False


def begins_unmarked(model: str) -> bool:
    """Whether a model of that name thinks before every answer, and without a first mark.

    Where it is wrong, only the first answer waits for its end: what comes tells better.
    """
    return _ALWAYS_UNMARKED.search(model) is not None


def habit_of(prompt: str) -> ReasoningHabit:
    """Where a prompt ends with the first mark, thoughts follow it."""
    said = prompt.rstrip().lower()
    return ReasoningHabit(
        begins_unmarked=any(said.endswith(mark.lower()) for mark, end in _MARKS.items() if "/" in end)
    )


class ReasoningFilter:
    """Of one answer.

    Attributes:
        came: Some came.
    """

    def __init__(self, habit: ReasoningHabit) -> None:
        """`habit` of the endpoint: what is learned of it here is remembered there."""
        self.came = False
        self._habit = habit
        self._held = ""
        self._searched = 0  # no end begins before that place of what is held
        self._end: re.Pattern[str] | None = None
        self._answers = False
        self._passed = ""

    @property
    def thinking(self) -> bool:
        """Whether the last that came was a thought."""
        return self._end is not None

    def told_apart(self) -> None:
        """The service tells thoughts by itself: what comes as text is the answer."""
        self._habit.begins_unmarked = False

    def heard(self, text: str) -> str:
        """What of some more text is the answer; "" while that is not known."""
        self._held += text
        while not self._answers:
            if not (self._begin() if self._end is None else self._ended(self._end)):
                return ""
        text, self._held = self._held, ""
        if not self.came:
            if _LONE_END.search(self._passed + text):
                self._habit.begins_unmarked = True
            self._passed = (self._passed + text)[-_MOST_CHARS:]
        return text

    def rest(self, *, cut: bool) -> str:
        """What was held back and is the answer after all. `cut`: the answer was, so that these are thoughts."""
        if self._end is not None and not self.came:
            self.came = cut
            self._habit.begins_unmarked = cut
        text, self._held = self._held, ""
        return "" if self._end is not None and self.came else text

    def _begin(self) -> bool:
        """Whether it is known what comes: thoughts, or the answer."""
        begun = without_blanks(self._held)
        mark = next((mark for mark in _ENDS if begun.lower().startswith(mark.lower())), "")
        if mark == _BARE and not begun[len(mark) :][:1].isalnum():
            mark = ""
        if mark:
            self._held, self.came = begun[len(mark) :], True
            self._end = re.compile(re.escape(_ENDS[mark]), re.IGNORECASE)
        elif not begun or begun == _BARE or any(mark.lower().startswith(begun.lower()) for mark in _MARKS):
            return False
        elif self._habit.begins_unmarked and not self.came:
            self._end = _LONE_END
        else:
            self._held = begun if self.came else self._held
            self._answers = True
        return True

    def _ended(self, end: re.Pattern[str]) -> bool:
        found = end.search(self._held, self._searched)
        if found is None:
            if self.came:
                self._held = self._held[-_MOST_CHARS:]
            self._searched = max(0, len(self._held) - _MOST_CHARS)
            return False
        self._held, self._searched, self._end, self.came = self._held[found.end() :], 0, None, True
        return True
