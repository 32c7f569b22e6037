"""What of a model's text may be read aloud, while it streams.

Markup, reasoning, code, emoji, addresses and citation marks are removed or turned into words. The result does not
depend on where the stream was cut: each rule looks at the text from its first character on, waits while more
text could change its answer, and waits at most a fixed number of characters before it takes the text literally.
"""

import html
import re
from collections.abc import Callable

from assistant.plain_text import PlainText, is_entity
from assistant.spoken_math import spoken_command, spoken_math, spoken_power

CODE_NOTE = "I'll leave out the code."
"""Said once, in place of the first block of code."""

_WAIT = -1  # a rule's answer: more text could change the decision

_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufffd"
    "\ufe00-\ufe0f\ufff9-\ufffc\ue000-\uf8ff\ud800-\udfff\U000e0000-\U000e0fff\U000f0000-\U0010ffff]"
)
_LINE_ENDS = re.compile("[\x0b\x0c\x85\u2028\u2029]")
_SPACES = re.compile("[\t\r\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")
_ARROWS = re.compile("[\u2192\u21d2\u27f6\u279c\u2794\u27a1]")
_BULLETS = re.compile("[\u2022\u25cf\u25aa\u25e6\u2023\u2219\u25cb\u25a0]")
_EMOJI = re.compile(
    "[\u20e3\u2190\u2191\u2193-\u21ff\u2300-\u23ff\u25a1-\u25a9\u25ab-\u25ca\u25cc-\u25e5\u25e7-\u25ff"
    "\u2600-\u27bf\u2900-\u297f\u2b00-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001fbff]"
)

_TRIGGER = re.compile(
    r"[\n<>`~$&\\\[\]【^]|!(?=\[|\Z)|(?<![A-Za-z0-9])(?:[hH](?=[tT]|\Z)|[wW](?=[wW]|\Z)|[fF](?=[tT]|\Z))"
)
_RULED_LINE = re.compile(r"[ \t]*[|:]?[ \t]*(?:-{3,}|={3,}|\*{3,}|_{3,}|[|: \t*_=-]*\|[|: \t*_=-]*)[|: \t*_=-]*")
_RULE_CHARS = re.compile(r"[|: \t*_=-]*")
_FENCE_INFO = re.compile(r"[\w+#./-]*[ \t]*")
_CITATION = re.compile(
    r"\[(?:\^[\w-]{1,30}|\d{1,3}(?:[ ]?[,;–-][ ]?\d{1,3}){0,8}|[ xX]|citation needed|sources?)\]", re.IGNORECASE
)
_CITATION_BEGUN = re.compile(r"\[(?:\^[\w-]{0,30}|\d[\d ,;–-]{0,40}|[ xX]|[a-z ]{0,15})?", re.IGNORECASE)
_CITATION_WORDS = ("citation needed]", "sources]", "source]", "think]")
_LENTICULAR = re.compile(r"【[^】\n]{0,60}】")
_LINK_TARGET = re.compile(
    r"\(\s*(?:<[^<>\n]*>|[^\s()<>]*(?:\([^\s()]*\)[^\s()]*)*)(?:\s+(?:\"[^\"\n]*\"|'[^'\n]*'))?\s*\)"
)
_LINK_TARGET_BEGUN = re.compile(
    r"\(\s*(?:<[^<>\n]*|<[^<>\n]*>|[^\s()<>]*(?:\([^\s()]*\)[^\s()]*)*(?:\([^\s()]*)?)(?:\s+(?:[\"'][^\n]*)?)?"
)
_TAG = re.compile(r"<(/?)([A-Za-z][\w-]*)((?:\s+[\w:@.-]+\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s\"'>]+))*)\s*/?>")
_SPECIAL_TOKEN = re.compile(r"<\|\w{1,40}\|>")
_SPECIAL_TOKEN_BEGUN = re.compile(r"<\|\w{0,40}\|?")
_PLACEHOLDER = re.compile(r"<[A-Za-z][\w-]*(?: [\w-]+){0,3}>")
_ENTITY = re.compile(r"&#?\w{1,31};")
_ENTITY_BEGUN = re.compile(r"&#?\w{0,31}")
_SCHEMES = ("https://", "http://", "ftp://", "www.")
_HOST = re.compile(r"(?:www\.)?([\w-]+(?:\.[\w-]+)*)")
_ADDRESS_PART = re.compile(r"[^\s<>\"`|\\^{}\[\]()“”‘’«»*.,;:!?'\u2e80-\uffff]+")
_ADDRESS_MARKS = re.compile(r"[.,;:!?']{1,16}")
_COMMAND = re.compile(r"\\([A-Za-z]{1,20})")
_POWER = re.compile(r"\^(?:\{([^{}\n]{1,20})\}|(\d{1,4}|[A-Za-z°]))")
_POWER_BEGUN = re.compile(r"\^(?:\{[^{}\n]{0,20}|\d{1,3})?")

_REASONING = frozenset(
    (
        "think",
        "thinking",
        "thought",
        "thoughts",
        "reasoning",
        "reflection",
        "scratchpad",
        "tool_call",
        "script",
        "style",
    )
)
_BREAKING_TAGS = frozenset(
    ("br", "p", "div", "li", "ul", "ol", "tr", "table", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "pre")
)
_CELL_TAGS = frozenset(("td", "th"))
_TAGS = (
    frozenset(
        "a abbr answer b big body button caption cite code del details dfn em font footer head header html i iframe"
        " img input ins kbd label main mark meta nav option output q response s samp section select small source"
        " span strike strong sub summary sup svg tbody thead tfoot time title tt u var video wbr".split()
    )
    | _REASONING
    | _BREAKING_TAGS
    | _CELL_TAGS
)

_MATH_CHARS = re.compile(r"[\\^_=+<>{}]")
_MAX_INLINE_MATH_CHARS = 120
_MAX_DISPLAY_MATH_CHARS = 400
_MAX_TAG_CHARS = 400
_MAX_PLACEHOLDER_CHARS = 60
_MAX_TARGET_CHARS = 200
_MAX_HOST_CHARS = 120
_MAX_INFO_CHARS = 100
_MAX_RULE_CHARS = 300


def speakable(text: str, code_note: str = CODE_NOTE) -> str:
    """What of a whole text may be read aloud. Doing it twice changes nothing."""
    stream = Speakable(code_note)
    return (stream.feed(text) + stream.finish()).strip()


def _visible(text: str) -> str:
    """Without characters that nobody sees or says; every space a plain one."""
    if text.isascii() and text.isprintable():
        return text
    text = _LINE_ENDS.sub("\n", _INVISIBLE.sub("", text))
    text = _BULLETS.sub("•", _ARROWS.sub("\u2192", _SPACES.sub(" ", text)))
    # The arrow kept above lies between the ranges below.
    return _EMOJI.sub("", text)


class Speakable:
    """Takes a model's tokens; gives what may be read aloud, with a blank line where a sentence must end."""

    def __init__(self, code_note: str = CODE_NOTE) -> None:
        """`code_note` is said once, in place of the first block of code; "" says nothing."""
        self._code_note = code_note
        self._plain = PlainText()
        self._held = ""
        self._final = False
        self._previous = ""
        self._line_fresh = True
        self._line_is_prose = True
        self._newline_pending = False
        self._in_code_span = False
        self._until = ""
        self._mode: Callable[[str, int], int] | None = None
        self._rules: dict[str, Callable[[str, int], int]] = {
            "\n": self._newline,
            "<": self._angle,
            ">": self._angle_end,
            "`": self._backtick,
            "~": self._backtick,
            "$": self._dollar,
            "&": self._ampersand,
            "\\": self._backslash,
            "[": self._bracket,
            "]": self._bracket_end,
            "【": self._lenticular,
            "^": self._caret,
            "!": self._image,
        }

    def feed(self, token: str) -> str:
        """Take a piece of the text, cut anywhere; return what may be said by now."""
        self._held += _visible(token)
        return self._advance()

    def finish(self) -> str:
        """The text is complete: return the rest. Unclosed reasoning stays unsaid."""
        self._final = True
        rest = self._advance()
        self._plain.line_break()
        return rest + self._plain.take()

    def _advance(self) -> str:
        text, pos, size = self._held, 0, len(self._held)
        while pos < size:
            moved = self._step(text, pos)
            if moved == _WAIT:
                break
            self._previous = text[moved - 1]
            pos = moved
        self._held = text[pos:]
        return self._plain.take()

    def _step(self, text: str, pos: int) -> int:
        if self._mode is not None:
            return self._mode(text, pos)
        if self._line_fresh and text[pos] != "\n":
            return self._line_start(text, pos)
        trigger = _TRIGGER.search(text, pos)
        start = trigger.start() if trigger else len(text)
        if start > pos:
            self._plain.push(text[pos:start])
            return start
        rule = self._rules.get(text[pos], self._address)
        return rule(text, pos)

    def _literal(self, text: str, pos: int) -> int:
        self._plain.push(text[pos])
        return pos + 1

    def _lacks(self, text: str, pos: int, chars: int) -> bool:
        """True where fewer than `chars` characters from `pos` on are known and more may come."""
        return not self._final and len(text) - pos < chars

    # Lines

    def _newline(self, text: str, pos: int) -> int:
        self._in_code_span = False
        if self._newline_pending:
            self._plain.line_break()
        self._newline_pending = True
        self._line_fresh = True
        return pos + 1

    def _line_start(self, text: str, pos: int) -> int:
        first = text[pos]
        if first == " ":
            return pos + 1
        if first in "|:-=*_":
            ruled = self._ruled_line(text, pos)
            if ruled is not None:
                return ruled
        if self._newline_pending:
            wrapped = self._line_is_prose and first.islower() and self._plain.last not in ".!?:。！？…"
            if wrapped:
                self._plain.push(" ")
            else:
                self._plain.line_break()
        self._line_is_prose = not (first in "-*+•#>|" or first.isdigit())
        self._newline_pending = False
        self._line_fresh = False
        return self._step(text, pos)

    def _ruled_line(self, text: str, pos: int) -> int | None:
        """A line that only draws (`---`, `|---|---|`) is dropped; None where it is text."""
        drawn = _RULE_CHARS.match(text, pos, pos + _MAX_RULE_CHARS)
        end = drawn.end() if drawn else pos
        if end == len(text) and end - pos < _MAX_RULE_CHARS and not self._final:
            return _WAIT
        if end < len(text) and text[end] != "\n":
            return None
        return end if _RULED_LINE.fullmatch(text, pos, end) else None

    def _skip_line(self, text: str, pos: int) -> int:
        end = text.find("\n", pos)
        if end >= 0:
            self._mode = None
            return end if end > pos else self._newline(text, end)
        return len(text)

    # Code

    def _backtick(self, text: str, pos: int) -> int:
        mark = text[pos]
        end = pos
        while end < len(text) and text[end] == mark and end - pos < 16:
            end += 1
        if end == len(text) and end - pos < 16 and not self._final:
            return _WAIT
        if end - pos >= 3 and (mark == "`" or self._plain.at_line_start):
            opens = self._opens_fence(text, end)
            if opens is None:
                return _WAIT
            if opens:
                self._note_code()
                self._until = mark * 3
                self._mode = self._fenced
                return end
        if mark == "~":
            self._plain.push(text[pos:end])
        else:
            self._in_code_span = not self._in_code_span
        return end

    def _opens_fence(self, text: str, pos: int) -> bool | None:
        """Whether three marks ending at `pos` open a block of code; None while that is open."""
        at_line_start = self._plain.at_line_start
        line_end = text.find("\n", pos, pos + _MAX_INFO_CHARS)
        info = text[pos : line_end if line_end >= 0 else pos + _MAX_INFO_CHARS]
        if "`" in info:
            return False
        likely = at_line_start or _FENCE_INFO.fullmatch(info) is not None
        if line_end >= 0 or not likely:
            return likely
        if len(info) >= _MAX_INFO_CHARS:
            return False
        return at_line_start if self._final else None

    def _note_code(self) -> None:
        if self._code_note:
            self._plain.line_break()
            self._plain.push(self._code_note)
            self._plain.line_break()
            self._code_note = ""

    def _fenced(self, text: str, pos: int) -> int:
        """Drop up to the line that closes the block."""
        if self._previous != "\n":
            end = text.find("\n", pos)
            return end + 1 if end >= 0 else len(text)
        if text[pos] == " ":
            # Spaces before the closing marks: still the head of the line.
            end = pos + 1
            while end < len(text) and text[end] == " ":
                end += 1
            if end == len(text):
                return _WAIT if end - pos < 40 and not self._final else end
            if not text.startswith(self._until[0], end):
                return end
            pos = end
        if self._lacks(text, pos, 3):
            return _WAIT
        if not text.startswith(self._until, pos):
            return pos + 1
        self._line_is_prose = False
        self._mode = self._skip_line
        return pos + 3

    # Tags and reasoning

    def _angle(self, text: str, pos: int) -> int:
        if self._lacks(text, pos, 2):
            return _WAIT
        following = text[pos + 1 : pos + 2]
        if self._in_code_span:
            self._plain.push(" ")
            return pos + 1
        if following == "!":
            return self._comment(text, pos)
        if following == "|":
            return self._special_token(text, pos)
        if following == "/" or (following.isascii() and following.isalpha()):
            return self._tag(text, pos)
        return self._literal(text, pos)

    def _angle_end(self, text: str, pos: int) -> int:
        self._plain.push(" " if self._in_code_span else ">")
        return pos + 1

    def _comment(self, text: str, pos: int) -> int:
        if "<!--".startswith(text[pos : pos + 4]) and self._lacks(text, pos, 4):
            return _WAIT
        if text.startswith("<!--", pos):
            self._drop_until("-->")
            return pos + 4
        return self._literal(text, pos)

    def _special_token(self, text: str, pos: int) -> int:
        whole = _SPECIAL_TOKEN.match(text, pos)
        if whole:
            return whole.end()
        if _SPECIAL_TOKEN_BEGUN.fullmatch(text, pos) and not self._final:
            return _WAIT
        return self._literal(text, pos)

    def _tag(self, text: str, pos: int) -> int:
        if text[pos + 1 : pos + 9].lower().startswith(("http://", "https://", "mailto:")):
            return pos + 1
        limit = pos + _MAX_PLACEHOLDER_CHARS
        if "=" in text[pos:limit]:
            limit = pos + _MAX_TAG_CHARS
        end = text.find(">", pos, limit)
        if end < 0:
            stray = "\n" in text[pos:limit] or "<" in text[pos + 1 : limit]
            return self._literal(text, pos) if stray or not self._lacks(text, pos, limit - pos) else _WAIT
        tag = _TAG.fullmatch(text, pos, end + 1)
        name = tag.group(2).lower() if tag else ""
        if tag and name in _TAGS:
            self._apply_tag(name, opening=not tag.group(1) and text[end - 1] != "/")
            return end + 1
        if _PLACEHOLDER.fullmatch(text, pos, end + 1):
            self._plain.push(text[pos + 1 : end])
            return end + 1
        return self._literal(text, pos)

    def _apply_tag(self, name: str, *, opening: bool) -> None:
        if opening and name in _REASONING:
            self._drop_until(f"</{name}>")
        elif name in _BREAKING_TAGS:
            self._plain.line_break()
        elif name in _CELL_TAGS:
            self._plain.push("|")

    def _drop_until(self, closing: str) -> None:
        self._until = closing
        self._mode = self._dropped

    def _dropped(self, text: str, pos: int) -> int:
        """Inside reasoning or a comment: nothing is said, and the end may be cut over tokens."""
        end = text.lower().find(self._until, pos)
        if end >= 0:
            self._mode = None
            return end + len(self._until)
        # Keep what may be the head of the closing mark.
        kept = max(pos, len(text) - len(self._until) + 1)
        return kept if kept > pos and not self._final else (len(text) if self._final else _WAIT)

    # Brackets, links, citations

    def _bracket(self, text: str, pos: int) -> int:
        citation = _CITATION.match(text, pos)
        if citation:
            return self._cited(text, pos, citation.end())
        if text[pos : pos + 7].lower() == "[think]":
            self._drop_until("[/think]")
            return pos + 7
        begun = _CITATION_BEGUN.fullmatch(text, pos)
        if begun and not self._final:
            word = begun.group()[1:].lower()
            if not word or not word[0].isalpha() or any(known.startswith(word) for known in (*_CITATION_WORDS, "x]")):
                return _WAIT
        return pos + 1

    def _cited(self, text: str, pos: int, end: int) -> int:
        if self._lacks(text, end, 1):
            return _WAIT
        following = text[end : end + 1]
        if text[pos + 1] in " xX" and not (self._plain.at_line_start and following == " "):
            return pos + 1  # no box to tick but a letter, or the text of a link
        if following == ":" and self._plain.at_line_start:
            self._mode = self._skip_line  # the list of references itself
            return end + 1
        if following and following in ".,;:!?":
            self._plain.unspace()
        # A link behind the mark is the closing bracket's business.
        return end - 1 if following == "(" else end

    def _bracket_end(self, text: str, pos: int) -> int:
        if self._lacks(text, pos, 2):
            return _WAIT
        following = text[pos + 1 : pos + 2]
        if following == "[":
            return self._reference(text, pos)
        return self._target(text, pos) if following == "(" else pos + 1

    def _target(self, text: str, pos: int) -> int:
        """The address of a link whose text ended at `pos`."""
        limit = pos + 1 + _MAX_TARGET_CHARS
        target = _LINK_TARGET.match(text, pos + 1, limit)
        if target:
            return target.end()
        if not _LINK_TARGET_BEGUN.fullmatch(text[pos + 1 : limit]):
            return pos + 1
        if self._lacks(text, pos + 1, _MAX_TARGET_CHARS):
            return _WAIT
        # So long without a space: an address for certain.
        self._mode = self._long_target
        return pos + 2

    def _long_target(self, text: str, pos: int) -> int:
        if text[pos].isspace() or text[pos] == ")":
            self._mode = None
            return pos + 1 if text[pos] == ")" else self._step(text, pos)
        return pos + 1

    def _reference(self, text: str, pos: int) -> int:
        limit = pos + 62
        end = text.find("]", pos + 2, limit)
        if end < 0 and "\n" not in text[pos:limit] and self._lacks(text, pos, 62):
            return _WAIT
        return end + 1 if end >= 0 and "\n" not in text[pos:end] else pos + 1

    def _image(self, text: str, pos: int) -> int:
        # A "!" behind a word ends a sentence and must not wait; only one that stands alone may open an image.
        if self._previous and not self._previous.isspace():
            return self._literal(text, pos)
        if self._lacks(text, pos, 2):
            return _WAIT
        return pos + 1 if text.startswith("[", pos + 1) else self._literal(text, pos)

    def _lenticular(self, text: str, pos: int) -> int:
        mark = _LENTICULAR.match(text, pos)
        if mark:
            inner = mark.group()[1:-1]
            if "†" in inner or inner.replace(":", "").isdigit():
                return mark.end()
            self._plain.push("(" + inner + ")")
            return mark.end()
        if "\n" not in text[pos : pos + 62] and self._lacks(text, pos, 62):
            return _WAIT
        return pos + 1

    # Addresses

    def _address(self, text: str, pos: int) -> int:
        rest = text[pos : pos + 8].lower()
        known = next((scheme for scheme in _SCHEMES if rest.startswith(scheme)), "")
        if not known or self._previous.isalnum():
            begun = not self._final and any(scheme.startswith(rest) for scheme in _SCHEMES)
            waits = begun and len(text) - pos == len(rest) and not self._previous.isalnum()
            return _WAIT if waits else self._literal(text, pos)
        start = pos + (0 if known == "www." else len(known))
        host = _HOST.match(text, start, start + _MAX_HOST_CHARS)
        end = host.end() if host else start
        open_ended = end == len(text) or (end == len(text) - 1 and text[end] == ".")
        if open_ended and self._lacks(text, start, _MAX_HOST_CHARS):
            return _WAIT
        if host is None:
            self._plain.push(known.rstrip(":/"))
            return start
        self._plain.push(host.group(1))
        self._mode = self._address_tail
        return end

    def _address_tail(self, text: str, pos: int) -> int:
        """Drop path, query and port; a mark that ends the sentence is not part of the address."""
        part = _ADDRESS_PART.match(text, pos)
        if part:
            return part.end()
        if text[pos] == "(":
            inner = re.compile(r"\([^\s()]{0,80}\)").match(text, pos)
            if inner:
                return inner.end()
            if re.compile(r"\([^\s()]{0,80}").fullmatch(text, pos) and not self._final:
                return _WAIT
        marks = _ADDRESS_MARKS.match(text, pos)
        if marks:
            if marks.end() == len(text) and marks.end() - pos < 16 and not self._final:
                return _WAIT
            if _ADDRESS_PART.match(text, marks.end()):
                return marks.end()
        self._mode = None
        return pos + 1 if text[pos] == ">" else self._step(text, pos)

    # Formulas, escapes, entities

    def _dollar(self, text: str, pos: int) -> int:
        if self._lacks(text, pos, 2):
            return _WAIT
        following = text[pos + 1 : pos + 2]
        if following == "$":
            return self._math(text, pos, "$$", "$$", _MAX_DISPLAY_MATH_CHARS)
        opens = (following.isascii() and following.isalpha()) or (following and following in "\\({")
        if not opens or self._previous.isalnum():
            return self._literal(text, pos)
        return self._inline_math(text, pos)

    def _inline_math(self, text: str, pos: int) -> int:
        limit = pos + 1 + _MAX_INLINE_MATH_CHARS
        end = text.find("$", pos + 1, limit)
        if end < 0:
            stray = "\n" in text[pos:limit] or not self._lacks(text, pos + 1, _MAX_INLINE_MATH_CHARS)
            return self._literal(text, pos) if stray else _WAIT
        if self._lacks(text, end, 2):
            return _WAIT
        inner = text[pos + 1 : end]
        is_math = len(inner) == 1 or _MATH_CHARS.search(inner) or not re.search(r"\s", inner)
        if not is_math or "\n" in inner or inner.endswith(" ") or text[end + 1 : end + 2].isalnum():
            return self._literal(text, pos)
        self._plain.push(spoken_math(inner))
        return end + 1

    def _math(self, text: str, pos: int, opening: str, closing: str, max_chars: int) -> int:
        start = pos + len(opening)
        end = text.find(closing, start, start + max_chars)
        if end < 0:
            return _WAIT if self._lacks(text, start, max_chars) else start
        self._plain.push(" " + spoken_math(text[start:end]) + " ")
        return end + len(closing)

    def _backslash(self, text: str, pos: int) -> int:
        if self._lacks(text, pos, 2):
            return _WAIT
        following = text[pos + 1 : pos + 2]
        if following in ("(", "[") and not self._in_code_span:
            return self._math(text, pos, "\\" + following, "\\" + {"(": ")", "[": "]"}[following], 400)
        command = _COMMAND.match(text, pos)
        if command:
            if command.end() == len(text) and command.end() - pos < 21 and not self._final:
                return _WAIT
            self._plain.push(" " + spoken_command(command.group(1)))
            return command.end()
        if not following or following.isspace() or following.isalnum():
            self._plain.push(" ")
            return pos + 1
        self._plain.push(following)
        return pos + 2

    def _caret(self, text: str, pos: int) -> int:
        power = _POWER.match(text, pos)
        if _POWER_BEGUN.fullmatch(text, pos) and not self._final:
            return _WAIT
        if power and (self._previous.isalnum() or self._previous == ")"):
            words = spoken_math(spoken_power(power.group(1) or power.group(2)))
            self._plain.push(words if len(words) == 1 else f" {words} ")
            return power.end()
        return self._literal(text, pos)

    def _ampersand(self, text: str, pos: int) -> int:
        entity = _ENTITY.match(text, pos)
        if entity and is_entity(entity.group()):
            return self._decoded(text, pos, entity.end())
        if entity is None and _ENTITY_BEGUN.fullmatch(text, pos) and not self._final and len(text) - pos < 33:
            return _WAIT
        return self._literal(text, pos)

    def _decoded(self, text: str, pos: int, end: int) -> int:
        """One entity; `&amp;` at the head of another (`&amp;lt;`) counts as one with it."""
        entity = html.unescape(text[pos:end])
        if entity == "&":
            inner = _ENTITY.match("&" + text[end : end + 34])
            if inner and is_entity(inner.group()):
                self._plain.push(_visible(html.unescape(inner.group())).replace("\n", " "))
                return end + inner.end() - 1
            if _ENTITY_BEGUN.fullmatch("&" + text[end:]) and self._lacks(text, end, 33):
                return _WAIT
        self._plain.push(_visible(entity).replace("\n", " "))
        return end
