"""Separates a model's reasoning from its answer, if a service sends both as text. No I/O.

Most services send them in separate fields. The others send one text, in one of three forms:

- The reasoning stands between two marks, before the answer.
- Only the end mark is sent, because the chat template contains the first one.
- Plain words stand in place of the marks (gpt-oss).
"""

import re
from dataclasses import dataclass

from llm.empty_answer import from_first_visible

_MARKS = {
    **{f"<{name}>": f"</{name}>" for name in ("think", "thinking", "thought", "reasoning", "seed:think")},
    "◁think▷": "◁/think▷",
    "[THINK]": "[/THINK]",
    "<|channel|>analysis<|message|>": "<|channel|>final<|message|>",
    "<|channel|>final<|message|>": "",
}
"""Marks at the beginning and the end of reasoning. The last entry has no end mark: reasoning is absent or was removed.
"""

_BARE = "analysis"
"""gpt-oss without its marks writes "analysisThe user asks...assistantfinalIt is four.", in one word."""

_ENDS = {**_MARKS, _BARE: "assistantfinal"}

_ALWAYS_UNMARKED = re.compile(
    r"deepseek-?r1|(?<![a-z])qwq(?![a-z])|qwen3[\w.:-]*(?<!non)(?<!non-)(?<!no)(?<!no-)thinking|exaone-deep|minimax-m2"
    r"|olmo-?3[\w.:-]*-think(?![a-z])",
    re.IGNORECASE,
)
"""Models that always reason and whose template contains the first mark.

For models with optional reasoning, the name does not tell whether it is on."""

_LONE_END = re.compile("|".join(re.escape(end) for end in _MARKS.values() if "/" in end), re.IGNORECASE)
_MAX_CHARS = max(map(len, (*_ENDS, *_ENDS.values())))


@dataclass(slots=True)
class ReasoningHabit:
    """Habits of an endpoint's model in its reasoning; carried over from one answer to the next.

    Attributes:
        begins_unmarked: Whether its reasoning had an end mark but no begin mark.
    """

    begins_unmarked: bool = False


def begins_unmarked(model: str) -> bool:
    """Returns whether a model of this name reasons before every answer, without a begin mark.

    If the guess is wrong, only the first answer is held back until its end; its text then corrects the guess.
    """
    return _ALWAYS_UNMARKED.search(model) is not None


def habit_of(prompt: str) -> ReasoningHabit:
    """Returns the habit for a prompt: reasoning follows if the prompt ends with a begin mark."""
    prompt_end = prompt.rstrip().lower()
    return ReasoningHabit(
        begins_unmarked=any(prompt_end.endswith(mark.lower()) for mark, end in _MARKS.items() if "/" in end)
    )


class ReasoningFilter:
    """Removes the reasoning from one answer.

    Attributes:
        seen: Whether reasoning arrived.
    """

    def __init__(self, habit: ReasoningHabit) -> None:
        """Initializes the filter. `habit`: the endpoint's habit; the filter updates it."""
        self.seen = False
        self._habit = habit
        self._held = ""
        self._searched = 0  # no end mark begins before this position of the held text
        self._end: re.Pattern[str] | None = None
        self._answers = False
        self._passed = ""

    @property
    def thinking(self) -> bool:
        """Whether the last text was reasoning."""
        return self._end is not None

    def mark_separated(self) -> None:
        """Records that the service separates reasoning itself; all text is the answer then."""
        self._habit.begins_unmarked = False

    def feed(self, text: str) -> str:
        """Adds text and returns the part that is the answer; "" while that is not known."""
        self._held += text
        while not self._answers:
            if not (self._begin() if self._end is None else self._ended(self._end)):
                return ""
        text, self._held = self._held, ""
        if not self.seen:
            if _LONE_END.search(self._passed + text):
                self._habit.begins_unmarked = True
            self._passed = (self._passed + text)[-_MAX_CHARS:]
        return text

    def rest(self, *, cut: bool) -> str:
        """Returns held text that is the answer after all. `cut`: the answer was truncated; held text is reasoning."""
        if self._end is not None and not self.seen:
            self.seen = cut
            self._habit.begins_unmarked = cut
        text, self._held = self._held, ""
        return "" if self._end is not None and self.seen else text

    def _begin(self) -> bool:
        """Decides whether reasoning or the answer follows. Returns whether that is known yet."""
        begun = from_first_visible(self._held)
        mark = next((mark for mark in _ENDS if begun.lower().startswith(mark.lower())), "")
        if mark == _BARE and not begun[len(mark) :][:1].isalnum():
            mark = ""
        if mark:
            self._held, self.seen = begun[len(mark) :], True
            self._end = re.compile(re.escape(_ENDS[mark]), re.IGNORECASE)
        elif not begun or begun == _BARE or any(mark.lower().startswith(begun.lower()) for mark in _MARKS):
            return False
        elif self._habit.begins_unmarked and not self.seen:
            self._end = _LONE_END
        else:
            self._held = begun if self.seen else self._held
            self._answers = True
        return True

    def _ended(self, end: re.Pattern[str]) -> bool:
        found = end.search(self._held, self._searched)
        if found is None:
            if self.seen:
                self._held = self._held[-_MAX_CHARS:]
            self._searched = max(0, len(self._held) - _MAX_CHARS)
            return False
        self._held, self._searched, self._end, self.seen = self._held[found.end() :], 0, None, True
        return True
