"""Collects the keys that a caller presses to one typed text. Pure: the clock is passed in."""

ENTRY_PAUSE_S = 2.0
"""An entry ends this long after its last key. Keys of a number follow each other within a second; looking for the next
one on paper takes longer, and a key ends the wait only with #."""

MAX_KEYS = 64
"""Longest entry: further keys begin the next one."""

ENTER = "#"


class Keypad:
    """The keys of one entry so far.

    Attributes:
        due_s: When the entry ends if no further key comes; None: no key was pressed.
    """

    def __init__(self) -> None:
        """Starts without keys."""
        self.due_s: float | None = None
        self._keys = ""

    def press(self, key: str, now_s: float) -> str | None:
        """Adds a key: 0-9, *, #, A-D. Returns the entry if this key ends it.

        `#` ends the entry and is not part of it, unless it is the only key.
        """
        if key == ENTER and self._keys:
            return self._taken()
        self._keys += key
        if key == ENTER or len(self._keys) >= MAX_KEYS:
            return self._taken()
        self.due_s = now_s + ENTRY_PAUSE_S
        return None

    def check(self, now_s: float) -> str | None:
        """Returns the entry if its pause is over, else None."""
        return self._taken() if self.due_s is not None and now_s >= self.due_s else None

    def _taken(self) -> str:
        keys, self._keys, self.due_s = self._keys, "", None
        return keys
