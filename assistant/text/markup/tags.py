"""Handles tags, comments and special tokens. They are dropped or replaced; reasoning is dropped with its content."""

import re

from assistant.text.markup.reading import WAIT, MarkupReader

_VALUE = r"(?:\"[^\"<]*\"|'[^'<]*'|[^\s\"'<>]+)"
_TAG = re.compile(rf"<(/?)([A-Za-z][\w-]*(?::[A-Za-z][\w-]*)?)((?:\s+[\w:@.-]+\s*=\s*{_VALUE})*)\s*/?>")
_TAG_PARTIAL = re.compile(
    rf"</?[A-Za-z][\w:-]*(?:\s+[\w:@.-]+\s*=\s*{_VALUE})*(?:\s+(?:[\w:@.-]+(?:\s*=?|\s*=\s*(?:\"[^\"<]*|'[^'<]*)))?|\s*/)?"
)
_XML_DECLARATION = re.compile(r"<\?xml\b[^<>\n]{0,200}\?>")
_XML_DECLARATION_PARTIAL = re.compile(r"<\?(?:x(?:m(?:l[^<>\n]{0,200})?)?)?")
_SPECIAL_TOKEN = re.compile(r"<\|\w{1,40}\|>")
_SPECIAL_TOKEN_PARTIAL = re.compile(r"<\|\w{0,40}\|?")
_PLACEHOLDER = re.compile(r"<[A-Za-z][\w-]*(?: [\w-]+){0,3}>")
_MAIL = re.compile(r"<(?:mailto:)?([\w.+-]+@[\w.-]+)>", re.IGNORECASE)
_REASONING = frozenset("think thinking thought thoughts reasoning reflection scratchpad tool_call script style".split())
_THOUGHTS = _REASONING - {"tool_call", "script", "style"}
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
_SSML_TAGS = frozenset(
    "speak break prosody emphasis say-as phoneme audio sentence paragraph voice lang w token lexicon lookup metadata"
    " meta desc par seq media bookmark".split()
)
"""SSML elements that are not HTML elements. Except for breaks, they have no effect on the voice."""
_MAYBE_PLACEHOLDERS = frozenset("voice lang token lexicon lookup metadata desc par seq media bookmark w".split())
"""Element names that without attributes are also written as placeholders: "--voice <voice>"."""
_SSML_PREFIXES = frozenset("ssml amazon mstts google apple azure".split())
_SSML_BREAKS = frozenset("break p paragraph sentence silence".split())
_NO_BREAK = re.compile(r"""strength\s*=\s*["']?none\b|time\s*=\s*["']?\+?0+(?:\.0*)?m?s\b""", re.IGNORECASE)
_ALIAS = re.compile(r"""\balias\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_SPELL_OUT = re.compile(r"""\binterpret-as\s*=\s*["']?(?:characters|spell-out|verbatim|digits)\b""", re.IGNORECASE)
_LETTERS_OR_DIGIT = re.compile(r"[^\W\d_]+|\d")
_VOCAL_TAGS = frozenset(
    "laugh laughs laughing laughter chuckle chuckles chuckling giggle giggles sigh sighs sighing cough coughs"
    " gasp gasps"
    " yawn yawns sniff sniffle sniffles groan groans moan whisper whispers whispering breath breathe inhale"
    " exhale pause"
    " emotion happy sad angry excited surprised neutral calm cheerful sing singing cry crying sob shout scream hum"
    " clears throat clears_throat clear_throat clears-throat clear-throat smile smiling spell speed volume pitch"
    " style mood tone sfx"
    " lachen lacht seufzen seufzer seufzt husten flüstern räuspern rire rires soupir soupirs toux chuchotement"
    " risa risas suspiro suspiros tos susurro".split()
)
"""Tags for the voice that language models write. No placeholder has such a name."""
_VALUED_TAG = re.compile(
    r"</?(?:speaker|emotion|speed|volume|pitch|style|mood|tone|voice|rate)[:=]\s?[\w.+%-]{1,20}\s?/?>"
)
_MAX_ELEMENT_CHARS = 200
_MAX_TAG_CHARS = 400
_MAX_PLACEHOLDER_CHARS = 60


class Tags:
    """Rules for "<" and ">"."""

    def __init__(self, reading: MarkupReader) -> None:
        """Applies to the text of `reading`."""
        self._reading = reading
        self._in_ssml = False  # between <speak> and </speak>, where <s> marks a sentence

    def angle(self, text: str, pos: int) -> int:
        """Handles "<": a tag, a comment, a special token or a plain character."""
        if self._reading.needs_more(text, pos, 2):
            return WAIT
        following = text[pos + 1 : pos + 2]
        if self._reading.in_code_span:
            self._reading.plain.add_text(" ")
            return pos + 1
        if following == "/" or (following.isascii() and following.isalpha()):
            return self._tag(text, pos)
        others = {"!": self._comment, "|": self._special_token, "?": self._declaration}
        return others.get(following, self._reading.literal)(text, pos)

    def angle_end(self, text: str, pos: int) -> int:
        """Handles a ">" that does not end a tag."""
        self._reading.plain.add_text(" " if self._reading.in_code_span else ">")
        return pos + 1

    def _comment(self, text: str, pos: int) -> int:
        if "<!--".startswith(text[pos : pos + 4]) and self._reading.needs_more(text, pos, 4):
            return WAIT
        if text.startswith("<!--", pos):
            self._reading.drop_until("-->")
            return pos + 4
        return self._reading.literal(text, pos)

    def _special_token(self, text: str, pos: int) -> int:
        whole = _SPECIAL_TOKEN.match(text, pos)
        if whole:
            return whole.end()
        if _SPECIAL_TOKEN_PARTIAL.fullmatch(text, pos) and not self._reading.final:
            return WAIT
        return self._reading.literal(text, pos)

    def _declaration(self, text: str, pos: int) -> int:
        """Drops the first line of an XML document."""
        whole = _XML_DECLARATION.match(text, pos)
        if whole:
            return whole.end()
        if _XML_DECLARATION_PARTIAL.fullmatch(text, pos) and not self._reading.final:
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
            stray = "<" in text[pos + 1 : limit]
            stray = stray or ("\n" in text[pos:limit] and not _TAG_PARTIAL.fullmatch(text, pos, limit))
            return (
                self._reading.literal(text, pos)
                if stray or not self._reading.needs_more(text, pos, limit - pos)
                else WAIT
            )
        tag = _TAG.fullmatch(text, pos, end + 1)
        after = self._known_tag(text, tag) if tag else None
        if after is not None:
            return after
        if tag and tag[0][-2:] != "/>" and self._reading.needs_more(text, end + 1, 1):
            return WAIT
        if _VALUED_TAG.fullmatch(text, pos, end + 1) or (tag and self._is_for_voice(text, tag)):
            return end + 1
        return self._placeholder(text, pos, end, is_component=tag is not None and tag[0].endswith("/>"))

    def _placeholder(self, text: str, pos: int, end: int, *, is_component: bool) -> int:
        """Handles other words in angle brackets: an e-mail address, "<your name>", "List<String>", or a comparison."""
        mail = _MAIL.fullmatch(text, pos, end + 1)
        plain = self._reading.plain
        if mail:
            plain.add_text(mail.group(1))
            return end + 1
        comparison = plain.is_inside_word and " " in text[pos:end]  # "x<y and y>z"
        if comparison or not (is_component or _PLACEHOLDER.fullmatch(text, pos, end + 1)):
            return self._reading.literal(text, pos)
        words = text[pos + 1 : end].lower().split()
        if len(words) > 1 and not _VOCAL_TAGS.isdisjoint((words[0], words[-1])):
            return end + 1  # "<long pause>"
        space = " " if plain.is_inside_word else ""
        plain.add_text(space + text[pos + 1 : end].rstrip("/ ") + space)
        return end + 1

    def _is_for_voice(self, text: str, tag: re.Match[str]) -> bool:
        """Returns whether an unknown tag is an instruction for a voice: `<sigh/>`, `<emotion value="happy"/>`.

        A name alone in angle brackets is also a placeholder, one with a capital a type or component: "List<String>".
        """
        name = tag[2].rpartition(":")[2]
        if name.lower() in _VOCAL_TAGS:
            return True
        inside_word = self._reading.plain.is_inside_word and not tag[1]
        if name[0].isupper() or inside_word:
            return False
        return bool(tag[1] or tag[3]) or tag[0].endswith("/>") or text[tag.end() : tag.end() + 1].isupper()

    def _known_tag(self, text: str, tag: re.Match[str]) -> int | None:
        """Returns the position after an HTML or SSML tag; None for other tags."""
        closing, end = tag[1] or text[tag.end() - 2] == "/", tag.end()
        prefix, _, name = tag[2].lower().rpartition(":")
        if prefix and not (prefix in _SSML_PREFIXES or closing or tag[3]):
            return None  # "<host:port>"
        if not prefix and name not in _TAGS and name not in _SSML_TAGS:
            return None
        if name in _MAYBE_PLACEHOLDERS and not (prefix or closing or tag[3] or self._in_ssml):
            if self._reading.needs_more(text, end, 1):
                return WAIT
            if not text[end : end + 1].isalnum():
                return None
        return self._apply_known(text, tag, name, closing=bool(closing))

    def _apply_known(self, text: str, tag: re.Match[str], name: str, *, closing: bool) -> int:
        self._in_ssml = (self._in_ssml or name == "speak") and not (closing and name == "speak")
        if name == "sub" and tag[3] and not closing:
            return self._alias(text, tag)
        if name == "say-as" and _SPELL_OUT.search(tag[3]):
            return self._spell_out(text, tag)
        self._apply_tag(name, tag[3], opening=not closing)
        return tag.end()

    def _alias(self, text: str, tag: re.Match[str]) -> int:
        """Speaks `<sub alias="...">` as its alias."""
        alias = _ALIAS.search(tag[3])
        inner_end = self._element_end(text, tag.end(), "sub")
        if alias is None or inner_end is None:
            return tag.end()
        if inner_end != WAIT:
            self._reading.plain.add_text((alias[1] or alias[2] or "").replace("\n", " "))
        return inner_end

    def _spell_out(self, text: str, tag: re.Match[str]) -> int:
        """Spells an element letter by letter or digit by digit."""
        inner_end = self._element_end(text, tag.end(), "say-as")
        if inner_end is None or inner_end == WAIT:
            return tag.end() if inner_end is None else WAIT
        pieces = _LETTERS_OR_DIGIT.findall(text[tag.end() : inner_end - len("</say-as>")])
        self._reading.plain.add_text(" ".join(".".join(piece.upper()) for piece in pieces))
        return inner_end

    def _element_end(self, text: str, pos: int, name: str) -> int | None:
        """Returns the position after the closing tag of an element without children; None if there is none nearby."""
        closing = f"</{name}>"
        limit = pos + _MAX_ELEMENT_CHARS
        end = text.find("<", pos, limit)
        if end < 0:
            return WAIT if self._reading.needs_more(text, pos, _MAX_ELEMENT_CHARS) else None
        if self._reading.needs_more(text, end, len(closing)) and closing.startswith(text[end:].lower()):
            return WAIT
        return end + len(closing) if text[end : end + len(closing)].lower() == closing else None

    def _apply_tag(self, name: str, attributes: str, *, opening: bool) -> None:
        if opening and name in _THOUGHTS and self._reading.previous.isspace():
            self._reading.plain.add_text(name)  # named in prose: thoughts in the middle were removed before
        elif opening and name in _REASONING:
            self._reading.drop_until(f"</{name}>")
        elif name in _SSML_BREAKS or (name == "s" and self._in_ssml):
            if _NO_BREAK.search(attributes):
                self._reading.plain.add_text(" ")
            else:
                self._reading.plain.line_break()
        elif name in _BREAKING_TAGS:
            self._reading.plain.line_break()
        elif name in _CELL_TAGS:
            self._reading.plain.add_text("|")
