"""How many WebSocket frames a client may send that are no message of their own. Pure.

A frame takes about 10 µs, whatever is in it: a megabyte of empty frames, 6 bytes each, holds the event loop for more
than a second. So control frames and small fragments have a rate, and the frames of one message a bound.
"""

CONTROL_BURST = 128
"""Pings, pongs and closes at once: a client that pings each second and was not read for two minutes."""
CONTROL_PER_S = 16.0

SMALL_BYTES = 512
"""A fragment with fewer bytes is a small one: what splits a message for its size makes pieces of 1 kB and more."""
SMALL_BURST = 1024
"""Small fragments at once: about 10 ms."""
SMALL_PER_S = 64.0

MOST_FRAGMENTS = 16_384
"""Of one message: the longest in pieces of 1 kB."""

MOST_UNSENT_PONGS = 16
"""Answers to pings that a client does not read."""

POLICY_VIOLATION = 1008


class Bucket:
    """So many at once, and then so many per second."""

    def __init__(self, burst: int, per_s: float) -> None:
        """Full."""
        self._burst = burst
        self._per_s = per_s
        self._left = float(burst)
        self._at_s = 0.0

    def take(self, now_s: float) -> bool:
        """Whether one more may come now."""
        self._left = min(self._burst, self._left + (now_s - self._at_s) * self._per_s)
        self._at_s = now_s
        self._left -= 1
        return self._left >= 0


class FrameLimits:
    """The frames of one connection."""

    def __init__(self) -> None:
        """None has come."""
        self._control = Bucket(CONTROL_BURST, CONTROL_PER_S)
        self._small = Bucket(SMALL_BURST, SMALL_PER_S)
        self._fragments = 0

    def control(self, now_s: float) -> str | None:
        """A ping, pong or close came. Returns why the connection is to be closed, if it is."""
        if self._control.take(now_s):
            return None
        return f"too many control frames: {CONTROL_BURST} at once, then {CONTROL_PER_S:g} a second"

    def fragment(self, size: int, now_s: float, *, last: bool) -> str | None:
        """A part of a message came. Returns why the connection is to be closed, if it is."""
        self._fragments += 1
        if self._fragments > MOST_FRAGMENTS:
            return f"a message has {MOST_FRAGMENTS} fragments at most"
        if last:
            self._fragments = 0
        if size < SMALL_BYTES and not self._small.take(now_s):
            return f"too many fragments under {SMALL_BYTES} bytes: {SMALL_BURST} at once, then {SMALL_PER_S:g} a second"
        return None
