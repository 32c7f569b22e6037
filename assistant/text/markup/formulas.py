"""Handles formulas, escapes and entities, as far as they can be spoken."""

import html
import re

from assistant.support.unicode import visible
from assistant.text.markup.bare_formulas import TAKES_GROUPS, BareFormulas
from assistant.text.markup.reading import WAIT, MarkupReader
from assistant.text.normalization.math import spoken_command, spoken_math, spoken_power
from assistant.text.plain_text import is_entity

_ENTITY = re.compile(r"&#?\w{1,31};")
_ENTITY_PARTIAL = re.compile(r"&#?\w{0,31}")
_COMMAND = re.compile(r"\\([A-Za-z]{1,20})")
_POWER = re.compile(r"\^(?:\{([^{}\n]{1,20})\}|([-−]?\d{1,4}|[-−]?[A-Za-z]|°|\\circ(?![A-Za-z])))")
_POWER_PARTIAL = re.compile(r"\^(?:\{[^{}\n]{0,20}|[-−]?\d{0,3}|\\(?:c(?:i(?:r(?:c)?)?)?)?)?")
_MATH_CHARS = re.compile(r"[\\^_=+<>{}]")
_NUMBER_OPENS = re.compile(r"\d|[-−][\w\\(.]")
_NO_PROSE = re.compile(r"\\[A-Za-z]+(?:\s*\{[^{}]*\}?)?|</?[A-Za-z][\w-]*>?")
# What may follow an amount of money but not a formula: a line end, a sentence end or a word.
_AMOUNT_GOES_ON = re.compile(r"\n|\?|(?<!\\)[.:;]\s|[\s/(-][^\W\d_]{3}|[^\W\d_]{4}|[^\x00-\u05ff\u2000-\u2fff]")
_MAX_INLINE_MATH_CHARS = 120
_MAX_DISPLAY_MATH_CHARS = 400


class Formulas:
    """Rules for "$", "\\", "^" and "&"."""

    def __init__(self, reading: MarkupReader, bare: BareFormulas) -> None:
        """Applies to the text of `reading`."""
        self._reading = reading
        self._bare = bare

    def dollar(self, text: str, pos: int) -> int:
        """Handles "$": a formula or an amount of money."""
        if self._reading.needs_more(text, pos, 2):
            return WAIT
        following = text[pos + 1 : pos + 2]
        if following == "$":
            return self._math(text, pos, "$$", "$$", _MAX_DISPLAY_MATH_CHARS)
        if following in ("-", "−") and self._reading.needs_more(text, pos, 3):
            return WAIT
        amount = _NUMBER_OPENS.match(text, pos + 1) is not None
        opens = amount or (following.isascii() and following.isalpha()) or (following and following in "\\({")
        if not opens or self._reading.previous.isalnum():
            return self._reading.literal(text, pos)
        return self._inline_math(text, pos, amount=amount)

    def _inline_math(self, text: str, pos: int, *, amount: bool) -> int:
        """Handles a formula up to the next "$". If it starts with an `amount`, it must not contain prose."""
        limit = pos + 1 + _MAX_INLINE_MATH_CHARS
        end = text.find("$", pos + 1, limit)
        if amount and _AMOUNT_GOES_ON.search(_NO_PROSE.sub("", text[pos + 1 : end if end >= 0 else limit])):
            return self._reading.literal(text, pos)
        if end < 0:
            stray = "\n" in text[pos:limit] or not self._reading.needs_more(text, pos + 1, _MAX_INLINE_MATH_CHARS)
            return self._reading.literal(text, pos) if stray else WAIT
        if self._reading.needs_more(text, end, 2):
            return WAIT
        inner = text[pos + 1 : end]
        is_math = len(inner) == 1 or _MATH_CHARS.search(inner) or not re.search(r"\s", inner)
        is_math = is_math or (amount and not re.search(r"[^\W\d_]{2}", inner))
        if not is_math or "\n" in inner or inner.endswith(" ") or text[end + 1 : end + 2].isalnum():
            return self._reading.literal(text, pos)
        self._reading.plain.add_text(spoken_math(inner))
        return end + 1

    def _math(self, text: str, pos: int, opening: str, closing: str, max_chars: int) -> int:
        start = pos + len(opening)
        end = text.find(closing, start, start + max_chars)
        if end < 0:
            return WAIT if self._reading.needs_more(text, start, max_chars) else start
        self._reading.plain.add_text(" " + spoken_math(text[start:end]) + " ")
        return end + len(closing)

    def backslash(self, text: str, pos: int) -> int:
        """Handles a backslash: a formula, a command, a path or an escape."""
        if self._reading.needs_more(text, pos, 2):
            return WAIT
        following = text[pos + 1 : pos + 2]
        if following in ("(", "[") and not self._reading.in_code_span:
            return self._math(text, pos, "\\" + following, "\\" + {"(": ")", "[": "]"}[following], 400)
        if self._bare.in_path(following):
            self._reading.mode = self._bare.path
            return pos
        command = _COMMAND.match(text, pos)
        return self._command(text, pos, command) if command else self._escape(following, pos)

    def _command(self, text: str, pos: int, command: re.Match[str]) -> int:
        if command.end() == len(text) and command.end() - pos < 21 and not self._reading.final:
            return WAIT
        if command[1] in TAKES_GROUPS:
            return self._bare.command(text, pos)
        return self._bare.sign(text, command.end(), spoken_command(command[1]))

    def _escape(self, following: str, pos: int) -> int:
        if not following or following.isspace() or following.isalnum():
            self._reading.plain.add_text(" ")
            return pos + 1
        self._reading.plain.add_text(following)
        return pos + 2

    def caret(self, text: str, pos: int) -> int:
        """Handles a power."""
        power = _POWER.match(text, pos)
        if _POWER_PARTIAL.fullmatch(text, pos) and not self._reading.final:
            return WAIT
        if power and (self._reading.previous.isalnum() or self._reading.previous == ")"):
            words = spoken_math(spoken_power(power.group(1) or power.group(2)))
            self._reading.plain.add_text(words if len(words) == 1 else f" {words} ")
            return power.end()
        return self._reading.literal(text, pos)

    def ampersand(self, text: str, pos: int) -> int:
        """Handles "&": an entity or a plain character."""
        entity = _ENTITY.match(text, pos)
        if entity and is_entity(entity.group()):
            return self._decoded(text, pos, entity.end())
        if entity is None and _ENTITY_PARTIAL.fullmatch(text, pos) and not self._reading.final and len(text) - pos < 33:
            return WAIT
        return self._reading.literal(text, pos)

    def _decoded(self, text: str, pos: int, end: int) -> int:
        """Decodes one entity. `&amp;` at the start of another entity (`&amp;lt;`) is decoded with it."""
        entity = html.unescape(text[pos:end])
        if entity == "&":
            inner = _ENTITY.match("&" + text[end : end + 34])
            if inner and is_entity(inner.group()):
                self._reading.plain.add_text(visible(html.unescape(inner.group())).replace("\n", " "))
                return end + inner.end() - 1
            if _ENTITY_PARTIAL.fullmatch("&" + text[end:]) and self._reading.needs_more(text, end, 33):
                return WAIT
        self._reading.plain.add_text(visible(entity).replace("\n", " "))
        return end
