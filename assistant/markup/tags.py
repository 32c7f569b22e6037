"""Tags, comments and special tokens: dropped, or what they stand for; reasoning is dropped with all that it holds."""

import re

from assistant.markup.reading import WAIT, Reading

_TAG = re.compile(r"<(/?)([A-Za-z][\w-]*)((?:\s+[\w:@.-]+\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s\"'>]+))*)\s*/?>")
_SPECIAL_TOKEN = re.compile(r"<\|\w{1,40}\|>")
_SPECIAL_TOKEN_BEGUN = re.compile(r"<\|\w{0,40}\|?")
_PLACEHOLDER = re.compile(r"<[A-Za-z][\w-]*(?: [\w-]+){0,3}>")
_MAIL = re.compile(r"<(?:mailto:)?([\w.+-]+@[\w.-]+)>", re.IGNORECASE)
_REASONING = frozenset("think thinking thought thoughts reasoning reflection scratchpad tool_call script style".split())
_BREAKING_TAGS = frozenset("br p div li ul ol tr table hr h1 h2 h3 h4 h5 h6 blockquote pre details summary".split())
_CELL_TAGS = frozenset(("td", "th"))
_TAGS = (
    frozenset(
        "a abbr answer b big body button caption cite code del dfn em font footer head header html i iframe"
        " img input ins kbd label main mark meta nav option output q response s samp section select small source"
        " span strike strong sub sup svg tbody thead tfoot time title tt u var video wbr".split()
    )
    | _REASONING
    | _BREAKING_TAGS
    | _CELL_TAGS
)
_MAX_TAG_CHARS = 400
_MAX_PLACEHOLDER_CHARS = 60


class Tags:
    """The rules of "<" and ">"."""

    def __init__(self, reading: Reading) -> None:
        """Of the text that `reading` goes through."""
        self._reading = reading

    def angle(self, text: str, pos: int) -> int:
        """A tag, a comment or a special token, if it is one."""
        if self._reading.lacks(text, pos, 2):
            return WAIT
        following = text[pos + 1 : pos + 2]
        if self._reading.in_code_span:
            self._reading.plain.push(" ")
            return pos + 1
        if following == "!":
            return self._comment(text, pos)
        if following == "|":
            return self._special_token(text, pos)
        if following == "/" or (following.isascii() and following.isalpha()):
            return self._tag(text, pos)
        return self._reading.literal(text, pos)

    def angle_end(self, text: str, pos: int) -> int:
        """A ">" that ends no tag."""
        self._reading.plain.push(" " if self._reading.in_code_span else ">")
        return pos + 1

    def _comment(self, text: str, pos: int) -> int:
        if "<!--".startswith(text[pos : pos + 4]) and self._reading.lacks(text, pos, 4):
            return WAIT
        if text.startswith("<!--", pos):
            self._reading.drop_until("-->")
            return pos + 4
        return self._reading.literal(text, pos)

    def _special_token(self, text: str, pos: int) -> int:
        whole = _SPECIAL_TOKEN.match(text, pos)
        if whole:
            return whole.end()
        if _SPECIAL_TOKEN_BEGUN.fullmatch(text, pos) and not self._reading.final:
            return WAIT
        return self._reading.literal(text, pos)

    def _tag(self, text: str, pos: int) -> int:
        if text[pos + 1 : pos + 9].lower().startswith(("http://", "https://")):
            return pos + 1
        limit = pos + _MAX_PLACEHOLDER_CHARS
        if "=" in text[pos:limit]:
            limit = pos + _MAX_TAG_CHARS
        end = text.find(">", pos, limit)
        if end < 0:
            stray = "\n" in text[pos:limit] or "<" in text[pos + 1 : limit]
            return (
                self._reading.literal(text, pos) if stray or not self._reading.lacks(text, pos, limit - pos) else WAIT
            )
        tag = _TAG.fullmatch(text, pos, end + 1)
        name = tag.group(2).lower() if tag else ""
        if tag and name in _TAGS:
            self._apply_tag(name, opening=not tag.group(1) and text[end - 1] != "/")
            return end + 1
        mail = _MAIL.fullmatch(text, pos, end + 1)
        if mail or _PLACEHOLDER.fullmatch(text, pos, end + 1):
            self._reading.plain.push(mail.group(1) if mail else text[pos + 1 : end])
            return end + 1
        return self._reading.literal(text, pos)

    def _apply_tag(self, name: str, *, opening: bool) -> None:
        if opening and name in _REASONING:
            self._reading.drop_until(f"</{name}>")
        elif name in _BREAKING_TAGS:
            self._reading.plain.line_break()
        elif name in _CELL_TAGS:
            self._reading.plain.push("|")
