"""What is to be sent to a client: JSON texts, each with its own event id, in order."""

import json
from collections.abc import Mapping

from web.wire.server_events import EventType


class Outbox:
    """Counts events and holds them until they are fetched. Whoever tells it something fetches right after."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._count = 0

    def add(self, kind: EventType, fields: Mapping[str, object]) -> None:
        """An event."""
        self._texts.append(json.dumps({"type": kind, "event_id": self._next_id(), **fields}, separators=(",", ":")))

    def add_written(self, start: str) -> None:
        """An event that is JSON already, but for its id and the last brace: sound is not escaped again."""
        self._texts.append(f'{start},"event_id":"{self._next_id()}"}}')

    def drain(self) -> list[str]:
        """Everything since the last time."""
        texts, self._texts = self._texts, []
        return texts

    def _next_id(self) -> str:
        self._count += 1
        return f"event_{self._count}"
