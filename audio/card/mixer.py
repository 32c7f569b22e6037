"""Mixes the reply's queue and a short chime for the loudspeaker; shared by two threads."""

import threading
from collections import deque
from collections.abc import Generator

import numpy as np

from audio.playout import Counts, Playout, Pulled
from audio.sound_id import SoundId
from audio.units import REPLY_RATE_HZ, Pcm, ReplySamples, reply_samples_of_ms, s_of_reply_samples

MAX_CHIME_SAMPLES = 2 * REPLY_RATE_HZ

_INT16 = np.iinfo(np.int16)
_FADE_SAMPLES: int = reply_samples_of_ms(5)  # the shortest fade that leaves no click in speech

_MAX_UNREPORTED = 1024
"""Maximum number of blocks that were played and are not reported yet. It is never reached: two seconds are queued at
most, which is 200 blocks."""


class CardMixer:
    """A `Playout` filled by the event loop and read by a card's thread, under a lock.

    The lock is held for microseconds: to copy at most two seconds of audio in, or one block out. `close`, `duck` and
    `hold` take effect with the next block, because no later block is prepared in advance.

    Only one stream is served at a time. During a device switch two streams call, and an abandoned one calls until it is
    closed. If both pulled from a reply, it would be torn into pieces.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._playout = Playout()
        self._chime = np.zeros(0, np.int16)
        self._served: object = None
        self._played: deque[tuple[Pulled, float]] = deque(maxlen=_MAX_UNREPORTED)

    # ---- on the event loop; see `Playout` ----

    def open(self, sound_id: SoundId) -> None:
        """See `Playout.open`."""
        with self._lock:
            self._playout.open(sound_id)

    def offer(self, sound_id: SoundId, pcm: Pcm) -> int | None:
        """Queues samples up to the free space. Returns their number; None if the reply is not open."""
        with self._lock:
            take = min(len(pcm), self._playout.room_samples)
            return take if self._playout.offer(sound_id, pcm[:take]) else None

    def end(self, sound_id: SoundId) -> None:
        """See `Playout.end`."""
        with self._lock:
            self._playout.end(sound_id)

    def close(self, sound_id: SoundId) -> ReplySamples:
        """See `Playout.close`."""
        with self._lock:
            return self._playout.close(sound_id)

    def duck(self, gain_db: float) -> None:
        """See `Playout.duck`."""
        with self._lock:
            self._playout.duck(gain_db)

    def unduck(self) -> None:
        """See `Playout.unduck`."""
        with self._lock:
            self._playout.unduck()

    def hold(self) -> None:
        """See `Playout.hold`."""
        with self._lock:
            self._playout.hold()

    def release(self) -> None:
        """See `Playout.release`."""
        with self._lock:
            self._playout.release()

    def chime(self, pcm: Pcm) -> None:
        """Plays a sound as soon as no reply plays; replaces one that is still playing."""
        with self._lock:
            self._chime = pcm[:MAX_CHIME_SAMPLES].copy()

    def stop_chime(self) -> None:
        """Fades the sound out within 5 ms."""
        with self._lock:
            self._fade_chime()

    def serve(self, who: object) -> None:
        """Serves only `who` from now on; None: the event loop itself, while there is no card."""
        with self._lock:
            self._served = who

    def played(self) -> Generator[tuple[Pulled, float]]:
        """Yields what was pulled of replies since the last call, in order, each with its playback time."""
        while self._played:
            yield self._played.popleft()

    @property
    def idle(self) -> bool:
        """Whether nothing is playing or queued."""
        with self._lock:
            return self._playout.idle and not len(self._chime)

    @property
    def counts(self) -> Counts:
        """See `Playout.counts`."""
        with self._lock:
            return self._playout.counts

    # ---- in the card's thread, or on the loop while there is no card ----

    def pull(self, who: object, n: int, leaves_s: float) -> tuple[Pcm, Pulled | None] | None:
        """Returns the next n samples and their part of a reply; None if `who` is not served.

        The samples are a view, valid until the next pull.

        Args:
            who: The caller.
            n: Number of samples.
            leaves_s: Loop time at which the first of them is played.
        """
        with self._lock:
            if who is not self._served:
                return None
            block, pulled = self._playout.pull(n), self._playout.last
            if pulled is not None:
                self._played.append((pulled, leaves_s + s_of_reply_samples(pulled.first)))
            sounding = pulled is not None and pulled.samples > 0
            if len(self._chime):
                if sounding:  # the start of a reply ends the chime
                    self._fade_chime()
                taken = min(n, len(self._chime))
                # The block may contain a reply or the fade-out of one.
                mixed = block[:taken].astype(np.int32) + self._chime[:taken]
                block[:taken] = np.clip(mixed, _INT16.min, _INT16.max)
                self._chime = self._chime[taken:]
            return block, pulled

    def _fade_chime(self) -> None:
        """Replaces the rest of the chime by a fade-out, unless it fades out already."""
        if len(self._chime) > _FADE_SAMPLES:
            rest = self._chime[:_FADE_SAMPLES]
            self._chime = np.rint(rest * np.linspace(1.0, 0.0, _FADE_SAMPLES)).astype(np.int16)

    def missed(self, who: object, n: int) -> None:
        """See `Playout.missed`. Does nothing if `who` is not served."""
        with self._lock:
            if who is self._served:
                self._playout.missed(n)
