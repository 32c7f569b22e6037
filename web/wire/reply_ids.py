"""The names of replies on the wire."""

import re

from assistant.turns.events import ReplyId

_FORM = re.compile(r"resp_([0-9]{1,9})_([0-9]{1,9})")

UNKNOWN_REPLY = ReplyId(0, 0)
"""Stands for a name that no reply ever had: turns count from 1."""


def response_id(reply: ReplyId) -> str:
    """The reply's name on the wire."""
    return f"resp_{reply.turn}_{reply.attempt}"


def reply_of(name: str) -> ReplyId | None:
    """The reply of this name; None: no reply is ever named so."""
    match = _FORM.fullmatch(name)
    return ReplyId(int(match[1]), int(match[2])) if match else None
