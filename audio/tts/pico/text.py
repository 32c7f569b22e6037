"""Prepares text for Pico: removes markup and signs it would read by name, breaks words it cannot compute. Pure."""

import re

MAX_WORD_CHARS = 40
"""Longest word for Pico. It computes some words of 150 letters without end, refuses others and skips 80 digits."""

_UNKNOWN = re.compile(r"[^\w\s.,;:!?'\"()%€$£&@#+/=°§«»„“”’¿¡-]|_|(?<!\w)['’]+(?!\w)")
"""Signs that have no sound, and `<`, which begins a command. Apostrophes between blanks would be read by name."""

_PAUSE = re.compile(r"\s*[–—…]\s*")
"""Signs of a pause that Pico ignores."""

_RUN = re.compile(r"([.,;:!?])(?:\s*[.,;:!?])+(?!\d)")
"""Punctuation of which Pico reads the second sign by its name: "..." and "?!"."""

_WORD_PART = re.compile(rf"\S{{{MAX_WORD_CHARS}}}(?=\S)")


def spoken_text(text: str) -> str:
    """Returns what Pico is given for a text. Its length differs."""
    text = _UNKNOWN.sub(" ", _PAUSE.sub(", ", text))
    return _WORD_PART.sub(r"\g<0> ", _RUN.sub(r"\1", text))
