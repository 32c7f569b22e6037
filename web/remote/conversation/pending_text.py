"""Keeps typed texts until the server has them in the conversation, so that no lost connection loses them.

No I/O, no clock. Each text has an id, under which the server adds it to the history. It is therefore known which texts
have arrived, and no text is added twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

MAX_WAITING = 20
"""Texts that may wait for the server. Further texts are not sent, with a message to the user."""


@dataclass(slots=True)
class _Text:
    words: str
    sent: bool = False  # sent on this connection


@dataclass(slots=True)
class PendingText:
    """The typed texts of one client. Outlives its connections and conversations."""

    _waiting: dict[str, _Text] = field(default_factory=dict)
    _reply_due: bool = False
    _so_far: int = 0

    @property
    def unsent(self) -> Sequence[tuple[str, str]]:
        """The texts to be sent on this connection, in order: (name, words)."""
        return [(name, text.words) for name, text in self._waiting.items() if not text.sent]

    @property
    def reply_due(self) -> bool:
        """Whether a text was typed and no answer to it has begun."""
        return self._reply_due

    def add_text(self, words: str) -> bool:
        """Adds a typed text; returns False if too many are waiting."""
        if len(self._waiting) >= MAX_WAITING:
            return False
        self._so_far += 1
        self._waiting[f"typed_{self._so_far}"] = _Text(words)
        self._reply_due = True
        return True

    def sent(self, name: str) -> None:
        """Marks a text as sent."""
        self._waiting[name].sent = True

    # ---- server events ----

    def arrived(self, name: str) -> None:
        """Removes a text that the server has."""
        self._waiting.pop(name, None)

    def refused(self, name: str) -> None:
        """Removes a text that the server refused."""
        self.arrived(name)
        self.answered()

    def answered(self) -> None:
        """Notes that an answer has begun, to all texts that have arrived."""
        self._reply_due = bool(self._waiting)

    # ---- connections ----

    def connection_lost(self) -> bool:
        """Marks all texts to be sent again on the next connection. Returns whether some may have been lost."""
        uncertain = any(text.sent for text in self._waiting.values())
        for text in self._waiting.values():
            text.sent = False
        return uncertain

    def give_up(self) -> int:
        """Drops all texts, because there will be no connection. Returns how many were never sent."""
        count = len(self._waiting)
        self._waiting.clear()
        self._reply_due = False
        return count
