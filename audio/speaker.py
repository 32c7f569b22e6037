"""The loudspeaker: waits for room, tells what was played and when; and a simulated sound card."""

import asyncio
import math
from collections.abc import Callable, Hashable
from typing import Protocol

from audio.card.mixer import CardMixer
from audio.playout import Counts
from audio.units import REPLY_RATE_HZ, Pcm, ReplySamples

OnPlayed = Callable[[Hashable, ReplySamples, float, bool], None]
"""(key, pulled_total, leaves_at_loop_s, finished): see `Speaker.on_played`."""

DUCK_DB = -18.0  # low enough to hear oneself speak over it, loud enough to be still there after a cough


class Speaker(Protocol):
    """A loudspeaker with one door, open for one reply at a time. Lives on the event loop.

    Attributes:
        on_played: Called on the loop for every device block that carried sound of a reply: the reply's key; how
            many of its samples the device has taken, this block's included; the loop time at which the block's
            first sample of that reply leaves the loudspeaker, infinity where nobody hears it because there is no
            device; whether it was the reply's last. A reply whose end is said after its last sample was taken gets
            one more call, without new samples. It must not raise.
    """

    on_played: OnPlayed

    @property
    def latency_s(self) -> float:
        """From the device taking a sample to the sample leaving the loudspeaker."""
        ...

    def open(self, key: Hashable) -> None:
        """Open the door for a reply, at full loudness; one that is still open is closed. A key is used once."""
        ...

    async def play(self, key: Hashable, pcm: Pcm) -> bool:
        """Queue int16 samples (n,) at 24 kHz; waits while the queue is full.

        False as soon as the reply's door is not open, also while waiting: closing wakes it.
        """
        ...

    def end(self, key: Hashable) -> None:
        """No more will come of this reply."""
        ...

    def close(self, key: Hashable) -> ReplySamples:
        """Shut the door: what is queued is dropped at once. Returns how many samples the device had taken.

        The same again for the one that was closed last; 0 for a reply that is unknown.
        """
        ...

    def duck(self) -> None:
        """Lower the loudness within 20 ms."""
        ...

    def unduck(self) -> None:
        """Back to full loudness within 20 ms."""
        ...

    async def run(self) -> None:
        """The loudspeaker's task: plays until it is cancelled. Raises AudioError where the device fails."""
        ...


class QueuedSpeaker:
    """What a reply sees of a card: the door, before a queue that the card empties. `Speaker` but for the card itself.

    Attributes:
        on_played: See `Speaker`.
    """

    def __init__(self, duck_db: float) -> None:
        """`duck_db`: how far `duck` lowers the loudness, at most 0."""
        self.on_played: OnPlayed = lambda _key, _total, _leaves_at_s, _finished: None
        self._duck_db = duck_db
        self._mixer = CardMixer()
        self._changed = asyncio.Event()  # there is room, or a door was shut
        self._ended = False

    @property
    def counts(self) -> Counts:
        """What became of the reply whose door was opened last."""
        return self._mixer.counts

    def open(self, key: Hashable) -> None:
        """See `Speaker.open`."""
        self._mixer.open(key)
        self._changed.set()

    async def play(self, key: Hashable, pcm: Pcm) -> bool:
        """See `Speaker.play`. False too once the card has stopped."""
        at = 0
        while not self._ended:
            taken = self._mixer.offer(key, pcm[at:])
            if taken is None:
                return False
            at += taken
            if at == len(pcm):
                return True
            self._changed.clear()
            await self._changed.wait()
        return False

    def end(self, key: Hashable) -> None:
        """See `Speaker.end`."""
        self._mixer.end(key)
        self._changed.set()

    def close(self, key: Hashable) -> ReplySamples:
        """See `Speaker.close`."""
        taken = self._mixer.close(key)
        self._changed.set()
        return taken

    def duck(self) -> None:
        """See `Speaker.duck`."""
        self._mixer.duck(self._duck_db)

    def unduck(self) -> None:
        """See `Speaker.unduck`."""
        self._mixer.unduck()

    def _tell(self) -> None:
        """What was pulled since, to everybody who is to know."""
        for pulled, leaves_s in self._mixer.played():
            self.on_played(pulled.key, pulled.total, leaves_s, pulled.finished)
        self._changed.set()


class WavSpeaker(QueuedSpeaker):
    """A sound card without hardware: a sample counter of its own, a block at every tick.

    The block pulled at tick n begins to leave at tick n + 1, as a card plays one block while it asks for the next:
    so nothing leaves before it was offered, however late the tick. Ticks that were missed altogether (a stalled
    loop) are silence, and underruns where a reply was playing.

    Attributes:
        begun_s: Loop time of its sample 0; None before `run`.
    """

    def __init__(self, write: Callable[[float, Pcm], None], *, block_ms: int = 10, duck_db: float = DUCK_DB) -> None:
        """A card that hands every block on.

        Args:
            write: Called for each block, silent ones included, with the time of its first sample in seconds
                after `begun_s` and the samples, which it must copy. Missed ticks are left out.
            block_ms: Length of a block.
            duck_db: How far `duck` lowers the loudness, at most 0.
        """
        if block_ms < 1:
            raise ValueError(f"a block is at least 1 ms long, not {block_ms}")
        super().__init__(duck_db)
        self.begun_s: float | None = None
        self._write = write
        self._block_samples = REPLY_RATE_HZ * block_ms // 1000
        self._block_s = block_ms / 1000

    @property
    def latency_s(self) -> float:
        """One block."""
        return self._block_s

    async def run(self) -> None:
        """The card's task: plays until it is cancelled or `aclose` is called. Once."""
        if self.begun_s is not None:
            raise RuntimeError("a WavSpeaker runs once: make another one")
        loop = asyncio.get_running_loop()
        self.begun_s = loop.time()
        tick = 0
        try:
            while True:
                await asyncio.sleep(max(0.0, self.begun_s + tick * self._block_s - loop.time()))
                if self._ended:
                    return
                # A timer may fire a hair early by the clock's resolution: a tick is never played twice.
                now = max(tick, math.floor((loop.time() - self.begun_s) / self._block_s))
                self._mixer.missed(None, (now - tick) * self._block_samples)
                self._play_block((now + 1) * self._block_s)
                tick = now + 1
        finally:
            self._stop()

    async def aclose(self) -> None:
        """Stop: whoever waits in `play` gets False; `run` ends at its next tick. Idempotent."""
        self._stop()

    def _play_block(self, position_s: float) -> None:
        assert self.begun_s is not None
        played = self._mixer.pull(None, self._block_samples, self.begun_s + position_s)
        assert played is not None, "nobody else is served"
        self._write(position_s, played[0])
        self._tell()

    def _stop(self) -> None:
        self._ended = True
        self._changed.set()
