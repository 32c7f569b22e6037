"""The loudspeaker's end of a callback: pulls what is due, at the card's rate, and keeps what the loop is told of."""

import asyncio
import math
from collections import deque
from typing import Any

import numpy as np
import numpy.typing as npt

from audio.block_ring import BlockRing
from audio.card_clock import CardClock
from audio.card_mixer import CardMixer
from audio.card_stream import Bell, Opened
from audio.playout import Pulled
from audio.resample import StreamResampler
from audio.units import REPLY_RATE_HZ, s_of_reply_samples

_KEPT_BLOCKS = 256
"""Over two seconds of blocks for an event loop that is held up: a queue's length of reply. Later ones are not told to
whoever hears along."""

_TOLD = 1024
"""What was played of a reply, for the loop. The queue's two seconds are pulled in 200 blocks: it is never full."""


class PlayLane:
    """Implements `Lane`.

    Attributes:
        last_s: See `Lane`.
        finished: See `Lane`.
        underflows: How often the card had to play nothing because we were late, as it says.
        clock: What is known of the card's times.
        ring: What left, at 24 kHz, with the loop time of its first sample.
        played: What of it was a reply's, with the loop time at which it leaves; the loop takes it out.
    """

    def __init__(
        self, opened: Opened, channels: int, mixer: CardMixer, loop: asyncio.AbstractEventLoop, bell: Bell
    ) -> None:
        """For a stream; `mixer` is pulled from, the loop's clock read, and `bell` rung after every block."""
        self.last_s = 0.0
        self.finished = False
        self.underflows = 0
        self.clock = CardClock(opened.latency_ms / 1000)
        self._most_samples = math.ceil(REPLY_RATE_HZ * opened.block_ms / 1000) + 1
        self.ring = BlockRing(_KEPT_BLOCKS, self._most_samples)
        self.played: deque[tuple[Pulled, float]] = deque(maxlen=_TOLD)
        self._rate_hz = opened.rate_hz
        self._channels = channels
        self._mixer = mixer
        self._loop = loop
        self._bell = bell
        self._resampler = StreamResampler(REPLY_RATE_HZ, opened.rate_hz)
        self._over = np.zeros(0, np.int16)  # resampled, and more than the last block took
        self._pulled = 0  # samples at 24 kHz
        self._given = 0  # samples at the card's rate

    def block(self, data: Any, frames: int, card_s: float, first_s: float, *, flagged: bool) -> None:
        """See `Lane`."""
        now_s = self._loop.time()
        self.last_s = now_s
        if flagged:
            self.underflows += 1
            self._mixer.missed(frames * REPLY_RATE_HZ // self._rate_hz)
        self._fill(
            np.frombuffer(data, np.int16).reshape(frames, self._channels), self._leaves_s(now_s, card_s, first_s)
        )
        self._bell.ring()

    def ended(self) -> None:
        """See `Lane`."""
        self.finished = True
        self._bell.ring()

    def _leaves_s(self, now_s: float, card_s: float, first_s: float) -> float:
        return self.clock.leaves_s(now_s, card_s, first_s)

    def _fill(self, out: npt.NDArray[np.int16], leaves_s: float) -> None:
        """Every channel with the same; the block's first sample leaves at `leaves_s`."""
        frames = len(out)
        filled = min(frames, len(self._over))
        out[:filled] = self._over[:filled, np.newaxis]
        self._over = self._over[filled:]
        while filled < frames:
            # The filter holds samples back, so that the first pulls give less than they took.
            need = min(self._most_samples, math.ceil((frames - filled) * REPLY_RATE_HZ / self._rate_hz))
            pcm, pulled = self._mixer.pull(need)
            # Sample k of what was pulled is k / 24 kHz after the first that was given, whatever the filter holds back.
            at_s = leaves_s + s_of_reply_samples(self._pulled) - self._given / self._rate_hz
            self._pulled += need
            self.ring.put(pcm[:, np.newaxis], at_s)
            if pulled is not None:
                self.played.append((pulled, at_s + s_of_reply_samples(pulled.first)))
            sound = self._resampler.push(pcm)
            taken = min(frames - filled, len(sound))
            out[filled : filled + taken] = sound[:taken, np.newaxis]
            filled += taken
            self._over = sound[taken:].copy() if taken < len(sound) else self._over
        self._given += frames
