"""What goes to the loudspeaker: the reply's queue, and a short sound of our own, shared by two threads."""

import threading
from collections.abc import Hashable

import numpy as np

from audio.playout import Counts, Playout, Pulled
from audio.units import REPLY_RATE_HZ, Pcm, ReplySamples

CHIME_MOST_SAMPLES = 2 * REPLY_RATE_HZ


class CardMixer:
    """A `Playout` that the event loop fills and a card's thread pulls from, under a lock.

    The lock is held for microseconds: for copying at most two seconds of sound in, or one block out. What the loop
    says (close, duck) holds from the next block on: nothing that was prepared earlier waits in between.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._playout = Playout()
        self._chime = np.zeros(0, np.int16)

    # ---- on the event loop; see `Playout` ----

    def open(self, key: Hashable) -> None:
        """See `Playout.open`."""
        with self._lock:
            self._playout.open(key)

    def is_open(self, key: Hashable) -> bool:
        """See `Playout.is_open`."""
        return self._playout.is_open(key)

    def offer(self, key: Hashable, pcm: Pcm) -> int | None:
        """Queue as much of it as there is room for: how much that was, None where the door is not open."""
        with self._lock:
            take = min(len(pcm), self._playout.room_samples)
            return take if self._playout.offer(key, pcm[:take]) else None

    def end(self, key: Hashable) -> None:
        """See `Playout.end`."""
        with self._lock:
            self._playout.end(key)

    def close(self, key: Hashable) -> ReplySamples:
        """See `Playout.close`."""
        with self._lock:
            return self._playout.close(key)

    def duck(self, gain_db: float) -> None:
        """See `Playout.duck`."""
        with self._lock:
            self._playout.duck(gain_db)

    def unduck(self) -> None:
        """See `Playout.unduck`."""
        with self._lock:
            self._playout.unduck()

    def chime(self, pcm: Pcm) -> None:
        """Play this as soon as nothing of a reply does; in place of one that still plays."""
        with self._lock:
            self._chime = pcm[:CHIME_MOST_SAMPLES].copy()

    def missed(self, n: int) -> None:
        """See `Playout.missed`."""
        with self._lock:
            self._playout.missed(n)

    @property
    def counts(self) -> Counts:
        """See `Playout.counts`."""
        with self._lock:
            return self._playout.counts

    # ---- in the card's thread, or on the loop while there is no card ----

    def pull(self, n: int) -> tuple[Pcm, Pulled | None]:
        """The next n samples, and what they carry of a reply. They are a view, good until the next pull."""
        with self._lock:
            block, pulled = self._playout.pull(n), self._playout.last
            if len(self._chime):
                # A reply that begins ends the chime: it says "ready", and that is said now.
                taken = 0 if pulled is not None else min(n, len(self._chime))
                block[:taken] = self._chime[:taken]
                self._chime = self._chime[taken:] if pulled is None else self._chime[:0]
            return block, pulled
