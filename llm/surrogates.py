"""Characters that were cut into two JSON escapes (`\\ud83d` now, `\\ude00` in the next token), joined again."""

import re

_SURROGATE = re.compile("[\ud800-\udfff]")


class Surrogates:
    """Holds back the first half of a character until the second one comes."""

    def __init__(self) -> None:
        self._half = ""

    def whole(self, text: str) -> str:
        """What is whole of all that came so far; a half without its other half becomes U+FFFD."""
        text, self._half = self._half + text, ""
        if text.isascii() or not _SURROGATE.search(text):
            return text
        if "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
