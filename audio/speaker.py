"""The loudspeaker interface, its queue, and a simulated sound card."""

import asyncio
import math
from collections.abc import Callable
from typing import Protocol, runtime_checkable

from audio.card.mixer import CardMixer
from audio.playout import Counts
from audio.sound_id import SoundId
from audio.units import REPLY_RATE_HZ, Pcm, ReplySamples

OnPlayed = Callable[[SoundId, ReplySamples, float, bool], None]
"""(sound, pulled_total, leaves_at_loop_s, finished): see `Speaker.on_played`."""

DUCK_DB = -18.0  # low enough to speak over, loud enough to follow


class Speaker(Protocol):
    """A loudspeaker that plays one reply at a time. Not thread-safe: call it on the event loop.

    Attributes:
        on_played: Called on the loop for every device block with audio of a reply. Arguments: the reply; how many
            of its samples the device has taken, including this block; the loop time at which the block's first sample
            of the reply is played, infinity without a device; whether it was the reply's last block. If `end` is called
            after the last sample was taken, there is one more call without new samples. It must not raise.
    """

    on_played: OnPlayed

    @property
    def latency_s(self) -> float:
        """Time from the device taking a sample to playing it, in seconds."""
        ...

    def open(self, sound_id: SoundId) -> None:
        """Opens a reply at full volume and closes an open one. An id is used once."""
        ...

    async def play_chunk(self, sound_id: SoundId, pcm: Pcm) -> bool:
        """Queues int16 samples (n,) at 24 kHz; waits while the queue is full.

        Returns False if the reply is not open. Closing it ends a wait.
        """
        ...

    def end(self, sound_id: SoundId) -> None:
        """Marks the end of a reply's audio."""
        ...

    def close(self, sound_id: SoundId) -> ReplySamples:
        """Closes a reply and drops its queue at once. Returns how many samples the device had taken.

        Returns the same value again for the reply closed last, 0 for an unknown one.
        """
        ...

    def duck(self) -> None:
        """Lowers the volume within 20 ms."""
        ...

    def unduck(self) -> None:
        """Restores full volume within 20 ms."""
        ...

    def hold(self) -> None:
        """Stops the open reply where it is, within 5 ms, until `release` or the next `open`."""
        ...

    def release(self) -> None:
        """Continues a held reply from the same sample."""
        ...

    async def run(self) -> None:
        """Plays until it is cancelled. Raises AudioError if the device fails."""
        ...


@runtime_checkable
class RestingSpeaker(Protocol):
    """A speaker that costs less while only a wake word is listened for.

    Attributes:
        may_rest: Whether it may rest while nothing is played; see `CardSpeaker`.
    """

    may_rest: bool


@runtime_checkable
class RemoteSpeaker(Protocol):
    """A speaker whose client may be disconnected for a while."""

    @property
    def is_disconnected(self) -> bool:
        """Whether nobody hears it now."""
        ...


class QueuedSpeaker:
    """The queue in front of a card, which the card empties. Implements `Speaker` except for the card itself.

    Attributes:
        on_played: See `Speaker`.
    """

    def __init__(self) -> None:
        self.on_played: OnPlayed = lambda _sound, _total, _leaves_at_s, _finished: None
        self._mixer = CardMixer()
        self._changed = asyncio.Event()  # set when there is room or a reply was closed
        self._ended = False

    @property
    def counts(self) -> Counts:
        """Counters of the reply opened last."""
        return self._mixer.counts

    def open(self, sound_id: SoundId) -> None:
        """See `Speaker.open`."""
        self._mixer.open(sound_id)
        self._changed.set()

    async def play_chunk(self, sound_id: SoundId, pcm: Pcm) -> bool:
        """See `Speaker.play_chunk`. Also returns False after the card has stopped."""
        position = 0
        while not self._ended:
            taken = self._mixer.offer(sound_id, pcm[position:])
            if taken is None:
                return False
            position += taken
            if position == len(pcm):
                return True
            self._changed.clear()
            await self._changed.wait()
        return False

    def end(self, sound_id: SoundId) -> None:
        """See `Speaker.end`."""
        self._mixer.end(sound_id)
        self._changed.set()

    def close(self, sound_id: SoundId) -> ReplySamples:
        """See `Speaker.close`."""
        taken = self._mixer.close(sound_id)
        self._changed.set()
        return taken

    def duck(self) -> None:
        """See `Speaker.duck`."""
        self._mixer.duck(DUCK_DB)

    def unduck(self) -> None:
        """See `Speaker.unduck`."""
        self._mixer.unduck()

    def hold(self) -> None:
        """See `Speaker.hold`."""
        self._mixer.hold()

    def release(self) -> None:
        """See `Speaker.release`."""
        self._mixer.release()

    def chime(self, pcm: Pcm) -> None:
        """Plays a short sound, int16 (n,) at 24 kHz, at most 2 s, when no reply plays. It is not part of a reply."""
        self._mixer.chime(pcm)

    def stop_chime(self) -> None:
        """Stops the sound within 5 ms, if it still plays."""
        self._mixer.stop_chime()

    def _tell(self) -> None:
        """Reports what was pulled since the last call."""
        for pulled, leaves_s in self._mixer.played():
            self.on_played(pulled.sound_id, pulled.total, leaves_s, pulled.finished)
        self._changed.set()


class WavSpeaker(QueuedSpeaker):
    """A simulated sound card with its own sample counter; it pulls a block at every tick.

    The block pulled at tick n begins to play at tick n + 1, because a card plays one block while it requests the next.
    So nothing is played before it was queued, however late the tick. Missed ticks (a blocked loop) are silence, and
    underruns if a reply was playing.

    Attributes:
        begun_s: Loop time of its sample 0; None before `run`.
    """

    def __init__(self, write: Callable[[float, Pcm], None], *, block_ms: int = 10) -> None:
        """Creates a card that passes on every block.

        Args:
            write: Called for each block, silent ones included, with the time of its first sample in seconds after
                `begun_s` and the samples, which it must copy. Not called for missed ticks.
            block_ms: Length of a block in milliseconds.
        """
        if block_ms < 1:
            raise ValueError(f"a block must be at least 1 ms long, not {block_ms}")
        super().__init__()
        self.begun_s: float | None = None
        self._write = write
        self._block_samples = REPLY_RATE_HZ * block_ms // 1000
        self._block_s = block_ms / 1000

    @property
    def latency_s(self) -> float:
        """Length of one block in seconds."""
        return self._block_s

    async def run(self) -> None:
        """Plays until it is cancelled or `aclose` is called. Call it once."""
        if self.begun_s is not None:
            raise RuntimeError("a WavSpeaker can be used only once: create another one")
        loop = asyncio.get_running_loop()
        self.begun_s = loop.time()
        tick = 0
        try:
            while True:
                await asyncio.sleep(max(0.0, self.begun_s + tick * self._block_s - loop.time()))
                if self._ended:
                    return
                # A timer may fire slightly early by the clock's resolution; a tick is never played twice.
                now = max(tick, math.floor((loop.time() - self.begun_s) / self._block_s))
                self._mixer.missed(None, (now - tick) * self._block_samples)
                self._play_block((now + 1) * self._block_s)
                tick = now + 1
        finally:
            self._stop()

    async def aclose(self) -> None:
        """Stops: pending `play_chunk` calls return False; `run` ends at its next tick. Idempotent."""
        self._stop()

    def _play_block(self, position_s: float) -> None:
        assert self.begun_s is not None
        played = self._mixer.pull(None, self._block_samples, self.begun_s + position_s)
        assert played is not None, "the mixer has only this output"
        self._write(position_s, played[0])
        self._tell()

    def _stop(self) -> None:
        self._ended = True
        self._changed.set()
