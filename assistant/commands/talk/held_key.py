"""Push-to-talk with a key whose release is not reported. No I/O, no clock.

A terminal reports only presses. One press starts recording, the next one ends it. A key that is held down is recognized
by the repeated presses that the keyboard then sends.
"""

REPEATS_WITHIN_S = 1.0
"""Keyboards begin to repeat 0.25–0.7 s after the press: a second press within this time may be a repetition."""

SINGLE_PRESS_S = 0.1
"""Without another press for this time, a press was not a repetition: keyboards repeat every 30–40 ms."""

RELEASED_S = 0.15
"""Without a repetition for this time, a held key was released."""


class HeldKey:
    """State of the key.

    Attributes:
        talking: Whether speech is currently recorded.
    """

    def __init__(self) -> None:
        """Starts without recording."""
        self.talking = False
        self._held = False
        self._doubtful = False  # the last press ends recording, unless it is repeated
        self._pressed_s: float | None = None

    def press(self, at_s: float, *, talking: bool) -> None:
        """Handles a press or a repetition. `talking`: the conversation's state; it may have ended recording."""
        since_s = float("inf") if self._pressed_s is None else at_s - self._pressed_s
        self._pressed_s = at_s
        if since_s > REPEATS_WITHIN_S:
            self.talking, self._held, self._doubtful = not talking, False, False
        elif not self.talking:
            # Repetitions of the press that ended recording do not start it again.
            self.talking = since_s > RELEASED_S
        elif self._doubtful:
            self._held, self._doubtful = True, False
        elif not self._held:
            self._doubtful = True

    def due_s(self) -> float | None:
        """Returns the time at which `wait` has to decide, on the clock of the presses; None if there is none."""
        if self._pressed_s is None or not (self._held or self._doubtful):
            return None
        return self._pressed_s + (RELEASED_S if self._held else SINGLE_PRESS_S)

    def wait(self, at_s: float) -> None:
        """Handles time that passed without a press."""
        due_s = self.due_s()
        if due_s is not None and at_s >= due_s:
            self.talking = self._held = self._doubtful = False
