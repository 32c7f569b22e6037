"""Keeps the last seconds of microphone audio in one array."""

import numpy as np

from audio.units import Pcm, Samples


class Ring:
    """A ring of int16 samples addressed by stream position; allocated once. Not thread-safe.

    Attributes:
        missed_samples: Total number of requested samples that were already overwritten.
    """

    def __init__(self, capacity_samples: int) -> None:
        """Allocates room for `capacity_samples` samples. Raises ValueError if that is less than one."""
        if capacity_samples < 1:
            raise ValueError(f"a ring must hold at least 1 sample, not {capacity_samples}")
        self._samples = np.zeros(capacity_samples, np.int16)
        self._length = 0
        self._end = Samples(0)
        self.missed_samples = 0

    @property
    def oldest(self) -> Samples:
        """Position of the oldest available sample."""
        return Samples(self._end - self._length)

    @property
    def end(self) -> Samples:
        """Position after the newest sample."""
        return self._end

    def write(self, start: Samples, pcm: Pcm) -> None:
        """Appends samples, int16 of shape (n,), whose first is at `start`.

        The first write sets the origin. Each later one must begin where the previous one ended, else ValueError. The
        samples are copied.
        """
        if self._length == 0:
            self._end = start
        elif start != self._end:
            raise ValueError(f"the ring ends at {self._end}; samples from {start} on would leave a gap or overlap")
        capacity = len(self._samples)
        newest = pcm[-capacity:]
        position = (start + len(pcm) - len(newest)) % capacity
        first = min(len(newest), capacity - position)
        self._samples[position : position + first] = newest[:first]
        if first < len(newest):
            self._samples[: len(newest) - first] = newest[first:]
        self._end = Samples(start + len(pcm))
        self._length = min(capacity, self._length + len(pcm))

    def read(self, start: Samples, end: Samples) -> Pcm:
        """Returns a copy of the samples from `start` up to `end` (exclusive).

        Overwritten samples are missing at the front. The result then begins at `oldest`, is shorter than `end - start`,
        and `missed_samples` grows by the difference. This is no error, because a shortened pre-roll is still useful.
        Raises ValueError if `end` is after the ring's end or before `start`.
        """
        if not start <= end <= self._end:
            raise ValueError(f"cannot read {start} to {end}: the ring holds {self.oldest} to {self._end}")
        begin = min(max(start, self.oldest), end)
        self.missed_samples += begin - start
        copy = np.empty(end - begin, np.int16)
        position = begin % len(self._samples)
        first = min(len(copy), len(self._samples) - position)
        copy[:first] = self._samples[position : position + first]
        copy[first:] = self._samples[: len(copy) - first]
        return copy
