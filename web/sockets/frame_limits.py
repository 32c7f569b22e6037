"""Limits the control frames and fragments that a WebSocket client may send. No I/O, no clock.

A frame takes about 10 µs whatever its size: a megabyte of empty frames, 6 bytes each, would block the event loop for
more than a second. Control frames and small fragments are therefore limited in rate, and fragments per message in
number.
"""

CONTROL_BURST = 128
"""Pings, pongs and closes at once. Allows a client that pings each second and was not read for two minutes."""
CONTROL_PER_S = 16.0

SMALL_BYTES = 512
"""Fragments with fewer bytes are small. Software that splits long messages makes pieces of 1 kB and more."""
SMALL_BURST = 1024
"""Small fragments at once, about 10 ms of processing."""
SMALL_PER_S = 64.0

MAX_FRAGMENTS = 16_384
"""Fragments of one message: the longest message in pieces of 1 kB."""

MAX_UNSENT_PONGS = 16
"""Pongs that may wait because the client does not read."""

POLICY_VIOLATION = 1008


class Bucket:
    """A token bucket: `burst` at once, then `per_s` per second."""

    def __init__(self, burst: int, per_s: float) -> None:
        """Starts with a full bucket."""
        self._burst = burst
        self._per_s = per_s
        self._left = float(burst)
        self._at_s = 0.0

    def take(self, now_s: float) -> bool:
        """Takes one token; returns False if none is left."""
        self._left = min(self._burst, self._left + (now_s - self._at_s) * self._per_s)
        self._at_s = now_s
        self._left -= 1
        return self._left >= 0


class FrameLimits:
    """Counts the frames of one connection."""

    def __init__(self) -> None:
        """Starts without frames."""
        self._control = Bucket(CONTROL_BURST, CONTROL_PER_S)
        self._small = Bucket(SMALL_BURST, SMALL_PER_S)
        self._fragments = 0

    def control(self, now_s: float) -> str | None:
        """Counts a ping, pong or close. Returns the reason if the connection must be closed."""
        if self._control.take(now_s):
            return None
        return f"too many control frames: {CONTROL_BURST} at once, then {CONTROL_PER_S:g} a second"

    def fragment(self, size: int, now_s: float, *, last: bool) -> str | None:
        """Counts a fragment of a message. Returns the reason if the connection must be closed."""
        self._fragments += 1
        if self._fragments > MAX_FRAGMENTS:
            return f"a message may have at most {MAX_FRAGMENTS} fragments"
        if last:
            self._fragments = 0
        if size < SMALL_BYTES and not self._small.take(now_s):
            return f"too many fragments under {SMALL_BYTES} bytes: {SMALL_BURST} at once, then {SMALL_PER_S:g} a second"
        return None
