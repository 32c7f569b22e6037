"""Parses where a client wants its conversation to be kept."""

import re

from web.wire.values.fields import Field, checked, text, wrong_value
from web.wire.values.session_config import Keeping

SECRET_SHAPE = re.compile(r"[A-Za-z0-9_-]{32,128}")
"""The secret of a browser: random, so that nobody guesses it."""

CONVERSATION_SHAPE = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""Id of a kept conversation."""


def _secret(value: object, path: str) -> str:
    secret: str = text(max_chars=128)(value, path)
    if SECRET_SHAPE.fullmatch(secret) is None:
        raise wrong_value(path, "is no secret of a browser", "32 to 128 random letters, digits, - and _")
    return secret


def _conversation(value: object, path: str) -> str:
    name: str = text(max_chars=64)(value, path)
    if CONVERSATION_SHAPE.fullmatch(name) is None:
        raise wrong_value(path, "is no id of a conversation", "an id from repartee.conversation, or null for a new one")
    return name


_FIELDS = {"browser": Field(_secret, required=True), "id": Field(_conversation)}


def keeping(value: object, path: str) -> Keeping:
    """Parses session.repartee.conversation. Raises FieldError."""
    fields = checked(value, path, _FIELDS)
    return Keeping(fields["browser"], fields.get("id", ""))
