"""Push-to-talk with a key whose release nobody tells: pure.

A terminal reports presses only. Pressed once, the key begins what is said, pressed again it ends it; and who holds it
down, as on a radio, is understood by the presses that the keyboard then repeats.
"""

REPEATS_WITHIN_S = 1.0
"""A keyboard begins to repeat 0.25–0.7 s after the press: a second press within this time may be such a repetition."""

SURE_S = 0.1
"""After so long without another one, it was a press of its own: keyboards repeat every 30–40 ms."""

RELEASED_S = 0.15
"""So long without a repetition, a key that was held is released."""


class HeldKey:
    """One key.

    Attributes:
        talking: What is said now counts.
    """

    def __init__(self) -> None:
        """Nobody talks."""
        self.talking = False
        self._held = False
        self._doubtful = False  # the last press ends it, unless it is repeated
        self._pressed_s: float | None = None

    def press(self, at_s: float, *, talking: bool) -> None:
        """A press, or a repetition of one. `talking` is what the conversation knows: it may have ended it by itself."""
        since_s = float("inf") if self._pressed_s is None else at_s - self._pressed_s
        self._pressed_s = at_s
        if since_s > REPEATS_WITHIN_S:
            self.talking, self._held, self._doubtful = not talking, False, False
        elif not self.talking:
            # Of a press that ended it and was held down a little, the repetitions do not begin it again.
            self.talking = since_s > RELEASED_S
        elif self._doubtful:
            self._held, self._doubtful = True, False
        elif not self._held:
            self._doubtful = True

    def due_s(self) -> float | None:
        """When `wait` has something to decide, on the clock of the presses; None if it has not."""
        if self._pressed_s is None or not (self._held or self._doubtful):
            return None
        return self._pressed_s + (RELEASED_S if self._held else SURE_S)

    def wait(self, at_s: float) -> None:
        """Time went by without a press."""
        due_s = self.due_s()
        if due_s is not None and at_s >= due_s:
            self.talking = self._held = self._doubtful = False
