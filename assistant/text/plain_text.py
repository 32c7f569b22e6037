"""Last filter before synthesis: reduces runs of symbols and spaces to speakable text.

The output is plain: no markup characters, single spaces, and a blank line as the only line break. Filtering the
output again does not change it, because every symbol that could begin markup is dropped or separated.
"""

import html
import re
from functools import lru_cache

from assistant.text.telephone_keys import key_text

_MARKUP = "`[]\\【】◁▷"
_JOINERS = "\u200c\u200d"
_SYMBOLS = re.escape(_MARKUP) + r"<>#$~\-+=*_^|→•—–" + _JOINERS
_PIECE = re.compile(rf"(?P<run>[ {_SYMBOLS}]+)|[^ {_SYMBOLS}]+")
_NEVER_SPOKEN = re.compile(f"[{re.escape(_MARKUP)}]")
_MARKS = re.compile(r"[,;:!?.…/。！？、，；：]")
_SINGLE_MARKS = frozenset(",;:!?…。！？、，；：")
_OPERAND = re.compile(r"(?<![^\W_])[^\W_]\Z|\d\Z")
_SEPARATOR = re.compile(r"[|→•]")
_REPEATED = re.compile(r"(.)\1{3,}")
_SAME_SYMBOL = re.compile(r"([<>=#$~+—–→])\1+")
_ENTITY_BEFORE_SEMICOLON = re.compile(r"&#?\w{1,31}\Z")
_MARK_BEFORE_PAUSE = frozenset(",;:.!?…(。！？、，；：")

# These two invisible joiners shape words in Arabic and Indic scripts. Elsewhere they are removed.
_JOINING_SCRIPTS = re.compile(r"[\u0600-\u08ff\u0900-\u0dff]")

_MAX_RUN_CHARS = 256
_TAIL_CHARS = 80


def is_entity(text: str) -> bool:
    """Returns whether `text` is a complete HTML entity such as `&amp;`."""
    return html.unescape(text) != text


def _has_alnum(*chars: str) -> bool:
    return all(char.isalnum() for char in chars)


def _drop_at_line_start(run: str, following: str) -> str:
    """Drops bullets, quote marks and rules at the start of a line, but keeps a sign before a number."""
    rest = run.lstrip(" -+=>—–→|•")
    if not rest and following.isdigit() and run[-1:] in ("-", "+", "–"):
        return run[-1]
    return rest


def _keep_dollar(before: str, run: str, following: str) -> str:
    """Keeps a dollar sign next to a number, before it ($5) or after it (5 $), and removes all others."""
    if "$" not in run:
        return run
    if run.endswith("$") and following.isdigit():
        return run[:-1].replace("$", "") + "$"
    if run.endswith("$ ") and following.isdigit() and not before.isdigit():
        return run[:-2].replace("$", "") + "$ "
    if run == " $" and following == ".":
        return run  # "$.50"
    bare = run.replace("$", "")
    opens_math = run.endswith("$") and (following.isalpha() or following in ("(", "{"))
    if before.isdigit() and run.lstrip().startswith("$") and not opens_math:
        space = run[: len(run) - len(run.lstrip())]
        return f"{space}${bare.removeprefix(space)}"
    return bare


def _keep_hash(before: str, run: str, following: str) -> str:
    """Keeps the "#" of `#5`, `#tag` and `C#`, and removes all others."""
    if "#" not in run:
        return run
    lead = "#" if run.startswith("#") and before.isalnum() else ""
    trail = "#" if run.endswith("#") and following.isalnum() and run != lead else ""
    return lead + run.replace("#", "") + trail


def _clean(before: str, run: str, following: str) -> str:
    """Cleans a run of symbols between two characters once. The caller repeats this until nothing changes."""
    run = re.sub(r"[*_^]|~{2,}", "", run)
    if not (len(run) == 1 and _JOINING_SCRIPTS.match(before) and _JOINING_SCRIPTS.match(following)):
        run = re.sub(f"[{_JOINERS}]", "", run)
    run = re.sub(r"[-—–]+>|=+>", "→", run)
    run = re.sub(r"-{2,}|[-—–]*[—–][-—–]+|-+[—–]+", "—", run)
    plus_signs = "++" if before.isalnum() and re.match(r"\+\+(?!\+)", run) else ""  # "C++", "i++"
    run = plus_signs + _SAME_SYMBOL.sub(r"\1", run[len(plus_signs) :])
    if before in ("", "\n"):
        run = _drop_at_line_start(run, following)
    if "~" in run:
        head = run.rstrip("$")
        about = (head.endswith("~") or (head == " ~ " and (before.isalnum() or before in "%°"))) and (
            following.isdigit() or following in ("€", "£")
        )
        run = run if about and head == " ~ " else head.replace("~", "") + "~" * about + run[len(head) :]
    run = _keep_hash(before, _keep_dollar(before, run, following), following)
    if run.endswith("<") and (following.isalpha() or following in ("/", "!", "?")):
        run += " "  # the space prevents a later pass from reading a tag
    run = re.sub(r" {2,}", " ", run)
    return run.rstrip() if not following else run


def _settle(before: str, run: str, following: str) -> str:
    for _ in range(16):
        cleaned = _clean(before, run, following)
        if cleaned == run:
            return run
        run = cleaned
    return " " if " " in run else ""


def _join_cells(before: str, run: str, following: str) -> str:
    """Replaces table cell borders, arrows and dots between words by a comma."""
    parts = _SEPARATOR.split(run)
    if len(parts) == 1:
        return run
    head = _settle(before, parts[0].rstrip(), ",")
    last = head[-1:] or before
    if not following:
        return head.rstrip()
    if last in ("", "\n"):
        return _settle(before, parts[-1], following)
    if last in _MARK_BEFORE_PAUSE:
        return head + _settle(last, " " + parts[-1], following)
    return head + "," + _settle(",", " " + parts[-1], following)


@lru_cache(maxsize=2048)  # few distinct runs occur; the key is the run and its two neighbors
def _resolve(before: str, run: str, following: str) -> str:
    """Returns the speakable part of a run of symbols between two characters; "" is the edge of a line."""
    if run in ("", " "):
        return run if following and before not in ("", "\n") else ""
    run = re.sub(r" {2,}", " ", _NEVER_SPOKEN.sub("", run))
    core = run.strip()
    if (
        core == "*"
        and following
        and ((before + following).isdigit() or (run == " * " and (before.isalnum() or before in ")]}%°²³\"'")))
    ):
        return run.replace("*", "×")
    if core in ("^", "**") and _has_alnum(before, following) and (core == "^" or (before + following).isdigit()):
        return " to the power of "
    if core and set(run) == {"_"} and _has_alnum(before, following):
        return " "
    return _join_cells(before, _settle(before, run, following), following)


class PlainText:
    """Converts text without block structure to plain text, incrementally.

    Holds back at most one run of symbols, until the next letter, digit or punctuation mark.
    """

    __slots__ = ("_out", "_run", "_tail")

    def __init__(self) -> None:
        """Starts at the beginning of a line."""
        self._out: list[str] = []
        self._run = ""
        self._tail = ""

    @property
    def last(self) -> str:
        """The last character of the output, "" at the start."""
        return self._tail[-1:]

    @property
    def is_inside_word(self) -> bool:
        """Whether the output ends with a letter or digit and nothing is held back."""
        return not self._run and self.last.isalnum()

    @property
    def tail(self) -> str:
        """Up to 80 last characters of the output, without a run of symbols that is still held back."""
        return self._tail

    @property
    def holds_mark(self) -> bool:
        """Whether a symbol, such as a list bullet, is held back after the output."""
        return bool(self._run.strip(" "))

    @property
    def at_text_start(self) -> bool:
        """Whether only spaces were pushed so far."""
        return not self._tail and not self.holds_mark

    @property
    def at_line_start(self) -> bool:
        """Whether the current line contains only list and quote marks so far."""
        return self.last in ("", "\n") and not self._run.strip(" -+*>#•=")

    def add_text(self, text: str) -> None:
        """Adds text without line breaks."""
        for piece in _PIECE.finditer(text):
            run = piece.group()
            if piece.lastgroup == "run":
                self._hold(run)
            else:
                self._flush_before(run[0])
                self._emit_words(run)

    def push_word(self, word: str) -> None:
        """Adds a word whose symbols are no markup."""
        self._flush_before(word[0])
        self._emit(word)

    def strip_space(self) -> None:
        """Removes the space before removed markup, because a punctuation mark follows."""
        self._run = self._run.rstrip(" ")

    def line_break(self) -> None:
        """Ends the line, so that the next text begins a new sentence."""
        self._flush_before("")
        if self._tail and not self._tail.endswith("\n"):
            self._emit("\n\n")

    def take(self) -> str:
        """Returns the output since the last call."""
        taken = "".join(self._out)
        self._out.clear()
        return taken

    def _hold(self, run: str) -> None:
        # Repeated symbols are collapsed here, which bounds the length of the run ("-----...").
        joined = re.sub(r" {2,}", " ", self._run + run) if self._run or len(run) > 1 else run
        self._run = _REPEATED.sub(r"\1\1\1", joined)[:_MAX_RUN_CHARS]

    def _flush_before(self, following: str) -> None:
        if self._run:
            settled = self._settled(following)
            self._run = ""
            if settled:
                self._emit(settled)

    def _settled(self, following: str) -> str:
        """Returns the speakable part of the held run."""
        run, line = self._run, self._tail.rpartition("\n")[2]
        keys = key_text(line, run, following) if "*" in run or "#" in run else None
        if keys is not None:
            return re.sub(" {2,}", " ", keys if following else keys.rstrip())
        if run in ("<", ">") and following.isalnum() and _OPERAND.search(line):
            return f" {run} "  # "x<y"
        return _resolve(self.last, run, following)

    def _emit(self, text: str) -> None:
        self._out.append(text)
        self._tail = (self._tail + text)[-_TAIL_CHARS:]

    def _emit_words(self, text: str) -> None:
        done = 0
        for mark in _MARKS.finditer(text):
            if mark.start() > done:
                self._flush_before(text[done])
                self._emit(text[done : mark.start()])
            done = mark.end()
            self._emit_mark(mark.group())
        if done < len(text):
            self._flush_before(text[done])
            self._emit(text[done:])

    def _emit_mark(self, mark: str) -> None:
        self._flush_before(mark)
        tail = self._tail
        if mark in _SINGLE_MARKS and tail.endswith(mark):
            return
        if mark in "!?" and tail[-1:] in ("!", "?") and tail[-2:-1] in ("!", "?"):
            return
        if mark == "." and tail.endswith("..."):
            return
        if mark == "." and tail[-3:].lower() == "www":
            self._hold(" ")  # prevents the text from forming a web address again
            return
        if mark == "/" and tail.endswith(":/"):
            return
        if mark == ";":
            entity = _ENTITY_BEFORE_SEMICOLON.search(tail)
            if entity and is_entity(entity.group() + ";"):
                return
        self._emit(mark)
