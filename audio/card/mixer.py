"""What goes to the loudspeaker: the reply's queue, and a short sound of our own, shared by two threads."""

import threading
from collections import deque
from collections.abc import Generator, Hashable

import numpy as np

from audio.playout import Counts, Playout, Pulled
from audio.units import REPLY_RATE_HZ, Pcm, ReplySamples, s_of_reply_samples

CHIME_MOST_SAMPLES = 2 * REPLY_RATE_HZ

_TOLD = 1024
"""Blocks of a reply that were pulled and not told of yet. The queue's two seconds are 200 blocks: it is never full."""


class CardMixer:
    """A `Playout` that the event loop fills and a card's thread pulls from, under a lock.

    The lock is held for microseconds: for copying at most two seconds of sound in, or one block out. What the loop
    says (close, duck) holds from the next block on: nothing that was prepared earlier waits in between.

    One stream at a time is served. While one device is taken for another two streams call, and one that was given up
    goes on calling until it is closed: a reply that both pull from would be torn into pieces.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._playout = Playout()
        self._chime = np.zeros(0, np.int16)
        self._served: object = None
        self._played: deque[tuple[Pulled, float]] = deque(maxlen=_TOLD)

    # ---- on the event loop; see `Playout` ----

    def open(self, key: Hashable) -> None:
        """See `Playout.open`."""
        with self._lock:
            self._playout.open(key)

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

    def serve(self, who: object) -> None:
        """From here on only this one pulls anything; None: the event loop itself, while there is no card."""
        with self._lock:
            self._served = who

    def played(self) -> Generator[tuple[Pulled, float]]:
        """What was pulled of replies since it was asked last, in order, whoever pulled it; and when that leaves."""
        while self._played:
            yield self._played.popleft()

    @property
    def idle(self) -> bool:
        """Nothing is being played or about to be."""
        with self._lock:
            return self._playout.idle and not len(self._chime)

    @property
    def counts(self) -> Counts:
        """See `Playout.counts`."""
        with self._lock:
            return self._playout.counts

    # ---- in the card's thread, or on the loop while there is no card ----

    def pull(self, who: object, n: int, leaves_s: float) -> tuple[Pcm, Pulled | None] | None:
        """The next n samples, and what they carry of a reply; None for who is not served.

        Args:
            who: Who asks.
            n: How many.
            leaves_s: Loop time at which the first of them leaves.

        The samples are a view, good until the next pull.
        """
        with self._lock:
            if who is not self._served:
                return None
            block, pulled = self._playout.pull(n), self._playout.last
            if pulled is not None:
                self._played.append((pulled, leaves_s + s_of_reply_samples(pulled.first)))
            sounding = pulled is not None and pulled.samples > 0
            if len(self._chime):
                # A reply that begins ends the chime: it says "ready", and that is said now.
                taken = 0 if sounding else min(n, len(self._chime))
                block[:taken] += self._chime[:taken]  # what is there is the fade of a reply that was cut
                self._chime = self._chime[:0] if sounding else self._chime[taken:]
            return block, pulled

    def missed(self, who: object, n: int) -> None:
        """See `Playout.missed`; nothing for who is not served."""
        with self._lock:
            if who is self._served:
                self._playout.missed(n)
