"""Parses the fields of a satellite: its room, and what addresses the assistant, as words or as a sound."""

import re

from web.wire.values.fields import IDENTIFIER, Field, listed, not_supported, text, wrong_value
from web.wire.values.session_config import SessionOffer

MAX_CHARS = 60
MAX_ROOM_CHARS = 80
_FORM = re.compile(r"\s*[^\W_][\w'’-]*(\s+[\w'’-]+){0,4}\s*")  # as talk.wake_phrase


def _wake_phrase(value: object, path: str) -> str:
    phrase: str = text(min_chars=1, max_chars=MAX_CHARS)(value, path)
    if not _FORM.fullmatch(phrase):
        raise wrong_value(path, "is no wake phrase", "one to five words without punctuation")
    return " ".join(phrase.split())


def room_name(value: object, path: str) -> str:
    """Checks the name of a room. Raises FieldError."""
    name: str = text(max_chars=MAX_ROOM_CHARS)(value, path)
    if not name.isprintable():
        raise wrong_value(path, "has control characters", "a name in one line")
    return " ".join(name.split())


ROOM = Field(room_name)
"""The room in which the client stands; "" for none."""

WAKE_PHRASE = Field(_wake_phrase, null=True)
"""Null: all speech is addressed to the assistant."""


def wake_word_field(offer: SessionOffer) -> Field:
    """Returns the field of the wake word. Null: the session always listens."""

    def wake_word(value: object, path: str) -> str:
        if not offer.wake_words:
            raise not_supported(path, "this server has no wake words (server.wake_words, and the extra wake)")
        name: str = IDENTIFIER(value, path)
        if name not in offer.wake_words:
            raise wrong_value(path, "is not a wake word of this server", listed(offer.wake_words))
        return name

    return Field(wake_word, null=True)
