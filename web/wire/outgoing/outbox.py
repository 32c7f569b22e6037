"""Collects messages to a client: JSON texts, each with its own event id, in order."""

import json
from collections.abc import Mapping

import orjson

from web.wire.outgoing.server_events import EventType


class Outbox:
    """Numbers events and holds them until `drain`. The caller drains it right after each operation."""

    def __init__(self, id_tag: str = "") -> None:
        """`id_tag`: the part of event ids that distinguishes those of sessions; "" for none."""
        self._prefix = f"event_{id_tag}_" if id_tag else "event_"
        self._texts: list[str] = []
        self._count = 0

    def add_event(self, kind: EventType, fields: Mapping[str, object]) -> None:
        """Adds an event."""
        self._texts.append(_json({"type": kind, "event_id": self._next_id(), **fields}))

    def add_written(self, start: str) -> None:
        """Adds an event that is JSON already, without its id and last brace, so that audio is not escaped again."""
        self._texts.append(f'{start},"event_id":"{self._next_id()}"}}')

    def drain(self) -> list[str]:
        """Returns all events since the last call."""
        texts, self._texts = self._texts, []
        return texts

    def _next_id(self) -> str:
        self._count += 1
        return f"{self._prefix}{self._count}"


def _json(event: Mapping[str, object]) -> str:
    """Encodes an event. A half character or a number of more than 64 bits, which orjson refuses, is escaped."""
    try:
        return orjson.dumps(event).decode()
    except TypeError:
        return json.dumps(event, separators=(",", ":"))
