"""Tracks the playback of one reply of a server: how much was played, and when it became audible. No I/O, no clock."""

import math
from dataclasses import dataclass, field

from audio.level import OnsetFinder
from audio.units import REPLY_RATE_HZ, Pcm, ms_of_reply_samples

REPORT_EVERY_S = 0.1

MAX_BLOCKS = 400
"""Device blocks kept until the onset is known: 4 s of 10 ms. After a longer silence the kept ones are used."""


@dataclass(slots=True)
class ReplyPlayback:
    """Playback of one reply. Times are loop seconds, positions samples of the reply.

    Attributes:
        arrived: Samples that have arrived.
        taken: Samples that the loudspeaker has taken.
        finished: Whether all of it was played.
        audible_s: When its first audible sample left the loudspeaker; None until that is known.
        device_ms: Time from the arrival of that sample until then.
        lost_at: First sample that is not audible because there is no loudspeaker; None while there is one.
    """

    arrived: int = 0
    taken: int = 0
    finished: bool = False
    audible_s: float | None = None
    device_ms: float | None = None
    lost_at: int | None = None
    _onset: OnsetFinder = field(default_factory=lambda: OnsetFinder(REPLY_RATE_HZ))
    _onset_at: int | None = None
    _pieces: list[tuple[int, float]] = field(default_factory=list)  # (first sample, arrival), until it is audible
    _blocks: list[tuple[int, float]] = field(default_factory=list)  # (first sample, when it leaves), likewise
    _block: tuple[int, float] = (0, 0.0)  # the latest one
    _reported_s: float | None = None

    def came(self, pcm: Pcm, now_s: float) -> None:
        """Takes the next audio that has arrived."""
        if self.audible_s is None and self._onset_at is None:
            self._pieces.append((self.arrived, now_s))
            self._onset_at = self._onset.feed(pcm)
        self.arrived += len(pcm)

    def took(self, total: int, leaves_at_s: float, *, finished: bool) -> bool:
        """Takes a report of the loudspeaker about a block; `leaves_at_s` is the time of its first sample.

        Returns True once, when it becomes known when the reply became audible.
        """
        self._block = (self.taken, leaves_at_s)
        if total > self.taken:
            position = self.taken if self.lost_at is None else self.lost_at
            self.lost_at = position if math.isinf(leaves_at_s) else None
        self.taken = total
        self.finished = self.finished or finished
        if self.audible_s is not None:
            return False
        if math.isinf(leaves_at_s):  # there is no device
            self._blocks.clear()
            return False
        self._blocks.append(self._block)
        del self._blocks[:-MAX_BLOCKS]
        if self._onset_at is None or total <= self._onset_at:
            return False
        start, left_s = next((block for block in reversed(self._blocks) if block[0] <= self._onset_at), self._blocks[0])
        self.audible_s = left_s + max(0, self._onset_at - start) / REPLY_RATE_HZ
        arrived_s = next(at_s for first, at_s in reversed(self._pieces) if first <= self._onset_at)
        self.device_ms = max(0.0, (self.audible_s - arrived_s) * 1000)
        self._blocks.clear()
        self._pieces.clear()
        return True

    def heard_ms(self, now_s: float) -> float:
        """Returns how much has left the loudspeaker by now, from the first sample."""
        first, leaves_at_s = self._block
        left = first + max(0.0, now_s - leaves_at_s) * REPLY_RATE_HZ
        return ms_of_reply_samples(self.taken) if self.finished else min(left, self.taken) * 1000 / REPLY_RATE_HZ

    def dry(self, now_s: float, latency_s: float) -> bool:
        """Returns whether the loudspeaker ran out of audio; `latency_s`: time from its request to the sound leaving."""
        first, leaves_at_s = self._block
        return now_s >= leaves_at_s + (self.taken - first) / REPLY_RATE_HZ - latency_s

    def report_due(self, now_s: float) -> bool:
        """Returns whether another report to the server is due."""
        if self._reported_s is not None and now_s - self._reported_s < REPORT_EVERY_S:
            return False
        self._reported_s = now_s
        return True
