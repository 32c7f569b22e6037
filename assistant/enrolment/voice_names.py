"""Checks the names of enrolled voices. A name is shown, and the language model gets it before the words. Pure."""

import re
import unicodedata

from assistant.trace.record import is_numbered

MAX_NAME_CHARS = 40

_SHAPE = re.compile(r"[^\W\d_][\w .'-]*")
"""A letter, then letters, digits and a few marks: no brackets and no line ends, which could look like instructions."""


class VoiceNameError(ValueError):
    """A name cannot be used. The text is a sentence with the remedy."""


def voice_name(text: str) -> str:
    """Returns a name as it is kept. Raises VoiceNameError."""
    name = " ".join(unicodedata.normalize("NFC", text).split())
    if len(name) > MAX_NAME_CHARS or _SHAPE.fullmatch(name) is None or is_numbered(name.upper()):
        raise VoiceNameError(
            f"this name cannot be used: use up to {MAX_NAME_CHARS} letters, digits, blanks and . ' - after a letter"
        )
    return name


def same_name(one: str, other: str) -> bool:
    """Returns whether two names are the same but for capitals and the form of their characters."""
    return unicodedata.normalize("NFC", one).casefold() == unicodedata.normalize("NFC", other).casefold()
