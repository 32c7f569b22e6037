"""Converts reply ids from and to the protocol's response ids."""

import re
from contextlib import suppress

from assistant.turns.events import ReplyId

_FORM = re.compile(r"resp_(?:[0-9a-f]{8}_)?([0-9]{1,9})_([0-9]{1,9})")

UNKNOWN_REPLY = ReplyId(0, 0)
"""Stands for a response id that no reply can have; turns count from 1."""


def response_id(reply_id: ReplyId, id_tag: str = "") -> str:
    """Returns the response id of a reply. `id_tag`: the part that distinguishes the ids of sessions; "" for none."""
    return f"resp_{id_tag}_{reply_id.turn}_{reply_id.attempt}" if id_tag else f"resp_{reply_id.turn}_{reply_id.attempt}"


def reply_of(name: str) -> ReplyId | None:
    """Returns the reply of a response id; None if no reply can have this id."""
    match = _FORM.fullmatch(name)
    return ReplyId(int(match[1]), int(match[2])) if match else None


def received_ms_of(text: str | None) -> float | None:
    """Parses how much of a reply a client has received, in ms; None if it does not say."""
    with suppress(ValueError, TypeError):
        number = float(text or "")
        return number if 0 <= number < 1e9 else None
    return None
