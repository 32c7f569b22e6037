"""What was typed, until the server has it in the conversation: a connection that breaks loses none of it. Pure.

A text has a name, and the server puts it into the history under that: so it is known which of them arrived, and a text
is never there twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

MOST_WAITING = 20
"""Texts that wait for the server; a person who types on is told that the next one is not sent."""


@dataclass(slots=True)
class _Text:
    words: str
    sent: bool = False  # on this connection


@dataclass(slots=True)
class PendingText:
    """Of one client; outlives its connections and conversations."""

    _waiting: dict[str, _Text] = field(default_factory=dict)
    _owed: bool = False
    _so_far: int = 0

    @property
    def unsent(self) -> Sequence[tuple[str, str]]:
        """Those that are to be sent on this connection, in order: (name, words)."""
        return [(name, text.words) for name, text in self._waiting.items() if not text.sent]

    @property
    def owed(self) -> bool:
        """Something was typed, and no answer to it has begun."""
        return self._owed

    def add(self, words: str) -> bool:
        """The person has typed this; False where too many texts wait already."""
        if len(self._waiting) >= MOST_WAITING:
            return False
        self._so_far += 1
        self._waiting[f"typed_{self._so_far}"] = _Text(words)
        self._owed = True
        return True

    def sent(self, name: str) -> None:
        """It is on its way."""
        self._waiting[name].sent = True

    # ---- what the server tells ----

    def arrived(self, name: str) -> None:
        """The server has an item of this name."""
        self._waiting.pop(name, None)

    def refused(self, name: str) -> None:
        """The server does not take it, and has said why."""
        self.arrived(name)
        self.answered()

    def answered(self) -> None:
        """An answer has begun: to everything that has arrived."""
        self._owed = bool(self._waiting)

    # ---- connections ----

    def lost(self) -> bool:
        """The connection broke: what has not arrived is sent again. True where something may have been lost."""
        uncertain = any(text.sent for text in self._waiting.values())
        for text in self._waiting.values():
            text.sent = False
        return uncertain

    def give_up(self) -> int:
        """No connection will come. Returns how many texts were never sent."""
        count = len(self._waiting)
        self._waiting.clear()
        self._owed = False
        return count
