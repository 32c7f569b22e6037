"""Joins characters that a service split into two JSON escapes (`\\ud83d` now, `\\ude00` in the next token)."""

import re

_SURROGATE = re.compile("[\ud800-\udfff]")


class Surrogates:
    """Holds back the first half of a surrogate pair until the second half arrives."""

    def __init__(self) -> None:
        self._half = ""

    def feed(self, text: str) -> str:
        """Returns the complete characters so far; a half without its counterpart becomes U+FFFD."""
        text, self._half = self._half + text, ""
        if text.isascii() or not _SURROGATE.search(text):
            return text
        if "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
