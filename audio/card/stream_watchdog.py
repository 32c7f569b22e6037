"""Decides when a stream counts as lost and when to retry. No I/O, no clock: time is passed in."""

import math

RETRY_PAUSES_S = (0.0, 0.25, 0.5, 1.0, 2.0, 3.0, 5.0)
"""Pauses before the attempts to reopen a lost device, in seconds; the last one repeats."""

STALLED_AFTER_S = 2.0
"""Time without a callback until a stream is opened again, in seconds. It is not lost for that: the machine may be busy.

Blocks come every 10 to 20 ms; a suspended card is back within half a second.
"""

LATE_TICK_S = 0.5
"""Time between two ticks, in seconds, from which this process itself was not running. The stream's blocks were late for
the same reason, so the time without them begins again."""

GRACE_S = 3.0
"""Grace period of a new stream, in seconds: a Bluetooth headset takes 2 s to change its profile."""

REPORT_AFTER_S = 1.5
"""Time after the loss, in seconds, during which failures to reopen are not reported: the loss was."""

STEADY_S = 5.0
"""A stream lost sooner after opening, in seconds, does not reset the pauses."""

DEVICE_CHECK_INTERVAL_S = 3.0
"""Interval of checks for a new default device, in seconds. A check costs 30 ms on another core."""


class StreamWatchdog:
    """Tracks the times of one card. Not thread-safe."""

    def __init__(self) -> None:
        self._attempts = 0
        self._next_s = 0.0
        self._opened_s = 0.0
        self._lost_s = -math.inf
        self._next_check_s = 0.0
        self._ticked_s = -math.inf
        self._running_since_s = -math.inf

    def opened(self, now_s: float) -> None:
        """Notes that a stream was opened."""
        self._opened_s = now_s
        self._next_check_s = now_s + DEVICE_CHECK_INTERVAL_S

    def lost(self, now_s: float) -> None:
        """Notes that the stream was lost."""
        if now_s - self._opened_s >= STEADY_S:
            self._attempts = 0
        self._lost_s = now_s
        self._wait(now_s)

    def failed(self, now_s: float) -> None:
        """Notes that an attempt to reopen failed."""
        self._wait(now_s)

    def retry_now(self, now_s: float) -> None:
        """Allows an immediate attempt, after the stream was ended intentionally."""
        self._next_s = now_s

    @property
    def lists_devices_again(self) -> bool:
        """Whether the next attempt lists the devices again, because the first one after the loss has failed."""
        return self._attempts > 1

    def due(self, now_s: float) -> bool:
        """Returns whether an attempt to open is due."""
        return now_s >= self._next_s

    def should_report(self, now_s: float) -> bool:
        """Returns whether to report why the device cannot be reopened."""
        return now_s - self._lost_s >= REPORT_AFTER_S

    def is_stalled(self, now_s: float, last_s: float) -> bool:
        """Returns whether a stream is opened again whose last block came at `last_s` (0.0: none yet).

        Call it at every tick.
        """
        if now_s - self._ticked_s > LATE_TICK_S:
            self._running_since_s = now_s
        self._ticked_s = now_s
        silent_s = now_s - max(last_s, self._running_since_s)
        return now_s - self._opened_s > GRACE_S and silent_s > STALLED_AFTER_S

    def device_check_due(self, now_s: float) -> bool:
        """Returns whether a check for a new default device is due; True once every few seconds."""
        if now_s < self._next_check_s:
            return False
        self._next_check_s = now_s + DEVICE_CHECK_INTERVAL_S
        return True

    def _wait(self, now_s: float) -> None:
        self._next_s = now_s + RETRY_PAUSES_S[min(self._attempts, len(RETRY_PAUSES_S) - 1)]
        self._attempts += 1
