"""The last filter before the voice: letters and marks go through, runs of symbols and spaces are settled.

What leaves here is plain: no markup character, single spaces, a blank line as the only line break. Filtering it
again changes nothing, because every symbol that could begin markup is dropped or kept from meaning it again.
"""

import html
import re
from functools import lru_cache

_MARKUP = "`[]\\【】◁▷"
_JOINERS = "\u200c\u200d"
_SYMBOLS = re.escape(_MARKUP) + r"<>#$~\-+=*_^|→•—–" + _JOINERS
_PIECE = re.compile(rf"(?P<run>[ {_SYMBOLS}]+)|[^ {_SYMBOLS}]+")
_NEVER_SPOKEN = re.compile(f"[{re.escape(_MARKUP)}]")
_WATCHED = re.compile(r"[,;:!?.…/。！？、，；：]")
_SINGLE_MARKS = frozenset(",;:!?…。！？、，；：")
_SEPARATOR = re.compile(r"[|→•]")
_REPEATED = re.compile(r"(.)\1{3,}")
_SAME_SYMBOL = re.compile(r"([<>=#$~+—–→])\1+")
_ENTITY_BEFORE_SEMICOLON = re.compile(r"&#?\w{1,31}\Z")
_MARK_BEFORE_PAUSE = frozenset(",;:.!?…(。！？、，；：")

# In Arabic and Indic spelling these two invisible characters shape a word; everywhere else they are dirt.
_JOINING_SCRIPTS = re.compile(r"[\u0600-\u08ff\u0900-\u0dff]")

_MAX_RUN_CHARS = 256
_TAIL_CHARS = 40


def is_entity(text: str) -> bool:
    """True for a whole HTML entity such as `&amp;`."""
    return html.unescape(text) != text


def _has_alnum(*chars: str) -> bool:
    return all(char.isalnum() for char in chars)


def _drop_at_line_start(run: str, following: str) -> str:
    """A sign before a number stays; bullets, quote marks and rules at the head of a line go."""
    rest = run.lstrip(" -+=>—–→|•")
    if not rest and following.isdigit() and run[-1:] in ("-", "+", "–"):
        return run[-1]
    return rest


def _keep_dollar(before: str, run: str, following: str) -> str:
    """A dollar sign stays at a number, before it ($5) or behind it (5 $); elsewhere it is markup or noise."""
    if "$" not in run:
        return run
    if run.endswith("$") and following.isdigit():
        return run[:-1].replace("$", "") + "$"
    if run.endswith("$ ") and following.isdigit() and not before.isdigit():
        return run[:-2].replace("$", "") + "$ "
    bare = run.replace("$", "")
    opens_math = run.endswith("$") and (following.isalpha() or following in ("(", "{"))
    if before.isdigit() and run.lstrip().startswith("$") and not opens_math:
        space = run[: len(run) - len(run.lstrip())]
        return f"{space}${bare.removeprefix(space)}"
    return bare


def _keep_hash(before: str, run: str, following: str) -> str:
    """`#5`, `#tag` and `C#` stay."""
    if "#" not in run:
        return run
    lead = "#" if run.startswith("#") and before.isalnum() else ""
    trail = "#" if run.endswith("#") and following.isalnum() and run != lead else ""
    return lead + run.replace("#", "") + trail


def _clean(before: str, run: str, following: str) -> str:
    """One pass over a run of symbols between two characters; called until nothing changes."""
    run = re.sub(r"[*_^]|~{2,}", "", run)
    if not (len(run) == 1 and _JOINING_SCRIPTS.match(before) and _JOINING_SCRIPTS.match(following)):
        run = re.sub(f"[{_JOINERS}]", "", run)
    run = re.sub(r"[-—–]+>|=+>", "→", run)
    run = re.sub(r"-{2,}|[-—–]*[—–][-—–]+|-+[—–]+", "—", run)
    kept = "++" if before.isalnum() and re.match(r"\+\+(?!\+)", run) else ""  # "C++", "i++"
    run = kept + _SAME_SYMBOL.sub(r"\1", run[len(kept) :])
    if before in ("", "\n"):
        run = _drop_at_line_start(run, following)
    if "~" in run:
        head = run.rstrip("$")
        about = head.endswith("~") and (following.isdigit() or following in ("€", "£"))
        run = head.replace("~", "") + "~" * about + run[len(head) :]
    run = _keep_hash(before, _keep_dollar(before, run, following), following)
    if run.endswith("<") and (following.isalpha() or following in ("/", "!", "?")):
        run += " "  # the space keeps it from ever being read as a tag
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
    """Cells of a table, arrows and dots between words are heard as a comma."""
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


@lru_cache(maxsize=2048)  # the same few runs come again and again; the key is symbols and two characters
def _resolve(before: str, run: str, following: str) -> str:
    """What is left of a run of symbols and spaces between two characters ("" = the edge of a line)."""
    if run in ("", " "):
        return run if following and before not in ("", "\n") else ""
    run = re.sub(r" {2,}", " ", _NEVER_SPOKEN.sub("", run))
    core = run.strip()
    if core == "*" and following and ((before + following).isdigit() or run == " * ") and before not in ("", "\n"):
        return run.replace("*", "×")
    if core in ("^", "**") and _has_alnum(before, following) and (core == "^" or (before + following).isdigit()):
        return " to the power of "
    if core and set(run) == {"_"} and _has_alnum(before, following):
        return " "
    return _join_cells(before, _settle(before, run, following), following)


class PlainText:
    """Takes text without structure, piece by piece; gives text a voice may read.

    At most one run of symbols is held back, and only until the next letter, digit or punctuation mark.
    """

    __slots__ = ("_out", "_run", "_tail")

    def __init__(self) -> None:
        """Nothing said yet: the edge of a line."""
        self._out: list[str] = []
        self._run = ""
        self._tail = ""

    @property
    def last(self) -> str:
        """The last character given out, "" at the start."""
        return self._tail[-1:]

    @property
    def tail(self) -> str:
        """The last characters given out, at most forty; a run of symbols behind them is not among them."""
        return self._tail

    @property
    def holds_mark(self) -> bool:
        """Whether a symbol, such as the bullet of a list, is held back behind what was given out."""
        return bool(self._run.strip(" "))

    @property
    def at_text_start(self) -> bool:
        """Whether nothing was pushed yet but spaces."""
        return not self._tail and not self.holds_mark

    @property
    def at_line_start(self) -> bool:
        """True while nothing but list and quote marks stands in the current line."""
        return self.last in ("", "\n") and not self._run.strip(" -+*>#•=")

    def push(self, text: str) -> None:
        """Take text without line breaks."""
        for piece in _PIECE.finditer(text):
            found = piece.group()
            if piece.lastgroup == "run":
                self._hold(found)
            else:
                self._settle_before(found[0])
                self._give_words(found)

    def unspace(self) -> None:
        """Forget the space before what was just removed, since a punctuation mark follows."""
        self._run = self._run.rstrip(" ")

    def line_break(self) -> None:
        """End the line: the next text begins a new sentence."""
        self._settle_before("")
        if self._tail and not self._tail.endswith("\n"):
            self._give("\n\n")

    def take(self) -> str:
        """What may be said since the last call."""
        taken = "".join(self._out)
        self._out.clear()
        return taken

    def _hold(self, run: str) -> None:
        # Collapsing while collecting bounds the run whatever comes ("-----...").
        joined = re.sub(r" {2,}", " ", self._run + run) if self._run or len(run) > 1 else run
        self._run = _REPEATED.sub(r"\1\1\1", joined)[:_MAX_RUN_CHARS]

    def _settle_before(self, following: str) -> None:
        if self._run:
            settled = _resolve(self.last, self._run, following)
            self._run = ""
            if settled:
                self._give(settled)

    def _give(self, text: str) -> None:
        self._out.append(text)
        self._tail = (self._tail + text)[-_TAIL_CHARS:]

    def _give_words(self, text: str) -> None:
        done = 0
        for mark in _WATCHED.finditer(text):
            if mark.start() > done:
                self._settle_before(text[done])
                self._give(text[done : mark.start()])
            done = mark.end()
            self._give_mark(mark.group())
        if done < len(text):
            self._settle_before(text[done])
            self._give(text[done:])

    def _give_mark(self, mark: str) -> None:
        self._settle_before(mark)
        tail = self._tail
        if mark in _SINGLE_MARKS and tail.endswith(mark):
            return
        if mark in "!?" and tail[-1:] in ("!", "?") and tail[-2:-1] in ("!", "?"):
            return
        if mark == "." and tail.endswith("..."):
            return
        if mark == "." and tail[-3:].lower() == "www":
            self._hold(" ")  # never a web address again
            return
        if mark == "/" and tail.endswith(":/"):
            return
        if mark == ";":
            entity = _ENTITY_BEFORE_SEMICOLON.search(tail)
            if entity and is_entity(entity.group() + ";"):
                return
        self._give(mark)
