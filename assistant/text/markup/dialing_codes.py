"""Recognizes codes to dial, such as `**21*5551234#`, whose stars look like emphasis."""

import re

from assistant.text.markup.reading import WAIT, MarkupReader, Rule

_CODE = re.compile(r"(?:\\?[*#]){1,3}\d{1,15}(?:(?:\\?\*){1,2}\+?\d{1,15}){0,4}(?:\\?\*)?\\?#(?!\w)")
_BEGINNING = re.compile(r"[\\*#+\d]{1,64}\Z")


class DialingCodes:
    """Passes codes that end in "#" on as words. Without that key, stars before digits may be emphasis."""

    def __init__(self, reading: MarkupReader) -> None:
        """Applies to the text of `reading`."""
        self._reading = reading

    def first(self, otherwise: Rule) -> Rule:
        """Returns the rule for a mark that begins a code, or has another meaning."""

        def rule(text: str, pos: int) -> int:
            if self._reading.previous.isalnum():
                return otherwise(text, pos)
            if not self._reading.final and _BEGINNING.match(text, pos):
                return WAIT  # more digits may follow
            code = _CODE.match(text, pos)
            if code is None:
                return otherwise(text, pos)
            self._reading.plain.push_word(code[0].replace("\\", ""))
            return code.end()

        return rule
