"""When a stream counts as lost, and when to try again. Pure: time comes in as a value."""

import math

PAUSES_S = (0.0, 0.25, 0.5, 1.0, 2.0, 3.0, 5.0)
"""Before each attempt to open a device that was lost; the last for all further ones."""

SILENT_S = 1.0
"""Without a callback: blocks come every 10 to 20 ms, a suspended card is back within half a second."""

FIRST_S = 3.0
"""A stream that was just opened is given so long: a Bluetooth headset takes 2 s to change its profile."""

SAID_AFTER_S = 1.5
"""At the first failures to open it again the device is mostly not there yet, which was said."""

STEADY_S = 5.0
"""A stream that was lost sooner has not come back: the pauses go on growing."""

LOOK_EVERY_S = 3.0
"""For another default device. A look costs 30 ms of another core."""


class StreamWatchdog:
    """The times of one card. Not thread-safe."""

    def __init__(self) -> None:
        self._attempts = 0
        self._next_s = 0.0
        self._opened_s = 0.0
        self._lost_s = -math.inf
        self._look_s = 0.0

    def opened(self, now_s: float) -> None:
        """A stream is open."""
        self._opened_s = now_s
        self._look_s = now_s + LOOK_EVERY_S

    def lost(self, now_s: float) -> None:
        """The stream has gone."""
        if now_s - self._opened_s >= STEADY_S:
            self._attempts = 0
        self._lost_s = now_s
        self._wait(now_s)

    def failed(self, now_s: float) -> None:
        """It could not be opened again."""
        self._wait(now_s)

    def at_once(self, now_s: float) -> None:
        """It was ended for a reason of our own, and may be opened again now."""
        self._next_s = now_s

    @property
    def again(self) -> bool:
        """The first attempt after a loss has failed: the next one looks for new devices."""
        return self._attempts > 1

    def due(self, now_s: float) -> bool:
        """Whether to try to open now."""
        return now_s >= self._next_s

    def worth_saying(self, now_s: float) -> bool:
        """Whether the person is told why it cannot be opened again."""
        return now_s - self._lost_s >= SAID_AFTER_S

    def silent(self, now_s: float, last_s: float) -> bool:
        """Whether a stream whose last block came at `last_s` (0.0: none did) has to be given up."""
        return now_s - self._opened_s > FIRST_S and now_s - last_s > SILENT_S

    def look_due(self, now_s: float) -> bool:
        """Whether to look for another default device; true once every few seconds."""
        if now_s < self._look_s:
            return False
        self._look_s = now_s + LOOK_EVERY_S
        return True

    def _wait(self, now_s: float) -> None:
        self._next_s = now_s + PAUSES_S[min(self._attempts, len(PAUSES_S) - 1)]
        self._attempts += 1
