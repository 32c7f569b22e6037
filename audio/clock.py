"""Maps the microphone's sample counter to the event loop's clock."""

import math

from audio.units import Samples, s_of_samples, samples_of_s

_BUCKET_S = 0.5
_WINDOW_S = 10.0  # at 200 ppm, a large clock error for a sound card, the oldest minimum is wrong by 2 ms
# A larger change of the offset within one bucket counts as a step.
_STEP_S = 0.02


class StreamClock:
    """Maps stream positions to loop time by the smallest delay in a window. No I/O, no clock; not thread-safe.

    Each block arrives after a delay that is never negative and often close to its minimum. So the minimum of
    (arrival time - sample time) over a window is the offset between the two clocks. The estimate follows the drift
    of the sound card. A source faster than real time is dated by its arrival. A constant delay of every block cannot
    be measured here: it stays in the offset.

    Attributes:
        steps: How often the offset changed by more than 20 ms within half a second, counted at most once per half
            second. Causes: a suspended machine, samples lost by the card, a backlog that arrived at once.
    """

    def __init__(self, window_s: float = _WINDOW_S) -> None:
        """Creates a clock that has observed nothing.

        Args:
            window_s: Length of the window. 10 s outlast typical network problems. Lost samples are noticed after
                this time at the latest.
        """
        self._minima_s = [math.inf] * max(2, round(window_s / _BUCKET_S))
        self._bucket = 0
        self._offset_s = math.inf
        self._previous_offset_s = math.inf
        self._stepped = False
        self.steps = 0

    @property
    def running(self) -> bool:
        """Whether anything was observed. Before that, nothing can be mapped."""
        return self._offset_s != math.inf

    @property
    def offset_s(self) -> float:
        """Estimated loop time of stream position 0; infinite before the first observation."""
        return self._offset_s

    def observe(self, end: Samples, arrival_s: float) -> None:
        """Records that the audio up to `end` had arrived at loop time `arrival_s`, which never decreases."""
        self._advance_to(math.floor(arrival_s / _BUCKET_S))
        slot = self._bucket % len(self._minima_s)
        self._minima_s[slot] = min(self._minima_s[slot], arrival_s - s_of_samples(end))
        self._offset_s = min(self._minima_s)
        if (
            not self._stepped
            and self._previous_offset_s != math.inf
            and abs(self._offset_s - self._previous_offset_s) > _STEP_S
        ):
            self._stepped = True
            self.steps += 1

    def hold(self, loop_s: float) -> None:
        """Keeps the offset unchanged while no audio arrives, up to loop time `loop_s`."""
        offset_s = self._offset_s
        self._advance_to(math.floor(loop_s / _BUCKET_S))
        slot = self._bucket % len(self._minima_s)
        self._minima_s[slot] = min(self._minima_s[slot], offset_s)

    def to_loop_s(self, position: Samples) -> float:
        """Returns the loop time at which the sample at `position` was (or will be) captured.

        Raises RuntimeError where nothing was observed yet.
        """
        self._require_running()
        return self._offset_s + s_of_samples(position)

    def to_position(self, loop_s: float) -> Samples:
        """Returns the stream position captured at loop time `loop_s`; negative before the stream began.

        Raises RuntimeError where nothing was observed yet.
        """
        self._require_running()
        return samples_of_s(loop_s - self._offset_s)

    def _advance_to(self, bucket: int) -> None:
        """Drops the buckets that have left the window."""
        if not self.running:
            self._bucket = bucket
        if bucket <= self._bucket:
            return
        self._previous_offset_s = self._offset_s
        self._stepped = False
        buckets = len(self._minima_s)
        for passed in range(max(self._bucket + 1, bucket - buckets + 1), bucket + 1):
            self._minima_s[passed % buckets] = math.inf
        self._bucket = bucket

    def _require_running(self) -> None:
        if not self.running:
            raise RuntimeError("the microphone's clock was read before any sound arrived")
