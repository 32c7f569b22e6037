"""Handles links, images, citations and addresses. Link texts are spoken; of an address only the host is."""

import re

from assistant.text.markup.reading import WAIT, MarkupReader
from assistant.text.markup.stage_directions import StageDirections

_CITATION = re.compile(
    r"\[(?:\^[\w-]{1,30}|\d{1,3}(?:[ ]?[,;–-][ ]?\d{1,3}){0,8}|[ xX]|citation needed|sources?)\]", re.IGNORECASE
)
_CITATION_PARTIAL = re.compile(r"\[(?:\^[\w-]{0,30}|\d[\d ,;–-]{0,40}|[ xX]|[a-z ]{0,15})?", re.IGNORECASE)
_CITATION_WORDS = ("citation needed]", "sources]", "source]", "think]")
_LENTICULAR = re.compile(r"【[^】\n]{0,60}】")
_LINK_TARGET = re.compile(
    r"\(\s*(?:<[^<>\n]*>|[^\s()<>]*(?:\([^\s()]*\)[^\s()]*)*)(?:\s+(?:\"[^\"\n]*\"|'[^'\n]*'))?\s*\)"
)
_LINK_TARGET_PARTIAL = re.compile(
    r"\(\s*(?:<[^<>\n]*|<[^<>\n]*>|[^\s()<>]*(?:\([^\s()]*\)[^\s()]*)*(?:\([^\s()]*)?)(?:\s+(?:[\"'][^\n]*)?)?"
)
_SCHEMES = ("https://", "http://", "ftp://", "www.")
_HOST = re.compile(r"(?:www\.)?([\w-]+(?:\.[\w-]+)*)")
_ADDRESS_PART = re.compile(r"[^\s<>\"`|\\^{}\[\]()“”‘’«»*.,;:!?'\u2e80-\uffff]+")
_ADDRESS_MARKS = re.compile(r"[.,;:!?']{1,16}")
_MAX_TARGET_CHARS = 200
_MAX_HOST_CHARS = 120


class Links:
    """Rules for brackets, "!" and the letters that may begin an address."""

    def __init__(self, reading: MarkupReader, directions: StageDirections) -> None:
        """Applies to the text of `reading`."""
        self._reading = reading
        self._directions = directions

    # Brackets

    def bracket(self, text: str, pos: int) -> int:
        """Handles "[": a citation, the start of a link text, or an index in code."""
        if self._reading.in_code_span:
            self._reading.plain.add_text(" ")
            return pos + 1
        citation = _CITATION.match(text, pos)
        if citation:
            return self._citation(text, pos, citation.end())
        if text[pos : pos + 7].lower() == "[think]":
            self._reading.drop_until("[/think]")
            return pos + 7
        incomplete = _CITATION_PARTIAL.fullmatch(text, pos)
        if incomplete and not self._reading.final:
            word = incomplete.group()[1:].lower()
            if not word or not word[0].isalpha() or any(known.startswith(word) for known in (*_CITATION_WORDS, "x]")):
                return WAIT
        direction = self._directions.direction(text, pos)
        return pos + 1 if direction is None else direction

    def _citation(self, text: str, pos: int, end: int) -> int:
        if self._reading.needs_more(text, end, 1):
            return WAIT
        following = text[end : end + 1]
        if text[pos + 1] in " xX" and not (self._reading.plain.at_line_start and following == " "):
            return pos + 1  # a checkbox with a letter, or the text of a link
        if following == ":" and self._reading.plain.at_line_start:
            self._reading.skip_line()  # an entry in a list of references
            return end + 1
        if following and following in ".,;:!?":
            self._reading.plain.strip_space()
        # The rule of the closing bracket handles a link after the citation.
        return end - 1 if following == "(" else end

    def bracket_end(self, text: str, pos: int) -> int:
        """Handles "]": drops the target of a link, also after a stray "`". In code it closes an index."""
        if self._reading.needs_more(text, pos, 2):
            return WAIT
        following = text[pos + 1 : pos + 2]
        if following == "[" and not self._reading.in_code_span:
            return self._reference(text, pos)
        return self._link_target(text, pos) if following == "(" else pos + 1

    def _link_target(self, text: str, pos: int) -> int:
        """Drops the address of a link whose text ended at `pos`."""
        limit = pos + 1 + _MAX_TARGET_CHARS
        target = _LINK_TARGET.match(text, pos + 1, limit)
        if target:
            return target.end()
        if not _LINK_TARGET_PARTIAL.fullmatch(text[pos + 1 : limit]):
            return pos + 1
        if self._reading.needs_more(text, pos + 1, _MAX_TARGET_CHARS):
            return WAIT
        # This long without a space, it must be an address.
        self._reading.mode = self._long_link_target
        return pos + 2

    def _long_link_target(self, text: str, pos: int) -> int:
        if text[pos].isspace() or text[pos] == ")":
            self._reading.mode = None
            return pos + 1 if text[pos] == ")" else pos
        return pos + 1

    def _reference(self, text: str, pos: int) -> int:
        limit = pos + 62
        end = text.find("]", pos + 2, limit)
        if end < 0 and "\n" not in text[pos:limit] and self._reading.needs_more(text, pos, 62):
            return WAIT
        return end + 1 if end >= 0 and "\n" not in text[pos:end] else pos + 1

    def image(self, text: str, pos: int) -> int:
        """Handles "!" before a bracket: an image is spoken like a link. "!=" does not end a sentence."""
        # A "!" after a word ends a sentence and must not wait. Only a separate one may open an image.
        if self._reading.previous and not self._reading.previous.isspace():
            return self._reading.literal(text, pos)
        if self._reading.needs_more(text, pos, 2):
            return WAIT
        if text.startswith("=", pos + 1):
            self._reading.plain.add_text("≠")
            return pos + 2
        return pos + 1 if text.startswith("[", pos + 1) else self._reading.literal(text, pos)

    def lenticular(self, text: str, pos: int) -> int:
        """Handles "【": a citation as some models write it, or brackets around words."""
        mark = _LENTICULAR.match(text, pos)
        if mark:
            inner = mark.group()[1:-1]
            if "†" in inner or inner.replace(":", "").isdigit():
                return mark.end()
            self._reading.plain.add_text("(" + inner + ")")
            return mark.end()
        if "\n" not in text[pos : pos + 62] and self._reading.needs_more(text, pos, 62):
            return WAIT
        return pos + 1

    # Addresses

    def address(self, text: str, pos: int) -> int:
        """Handles a letter that begins an address or a word."""
        rest = text[pos : pos + 8].lower()
        known = next((scheme for scheme in _SCHEMES if rest.startswith(scheme)), "")
        if not known or self._reading.previous.isalnum():
            incomplete = not self._reading.final and any(scheme.startswith(rest) for scheme in _SCHEMES)
            needs_text = incomplete and len(text) - pos == len(rest) and not self._reading.previous.isalnum()
            return WAIT if needs_text else self._reading.literal(text, pos)
        start = pos + (0 if known == "www." else len(known))
        host = _HOST.match(text, start, start + _MAX_HOST_CHARS)
        end = host.end() if host else start
        open_ended = end == len(text) or (end == len(text) - 1 and text[end] == ".")
        if open_ended and self._reading.needs_more(text, start, _MAX_HOST_CHARS):
            return WAIT
        if host is None:
            self._reading.plain.add_text(known.rstrip(":/"))
            return start
        self._reading.plain.add_text(host.group(1))
        self._reading.mode = self._address_tail
        return end

    def _address_tail(self, text: str, pos: int) -> int:
        """Drops path, query and port. A mark that ends the sentence is not part of the address."""
        part = _ADDRESS_PART.match(text, pos)
        if part:
            return part.end()
        if text[pos] == "(":
            inner = re.compile(r"\([^\s()]{0,80}\)").match(text, pos)
            if inner:
                return inner.end()
            if re.compile(r"\([^\s()]{0,80}").fullmatch(text, pos) and not self._reading.final:
                return WAIT
        marks = _ADDRESS_MARKS.match(text, pos)
        if marks:
            if marks.end() == len(text) and marks.end() - pos < 16 and not self._reading.final:
                return WAIT
            if _ADDRESS_PART.match(text, marks.end()):
                return marks.end()
        self._reading.mode = None
        return pos + 1 if text[pos] == ">" else pos
