"""Passes on the answer in a model's text: without thoughts, end marks and marks of a template; finds written calls.

    BEGIN ──▶ THOUGHTS ──▶ BEGIN      thoughts between marks, or up to a lone end mark
      │  └──▶ CALL ──────▶ BEGIN      a call that was written as text
      └─────▶ ANSWER ─▶ OVER          the answer, up to the mark that ends the model's turn

Text is held only while it may become a mark. In code, marks are text, except for an end mark at the very end. No I/O.
"""

import re
from collections.abc import Callable, Sequence
from enum import Enum, auto

from llm.answer_text.marks import (
    LONE_END,
    MARK,
    MAX_MARK_CHARS,
    PARTIAL,
    WRAPPERS,
    Mark,
    end_of_call,
    end_of_thoughts,
    is_barred,
    kind_of,
    word_of,
)
from llm.answer_text.reasoning_habit import ReasoningHabit
from llm.answer_text.text_calls import MAX_CALL_CHARS, TextCall, calls_alone, calls_in
from llm.chat import Function
from llm.empty_answer import from_first_visible

_MAX_BLANKS = 256
"""Characters before the first visible one that are kept."""

_MAX_HEADER_CHARS = 200
"""Longest head of a message, such as `<|channel|>commentary to=functions.look <|message|>`."""

_BARE_WORDS = (
    *("thoughts", "thought", "thinking", "assistantfinal", "assistantcommentary"),
    *("commentary", "final", "assistant", "model"),
)
"""Words that stay at the beginning when a service removes the marks around them."""

_BARE = re.compile(rf"(?:{'|'.join(_BARE_WORDS)})(?:\s*\[\s*\]\s*|[ \t]*\n\s*|(?=[^\W_a-zß-ÿ]|[\"“„«¡¿*]))")
_BARE_PARTIAL = re.compile(rf"(?:{'|'.join(_BARE_WORDS)})[ \t]*(?:\[\s*)?\Z")
_BARE_ANALYSIS = re.compile(r"(?:assistant)?analysis(?=[^\W_]|[ \t]*\n)")
_BARE_COMMENTARY = re.compile(r"(?:assistant)?(?:commentary|analysis)?\s*to=\s*functions\.")
_BARE_BEGINS = (
    *_BARE_WORDS,
    "analysis",
    "assistantanalysis",
    "commentary to=functions.",
    "assistantcommentary to=functions.",
    "to=functions.",
)

_LIKE_THOUGHTS = (
    *(
        "okay, the user",
        "ok, the user",
        "okay, so the user",
        "okay, so i",
        "okay, let me",
        "okay, let's",
        "okay, i need",
    ),
    *("alright, the user", "alright, so", "alright, let", "got it, the user", "the user"),
    *("first, the user", "first, i need", "hmm", "we need to", "user asks", "user wants", "user says", "let me think"),
    *(
        "let's think",
        "i need to answer",
        "i need to respond",
        "i need to figure",
        "i should answer",
        "i should respond",
    ),
    *("thinking process", "here's a thinking process", "the question is", "the question asks"),
    *(
        "好的，用户",
        "嗯",
        "用户",
        "首先，用户",
        "我们需要",
        "der nutzer",
        "der benutzer",
        "l'utilisateur",
        "el usuario",
    ),
)
"""Beginnings of thoughts, for the first answer of an endpoint whose habit is unknown."""

_CALL_OBJECT = re.compile(
    r'(?:```(?:json)?\s*)?\[?\s*\{\s*"(?:name|function|tool|tool_name|type|id|tool_calls?|function_call|parameters|arguments)"\s*:'
)
_CALL_OBJECT_PARTIAL = re.compile(
    r'(?:`{1,3}(?:j(?:s(?:on?)?)?)?\s*|```(?:json)?\s*)?\[?\s*(?:\{\s*(?:"[a-z_]{0,13}"?\s*)?)?\Z'
)
_NAMED_OBJECT = re.compile(r'\[?\{\s*"(?:name|function|tool|tool_name)"\s*:\s*"([\w.\-]{1,64})"')
_NAMED_OBJECT_PARTIAL = re.compile(r'\[?\{\s*(?:"(?:[a-z_]{0,10}(?:"\s*(?::\s*(?:"[\w.\-]{0,64})?)?)?)?)?\Z')
_TOOL_FENCE = re.compile(r"```(?:tool_code|tool_calls?|function_calls?)\b")
_TOOL_FENCE_PARTIAL = re.compile(r"```(?:[a-z_]{0,14})\Z")
_PYTHON_CALL = re.compile(r"\[?\s*(?:print\()?([A-Za-z_][\w.]{0,64})\(")
_PYTHON_PARTIAL = re.compile(r"\[\s*[\w.]{0,64}\Z")
_AFTER_CALL_TAG = re.compile(r"\s*(?:[{\[<]|[\w.\-]{1,64}\s*(?:\n|<arg_key>|\{|\())")
_AFTER_CALL_TAG_PARTIAL = re.compile(r"\s*[\w.\-]{0,64}[ \t]*\Z")
_HARMONY_END = re.compile(r"(?=<\|(?:start|channel)\|>)|<\|(?:end|return|call)\|>|assistantfinal")
_HEADER_END = re.compile(r"<\|(?:message|end_header_id|end_of_role|im_middle)\|>|\n|(?=\{)")
_HEADER_WORDS = re.compile(r"\s*(?:assistant|model)?\s*(?:<\|channel\|>)?\s*(?:analysis|final|commentary)?\s*")
_RECIPIENT = re.compile(r"to=\s*(?!user|assistant)([\w.\-]+)")
_FENCE_END = re.compile(r"```")
_CODE = re.compile(r"`+|\n")


class _State(Enum):
    BEGIN = auto()
    THOUGHTS = auto()
    CALL = auto()
    HEADER = auto()
    ANSWER = auto()
    OVER = auto()


class AnswerFilter:
    """Filters the text of one answer.

    Attributes:
        seen: Whether thoughts arrived.
        calls: The calls that were written as text, as far as they are complete.
        unread_calls: How many written calls could not be read.
    """

    def __init__(self, habit: ReasoningHabit, functions: Sequence[Function] = ()) -> None:
        """Initializes the filter. `habit`: the endpoint's habit, which the filter updates."""
        self.seen = False
        self.calls: list[TextCall] = []
        self.unread_calls = 0
        self._habit = habit
        self._functions = functions
        self._names = frozenset(function.name for function in functions)
        self._steps: dict[_State, Callable[[], str | None]] = {
            _State.BEGIN: self._begin,
            _State.THOUGHTS: self._think,
            _State.CALL: self._collect_call,
            _State.HEADER: self._read_header,
            _State.ANSWER: self._answer,
            _State.OVER: self._skip,
        }
        self._state = _State.BEGIN
        self._held = ""  # the end of the text, which may become a mark
        self._kept: list[str] = []  # thoughts or a call, which may turn out to be the answer
        self._kept_chars = 0
        self._keeps = False
        self._end = LONE_END
        self._opener = ""
        self._unmarked = False  # these thoughts have no begin mark
        self._blanks = ""
        self._drops_blanks = False  # those after a mark
        self._over_softly = False
        self._has_visible = False
        self._literal_openers = 0
        self._thoughts_are_text = False
        self._in_fence = False
        self._in_code_span = False
        self._at_line_start = True
        self._held_end = ""  # an end mark in code, which is text if more follows
        self._ended = False

    @property
    def thinking(self) -> bool:
        """Whether the last text was thoughts."""
        return self._state is _State.THOUGHTS

    @property
    def over(self) -> bool:
        """Whether the model has ended its turn by a mark; further text is no part of the answer."""
        return self._state is _State.OVER and not self._over_softly

    @property
    def calling(self) -> bool:
        """Whether the last text may be a call."""
        return self._state is _State.CALL

    def mark_separated(self) -> None:
        """Records that the service separates reasoning itself; all text is the answer then."""
        self._habit.saw_separate_reasoning()

    def feed(self, text: str) -> str:
        """Adds text and returns the part that is the answer; "" while that is not known."""
        self._held += text
        return self._advance()

    def rest(self, *, cut: bool) -> str:
        """Ends the text. Returns held text that is the answer after all. `cut`: the answer was truncated."""
        self._ended = True
        text = self._advance()
        if self._state is _State.THOUGHTS:
            text += self._end_thoughts(cut=cut)
        elif self._state is _State.CALL:
            text += self._end_call("")
        elif not self._has_visible and not self.calls:
            text += self._blanks
        if not self.seen and self._has_visible and not self._unmarked:
            self._habit.saw_plain_answer()
        self._held = ""
        return text

    def _end_thoughts(self, *, cut: bool) -> str:
        """Ends the text inside of thoughts. Returns it if it is the answer after all."""
        if self._unmarked and cut:
            self._habit.saw_lone_end()
            self.seen = True
        if not self._keeps or self.seen:
            return ""
        if self._unmarked:
            self._habit.saw_plain_answer()
        opener = self._pass(self._opener)  # a mark that is text
        self._thoughts_are_text, self._state = True, _State.ANSWER
        self._held = self._taken()
        return opener + self._advance()

    # ---- the states ----

    def _advance(self) -> str:
        passed: list[str] = []
        while self._held:
            text = self._steps[self._state]()
            if text is None:
                break
            passed.append(text)
        return "".join(passed)

    def _begin(self) -> str | None:  # noqa: C901, PLR0911 - one case for each form of a beginning
        """Decides what the text begins with. Returns None if more text is needed."""
        begun = from_first_visible(self._held)
        if len(begun) < len(self._held):
            blanks = "" if self._drops_blanks else self._held[: len(self._held) - len(begun)]
            self._blanks = (self._blanks + blanks)[:_MAX_BLANKS]
            self._held = begun
        if not begun:
            return None
        if (mark := MARK.match(begun)) and kind_of(mark[0]) is not Mark.TEXT:
            return self._take_mark(mark[0], kind_of(mark[0]))
        if not self._ended and PARTIAL.match(begun):
            return None
        if match := _BARE_COMMENTARY.match(begun):
            self._start_call("", keeps=match[0])
            self._held = begun[match.end() :]
            return ""
        if match := _BARE.match(begun):
            self._held = begun[match.end() :]
            self._drop_blanks()
            return ""
        if match := _BARE_ANALYSIS.match(begun):
            self._start_thoughts(begun[: match.end()], re.compile(r"assistantfinal|(?=<\|(?:start|channel)\|>)"))
            self._held = begun[match.end() :]
            return ""
        if _TOOL_FENCE.match(begun):
            self._start_call("```")
            return ""
        if _CALL_OBJECT.match(begun):
            self._start_call("")
            return ""
        if (python := _PYTHON_CALL.match(begun)) and self._is_declared(python[1].removesuffix(".call")):
            self._start_call("")
            return ""
        if not self._ended and self._may_begin(begun):
            return None
        guess = not self._habit.known and begun.lower().replace("’", "'").startswith(_LIKE_THOUGHTS)
        if (self._habit.begins_unmarked or guess) and not self.seen and not self._has_visible:
            self._start_thoughts("", LONE_END, unmarked=True)
            return ""
        self._state = _State.ANSWER
        return ""

    def _may_begin(self, begun: str) -> bool:
        """Returns whether more text may turn this beginning into one that is no answer."""
        partial = _BARE_PARTIAL.match(begun) or _CALL_OBJECT_PARTIAL.match(begun) or _TOOL_FENCE_PARTIAL.match(begun)
        if partial or any(word.startswith(begun) for word in _BARE_BEGINS):
            return True
        if self._names and (_PYTHON_PARTIAL.match(begun) or any(name.startswith(begun) for name in self._names)):
            return True
        lowered = begun.lower().replace("’", "'")
        return (
            not self._habit.known and not self.seen and any(thought.startswith(lowered) for thought in _LIKE_THOUGHTS)
        )

    def _is_declared(self, name: str) -> bool:
        return name in self._names or name.rpartition(".")[2] in self._names

    def _think(self) -> str | None:
        match = self._end.search(self._held)
        if match is None:
            self._keep_all_but(MAX_MARK_CHARS)
            return None
        if self._unmarked:
            self._habit.saw_lone_end()
            self._unmarked = False
        self.seen = True
        self._held = self._held[match.end() :]
        self._kept.clear()
        self._kept_chars = 0
        self._drop_blanks()
        self._state = _State.ANSWER if self._has_visible else _State.BEGIN
        return ""

    def _collect_call(self) -> str | None:
        match = self._end.search(self._held)
        if match is None:
            self._keep_all_but(MAX_MARK_CHARS)
            return None
        after = match.start() if _kind_of_end(match[0]) is Mark.END else match.end()
        body, self._held = self._held[: match.start()], self._held[after:]
        return self._end_call(body)

    def _read_header(self) -> str | None:
        """Reads the head of a message, from its mark to its text."""
        end = _HEADER_END.search(self._held)
        if end is None and len(self._held) < _MAX_HEADER_CHARS and not self._ended:
            return None
        end = end or _HEADER_WORDS.match(self._held)
        assert end is not None, "it matches any text"
        head = self._held[: end.end()]
        self._held = self._held[end.end() :]
        if self._opener not in {"<|start|>", "<|channel|>"}:
            return self._after_role(MARK.sub("", head))
        if named := _RECIPIENT.search(head):
            self._start_call("to=", keeps=f"to={named[1]} ")
            return ""
        if self._opener == "<|start|>" and not head.lstrip().startswith("assistant"):
            self._state = _State.OVER
        elif "analysis" in head:
            self._start_thoughts(self._opener, _HARMONY_END)
        else:
            self._state = _State.ANSWER if self._has_visible else _State.BEGIN
        return ""

    def _after_role(self, head: str) -> str:
        """Goes on after the head of a message: another role's message is not part of the answer."""
        is_own = re.fullmatch(r"\s*(?:assistant|model|ai|bot|gpt)?\s*", head, re.IGNORECASE) is not None
        self._state = _State.OVER if self._has_visible or not is_own else _State.BEGIN
        return ""

    def _answer(self) -> str | None:
        """Passes the answer on up to the next mark."""
        held = self._held
        for match in MARK.finditer(held):
            kind = kind_of(match[0])
            if kind is not Mark.TEXT:
                before = self._pass(held[: match.start()])
                self._held = held[match.start() :]
                passed = self._take_mark(match[0], kind)
                return before or None if passed is None else before + passed
        if call := self._object_call(held):
            before = self._pass(held[: call.start()])
            self._held = held[call.start() :]
            self._start_call("")
            return before
        if self._ended:
            self._held = ""
            return self._pass(held)
        partial = PARTIAL.search(held) or (_NAMED_OBJECT_PARTIAL.search(held) if self._names else None)
        position = partial.start() if partial else len(held)
        if self._ends_in_fence(held[:position]):
            position = held.rindex("```")
        self._held = held[position:]
        passed = self._pass(held[:position])
        return passed if not self._held else passed or None

    def _ends_in_fence(self, text: str) -> bool:
        """Returns whether the text ends with a fence whose language is not known yet."""
        position = text.rfind("```")
        return (
            position >= 0
            and not self._in_fence
            and "\n" not in text[position:]
            and bool(_TOOL_FENCE_PARTIAL.match(text, position))
        )

    def _object_call(self, text: str) -> re.Match[str] | None:
        """Returns the beginning of a call of a declared function, outside of code."""
        if fence := _TOOL_FENCE.search(text):
            return fence
        if not self._names or self._in_fence or self._in_code_span:
            return None
        named = _NAMED_OBJECT.search(text)
        return named if named and self._is_declared(named[1]) and "`" not in text[: named.start()] else None

    def _skip(self) -> str | None:
        """Drops the text after the end; only another message of the model is read."""
        match = re.search(r"<\|(?:start|channel)\|>", self._held) if self._over_softly else None
        if match is None:
            self._held = self._held[-MAX_MARK_CHARS:] if self._over_softly and not self._ended else ""
            return None
        self._opener, self._state = match[0], _State.HEADER
        self._held = self._held[match.end() :]
        return ""

    # ---- marks ----

    def _take_mark(self, mark: str, kind: Mark) -> str | None:  # noqa: C901, PLR0911, PLR0912
        """Handles the mark at the beginning of the held text. Returns text that passes; None if more is needed."""
        if self._in_fence or self._in_code_span:
            return self._take_code_mark(mark, kind)
        if mark in self._habit.stops:
            self._held = self._held[len(mark) :]
            self._state = _State.ANSWER
            return self._pass(mark)
        after = self._held[len(mark) :]
        if kind is Mark.CALL and not is_barred(mark) and mark[0] == "<" and "=" not in mark:
            if not self._ended and _AFTER_CALL_TAG_PARTIAL.match(after):
                return None
            if not _AFTER_CALL_TAG.match(after) and self._has_visible:
                kind = Mark.TEXT
        self._held = after
        if self._state is _State.BEGIN:
            self._drop_blanks()
        match kind:
            case Mark.THOUGHTS if self._has_visible and (
                self._thoughts_are_text or not (self._at_line_start or is_barred(mark))
            ):
                self._literal_openers += 1
                return self._pass(mark)
            case Mark.THOUGHTS:
                self._start_thoughts(mark, end_of_thoughts(mark))
            case Mark.THOUGHTS_END if self._literal_openers:
                self._literal_openers -= 1
                return self._pass(mark)
            case Mark.THOUGHTS_END:
                if self._has_visible:
                    self._habit.saw_lone_end()
                    self.seen = True
            case Mark.CALL:
                self._start_call(mark)
            case Mark.END if mark == "</s>" and self._literal_openers:
                self._literal_openers -= 1
                return self._pass(mark)
            case Mark.END:
                self._take_end(mark)
            case Mark.HEADER:
                self._take_header(mark)
            case Mark.WRAPPER if not self._has_visible:
                self._state = _State.BEGIN
            case Mark.WRAPPER if mark.lower() == "<s>":
                self._literal_openers += 1
                return self._pass(mark)
            case Mark.WRAPPER if mark[0] == "<" and word_of(mark) in WRAPPERS and not self.seen:
                return self._pass(mark)
            case Mark.TEXT:
                return self._pass(mark)
        return ""

    def _drop_blanks(self) -> None:
        self._blanks, self._drops_blanks = "", True

    def _take_code_mark(self, mark: str, kind: Mark) -> str:
        self._held = self._held[len(mark) :]
        if kind is Mark.END or (kind is Mark.HEADER and is_barred(mark)):
            passed, self._held_end = self._take_held_end(), mark
            return passed
        return self._pass(mark)

    def _take_end(self, mark: str) -> None:
        """Ends the answer; before its first word, an end mark is a leftover of the prompt."""
        if self._has_visible or self.calls:
            self._state = _State.OVER
            self._over_softly = mark in {"<|end|>", "<|call|>"}

    def _take_header(self, mark: str) -> None:
        word = word_of(mark)
        if word in {"start", "channel", "start_header_id", "im_start", "start_of_turn", "start_of_role", "turn"}:
            self._opener, self._state = mark, _State.HEADER
        elif word in {"assistant", "im_assistant", "bot", "model"}:
            self._after_role("assistant")
        elif word in {"im_system", "im_middle", "begin_of_text", "sop"}:
            self._state = _State.ANSWER if self._has_visible else _State.BEGIN
        else:
            self._state = _State.OVER

    # ---- thoughts and calls ----

    def _start_thoughts(self, opener: str, end: re.Pattern[str], *, unmarked: bool = False) -> None:
        self._state, self._opener, self._end, self._unmarked = _State.THOUGHTS, opener, end, unmarked
        self._keeps = unmarked or self._has_visible
        self.seen = self.seen or not self._keeps

    def _start_call(self, opener: str, *, keeps: str = "") -> None:
        """Begins a call. `opener`: its mark; "" if the text may be none. `keeps`: text that belongs to it."""
        self._state, self._opener, self._keeps = _State.CALL, opener, True
        self._end = _FENCE_END if opener == "```" else end_of_call(opener)
        if opener == "```":
            self._held = _TOOL_FENCE.sub("", self._held, count=1)
        self._kept = [keeps or opener]
        self._kept_chars = 0

    def _end_call(self, body: str) -> str:
        """Reads the call that is complete. Text without a mark of a call may be something else."""
        text = self._taken() + body
        self._state = _State.ANSWER if self._has_visible else _State.BEGIN
        marked = self._opener or not text.lstrip().startswith(("{", "[", "`"))
        calls = calls_alone(text, self._functions) or (calls_in(text, self._functions) if marked else [])
        if calls:
            self.calls += calls
        elif self._opener:
            self.unread_calls += 1
        else:
            self._state = _State.ANSWER
            return self._pass(text)
        return ""

    def _keep_all_but(self, chars: int) -> None:
        """Keeps the held text but its last characters, or drops it if it can only be thoughts."""
        moved = self._held if self._ended else self._held[:-chars]
        self._held = "" if self._ended else self._held[-chars:]
        if self._keeps and (self._state is not _State.CALL or self._kept_chars <= MAX_CALL_CHARS or not self._opener):
            self._kept.append(moved)
            self._kept_chars += len(moved)

    def _taken(self) -> str:
        """Returns and forgets the kept and the held text."""
        held = self._held if self._ended else ""
        text = "".join(self._kept) + held
        self._kept.clear()
        self._kept_chars = 0
        if self._ended:
            self._held = ""
        return text

    # ---- text that passes ----

    def _take_held_end(self) -> str:
        held, self._held_end = self._held_end, ""
        return held

    def _pass(self, text: str) -> str:
        """Passes text of the answer on, and follows lines and code in it."""
        if not text:
            return ""
        if not self._has_visible:
            text, self._blanks = self._blanks + text, ""
            self._has_visible = bool(from_first_visible(text))
        if self._held_end and not text.strip():
            self._held_end = (self._held_end + text)[:MAX_MARK_CHARS]
            return ""
        text = self._take_held_end() + text
        for match in _CODE.finditer(text):
            if match[0] == "\n":
                self._in_code_span = False
            elif len(match[0]) >= 3:
                self._in_fence = not self._in_fence
            elif not self._in_fence:
                self._in_code_span = not self._in_code_span
        line = text[text.rfind("\n") + 1 :]
        self._at_line_start = not line.strip() and ("\n" in text or self._at_line_start)
        return text


def _kind_of_end(mark: str) -> Mark:
    return kind_of(mark) if MARK.fullmatch(mark) else Mark.TEXT
