"""The loudspeaker's callback: pulls the audio due at the card's rate, and records what is played for the loop."""

import asyncio
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from audio.card.block_ring import BlockRing
from audio.card.clock import CardClock
from audio.card.mixer import CardMixer
from audio.card.stream import LoopWaker, Opened
from audio.resample import StreamResampler
from audio.units import REPLY_RATE_HZ, Pcm, s_of_reply_samples

_RING_BLOCKS = 256
"""Ring capacity: over two seconds of blocks, as long as the reply queue, while the event loop is blocked.

Later blocks are not passed to the echo reference.
"""


class PlaybackCallback:
    """Implements `StreamCallback` for playback.

    Attributes:
        last_s: See `StreamCallback`.
        finished: See `StreamCallback`.
        underflows: Number of underruns reported by the card.
        clock: Converts the card's timestamps.
        ring: What is played, at 24 kHz, with the loop time of its first sample; nothing while another stream is served.
    """

    def __init__(
        self, opened: Opened, channels: int, mixer: CardMixer, loop: asyncio.AbstractEventLoop, waker: LoopWaker
    ) -> None:
        """Creates the callback of a stream. It pulls from `mixer`, reads the loop's clock and rings `waker`."""
        self.last_s = 0.0
        self.finished = False
        self.underflows = 0
        self.clock = CardClock(opened.latency_ms / 1000)
        self._max_samples = math.ceil(REPLY_RATE_HZ * opened.block_ms / 1000) + 1
        self.ring = BlockRing(_RING_BLOCKS, self._max_samples)
        self._silence = np.zeros(self._max_samples, np.int16)
        self._rate_hz = opened.rate_hz
        self._channels = channels
        self._mixer = mixer
        self._loop = loop
        self._waker = waker
        self._resampler = StreamResampler(REPLY_RATE_HZ, opened.rate_hz)
        self._left_over = np.zeros(0, np.int16)  # resampled audio beyond the last block
        self._pulled = 0  # samples at 24 kHz
        self._given = 0  # samples at the card's rate

    def block(self, data: Any, frames: int, card_s: float, first_s: float, *, flagged: bool) -> None:
        """See `StreamCallback`."""
        now_s = self._loop.time()
        self.last_s = now_s
        if flagged:
            self.underflows += 1
            self._mixer.missed(self, frames * REPLY_RATE_HZ // self._rate_hz)
        leaves_s = self.clock.leaves_s(now_s, card_s, first_s)
        self._fill(np.frombuffer(data, np.int16).reshape(frames, self._channels), leaves_s)
        self._waker.wake()

    def ended(self) -> None:
        """See `StreamCallback`."""
        self.finished = True
        self._waker.wake()

    def _fill(self, out: npt.NDArray[np.int16], leaves_s: float) -> None:
        """Fills all channels with the same audio; the block's first sample is played at `leaves_s`."""
        frames = len(out)
        filled = min(frames, len(self._left_over))
        out[:filled] = self._left_over[:filled, np.newaxis]
        self._left_over = self._left_over[filled:]
        while filled < frames:
            # The filter holds samples back, so the first pulls return less than they took.
            need = min(self._max_samples, math.ceil((frames - filled) * REPLY_RATE_HZ / self._rate_hz))
            # Sample k of the pulled audio is k / 24 kHz after the first one returned, whatever the filter holds back.
            at_s = leaves_s + s_of_reply_samples(self._pulled) - self._given / self._rate_hz
            sound = self._resampler.push_samples(self._pull(need, at_s))
            taken = min(frames - filled, len(sound))
            out[filled : filled + taken] = sound[:taken, np.newaxis]
            filled += taken
            self._left_over = sound[taken:].copy() if taken < len(sound) else self._left_over
        self._given += frames

    def _pull(self, need: int, at_s: float) -> Pcm:
        self._pulled += need
        pulled = self._mixer.pull(self, need, at_s)
        if pulled is None:
            return self._silence[:need]
        self.ring.put_block(pulled[0][:, np.newaxis], at_s)
        return pulled[0]
