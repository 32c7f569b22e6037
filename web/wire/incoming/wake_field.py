"""Parses the wake phrase of a session: the words that address the assistant."""

import re

from web.wire.values.fields import Field, text, wrong_value

MAX_CHARS = 60
_FORM = re.compile(r"\s*[^\W_][\w'’-]*(\s+[\w'’-]+){0,4}\s*")  # as talk.wake_phrase


def _wake_phrase(value: object, path: str) -> str:
    phrase: str = text(min_chars=1, max_chars=MAX_CHARS)(value, path)
    if not _FORM.fullmatch(phrase):
        raise wrong_value(path, "is no wake phrase", "one to five words without punctuation")
    return " ".join(phrase.split())


WAKE_PHRASE = Field(_wake_phrase, null=True)
"""Null: all speech is addressed to the assistant."""
