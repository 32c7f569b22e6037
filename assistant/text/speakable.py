"""Converts streamed LLM text to text that can be read aloud.

Markup, reasoning, code, emoji, addresses and citation marks are removed or replaced by words. The result does not
depend on how the stream was divided into tokens: each rule examines the text from its first character on, and waits
while more text could change its result. The wait is bounded; after it the text is taken literally.
"""

import re

from assistant.support.unicode import visible
from assistant.text.markup.bare_formulas import BareFormulas
from assistant.text.markup.blocks import Blocks
from assistant.text.markup.dialing_codes import DialingCodes
from assistant.text.markup.formulas import Formulas
from assistant.text.markup.links import Links
from assistant.text.markup.notes import BlockNotes
from assistant.text.markup.reading import WAIT, MarkupReader, Rule
from assistant.text.markup.stage_directions import StageDirections
from assistant.text.markup.tags import Tags

CODE_NOTE = "I'll leave out the code."
"""Sentence that replaces the first block of code."""

_TRIGGER = re.compile(
    r"[\n<>`~$&\\\[\]【^{]|_(?=\{|\Z)|(?<!\S)[*_]|(?<![^\s`(])[*#]|!(?=[\[=]|\Z)"
    r"|(?<![A-Za-z0-9])(?:[hH](?=[tT]|\Z)|[wW](?=[wW]|\Z)|[fF](?=[tT]|\Z))"
)


def speakable(text: str, code_note: str = CODE_NOTE) -> str:
    """Returns the speakable part of a complete text. Applying it twice gives the same result."""
    stream = Speakable(code_note)
    return (stream.feed(text) + stream.finish()).strip()


class Speakable:
    """Converts streamed LLM tokens to speakable text. A blank line marks a sentence end."""

    def __init__(self, notes: BlockNotes | str = CODE_NOTE) -> None:
        """Starts a text; `notes` replace blocks. A string replaces the first block of code; "" for nothing."""
        self._pending = ""
        self._reading = reading = MarkupReader()
        self._blocks = blocks = Blocks(reading, BlockNotes(notes) if isinstance(notes, str) else notes)
        directions = StageDirections(reading)
        codes = DialingCodes(reading)
        bare = BareFormulas(reading, directions)
        tags, links, formulas = Tags(reading), Links(reading, directions), Formulas(reading, bare)
        self._address = links.address
        self._rules: dict[str, Rule] = {
            "\n": blocks.newline,
            "`": blocks.backtick,
            "~": blocks.backtick,
            "<": tags.angle,
            ">": tags.angle_end,
            "[": links.bracket,
            "]": links.bracket_end,
            "!": links.image,
            "【": links.lenticular,
            "$": formulas.dollar,
            "\\": codes.first(formulas.backslash),
            "^": formulas.caret,
            "_": bare.underscore,
            "*": codes.first(directions.mark),
            "#": codes.first(reading.literal),
            "{": bare.brace,
            "&": formulas.ampersand,
        }

    @property
    def pending(self) -> int:
        """Length of the text that was added and whose rule waits for more."""
        return len(self._pending)

    def feed(self, token: str) -> str:
        """Adds a token and returns the text that can be spoken so far."""
        self._pending += visible(token)
        return self._advance()

    def finish(self) -> str:
        """Marks the text as complete and returns the rest. Unclosed reasoning is dropped."""
        self._reading.final = True
        rest = self._advance()
        self._reading.plain.line_break()
        return rest + self._reading.plain.take()

    def _advance(self) -> str:
        text, pos, size = self._pending, 0, len(self._pending)
        while pos < size:
            moved = self._step(text, pos)
            if moved == WAIT:
                break
            if moved > pos:
                self._reading.previous = text[moved - 1]
            pos = moved
        self._pending = text[pos:]
        return self._reading.plain.take()

    def _step(self, text: str, pos: int) -> int:
        if self._reading.mode is not None:
            return self._reading.mode(text, pos)
        if self._blocks.line_fresh and text[pos] != "\n":
            return self._blocks.line_start(text, pos)
        trigger = _TRIGGER.search(text, pos)
        start = trigger.start() if trigger else len(text)
        if start > pos:
            self._reading.plain.add_text(text[pos:start])
            return start
        rule = self._rules.get(text[pos], self._address)
        return rule(text, pos)
