"""Buffers a reply for the loudspeaker: bounded queue, ducking, holds, fades, and a count of the played samples."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from audio.sound_id import SoundId
from audio.units import REPLY_RATE_HZ, Pcm, ReplySamples, reply_samples_of_ms

CAPACITY_SAMPLES = ReplySamples(2 * REPLY_RATE_HZ)
_FADE_SAMPLES: int = reply_samples_of_ms(5)  # the shortest fade that leaves no click in speech
_RAMP_SAMPLES: int = reply_samples_of_ms(20)
_FADE_IN = np.linspace(0.0, 1.0, _FADE_SAMPLES + 1, dtype=np.float32)[1:]


@dataclass(frozen=True, slots=True)
class Counts:
    """Playback counters of one reply.

    Attributes:
        sound_id: The reply.
        pulled: Samples taken by the device, without the fade after `close`.
        underruns: How often playback was interrupted because the queue was empty, and then continued.
    """

    sound_id: SoundId
    pulled: ReplySamples
    underruns: int


@dataclass(frozen=True, slots=True)
class Pulled:
    """The part of a reply in a device block.

    Attributes:
        sound_id: The reply.
        first: Offset of its first sample in the block.
        samples: Number of its samples in the block; 0 only if the reply ended without more.
        total: Number of its samples taken so far, including this block.
        finished: It was the last part: `end` was called and nothing is queued. Reported once per reply.
    """

    sound_id: SoundId
    first: int
    samples: int
    total: ReplySamples
    finished: bool


class Playout:
    """A bounded queue for one open reply at a time. Synchronous; no I/O, no clock. Not thread-safe.

    Attributes:
        last: The part of a reply in the last pulled block; None if there was none.
    """

    def __init__(self, capacity_samples: ReplySamples = CAPACITY_SAMPLES) -> None:
        """Creates a playout whose queue holds `capacity_samples`, at least one."""
        if capacity_samples < 1:
            raise ValueError(f"the queue must hold at least 1 sample, not {capacity_samples}")
        self.last: Pulled | None = None
        self._queue = np.zeros(capacity_samples, np.int16)
        self._head = 0
        self._queued = 0
        self._block = np.zeros(0, np.int16)
        self._tail = np.zeros(_FADE_SAMPLES, np.int16)  # fade-out of a reply that was closed or underran
        self._tail_at = _FADE_SAMPLES
        self._sound = SoundId()
        self._open = self._ended = self._finished = False
        self._pulled = 0
        self._underruns = 0
        self._fade_in_at = _FADE_SAMPLES  # progress of the fade-in after an underrun
        self._empty_samples = 0  # an underrun if the reply continues, otherwise its end
        self._held = False
        self._gain = self._gain_target = 1.0
        self._gain_step = 0.0

    # The reply -----------------------------------------------------------------------------------------------

    def open(self, sound_id: SoundId) -> None:
        """Opens a reply at full volume and closes an open one. An id is used once.

        Opening the open reply again does nothing.
        """
        if self.is_open(sound_id):
            return
        if self._open:
            self.close(self._sound)
        self._sound = sound_id
        self._open = True
        self._ended = self._finished = self._held = False
        self._pulled = self._underruns = self._empty_samples = 0
        self._fade_in_at = _FADE_SAMPLES
        self._gain = self._gain_target = 1.0

    def is_open(self, sound_id: SoundId) -> bool:
        """Returns whether this reply is open."""
        return self._open and self._sound == sound_id

    def close(self, sound_id: SoundId) -> ReplySamples:
        """Closes a reply and drops its queue at once; the next 5 ms fade out to avoid a click.

        Returns how many samples the device had taken: 0 for an unknown reply, the same value again for the one closed
        last.
        """
        if self.is_open(sound_id):
            self._fade_out()
            self._open = False
            self._queued = 0
        return ReplySamples(self._pulled if self._sound == sound_id else 0)

    def offer(self, sound_id: SoundId, pcm: Pcm) -> bool:
        """Queues int16 samples (n,) of a reply. Returns False if it is not open or was ended.

        Raises ValueError for more than `room_samples`: the caller must wait.
        """
        if not self.is_open(sound_id) or self._ended:
            return False
        if len(pcm) > self.room_samples:
            raise ValueError(f"{len(pcm)} samples do not fit: there is room for {self.room_samples}")
        position = (self._head + self._queued) % len(self._queue)
        first = min(len(pcm), len(self._queue) - position)
        self._queue[position : position + first] = pcm[:first]
        self._queue[: len(pcm) - first] = pcm[first:]
        self._queued += len(pcm)
        return True

    def end(self, sound_id: SoundId) -> None:
        """Marks the end of a reply's audio. Does nothing if it is not open."""
        if self.is_open(sound_id):
            self._ended = True

    @property
    def room_samples(self) -> ReplySamples:
        """Number of samples that can still be queued."""
        return ReplySamples(len(self._queue) - self._queued)

    @property
    def idle(self) -> bool:
        """Whether no reply is open, or all of it was taken."""
        return not self._open or self._finished

    @property
    def counts(self) -> Counts:
        """Counters of the reply opened last (`SoundId()` before any)."""
        return Counts(self._sound, ReplySamples(self._pulled), self._underruns)

    # Volume --------------------------------------------------------------------------------------------------

    def duck(self, gain_db: float) -> None:
        """Lowers the volume by `gain_db` (at most 0) over 20 ms, until `unduck` or the next `open`."""
        if not gain_db <= 0:
            raise ValueError(f"the gain of ducking must be at most 0 dB, not {gain_db}")
        self._ramp_to(10 ** (gain_db / 20))

    def unduck(self) -> None:
        """Restores full volume over 20 ms."""
        self._ramp_to(1.0)

    def hold(self) -> None:
        """Stops the open reply at its current sample; the next 5 ms fade out to avoid a click."""
        if not self._open or self._held:
            return
        self._held = True
        if self._pulled and not self._empty_samples:
            faded_samples = min(_FADE_SAMPLES, self._queued)
            self._tail[:] = 0
            self._tail[:faded_samples] = (
                self._queue[(self._head + np.arange(faded_samples)) % len(self._queue)]
                * _fade(faded_samples)
                * self._fade_in_gain
                * self._gain
            )
            self._tail_at = 0

    def release(self) -> None:
        """Continues a held reply from the same sample, with a fade-in of 5 ms."""
        if self._held:
            self._held = False
            self._fade_in_at = 0 if self._pulled else self._fade_in_at

    # The device ----------------------------------------------------------------------------------------------

    def pull(self, n: int) -> Pcm:
        """Returns the next n samples for the device, silence where there is nothing; `last` describes them.

        At an underrun the reply fades out over 5 ms, and fades in again when it continues, to avoid clicks. The samples
        are a view into a buffer that the next pull overwrites.
        """
        if len(self._block) < n:
            self._block = np.zeros(n, np.int16)
        block = self._block[:n]
        block[:] = 0
        first: int = min(n, _FADE_SAMPLES - self._tail_at)
        block[:first] = self._tail[self._tail_at : self._tail_at + first]
        self._tail_at += first
        taken = self._fill(block[first:]) if self._open and not self._held else 0
        self._note(first, taken, n)
        return block

    def missed(self, n: int) -> None:
        """Notes that the device played n samples of silence without a pull: an underrun if a reply was playing."""
        if self._open and self._pulled and not self._finished and not self._held:
            self._empty_samples += n

    def _fill(self, into: Pcm) -> int:
        """Fills `into` with the reply from the front, with a fade-out at an underrun and a fade-in after it."""
        taken = self._take(into)
        if taken and self._empty_samples:
            self._fade_in_at = 0
        fading_in: int = min(taken, _FADE_SAMPLES - self._fade_in_at)
        if fading_in:
            into[:fading_in] = into[:fading_in] * _FADE_IN[self._fade_in_at : self._fade_in_at + fading_in]
            self._fade_in_at += fading_in
        if taken < len(into) and not self._ended and (taken or (self._pulled and not self._empty_samples)):
            self._fade_repeat(into[taken:], self._pulled + taken)
        self._amplify(into)
        return taken

    def _take(self, into: Pcm) -> int:
        """Moves queued samples to the front of `into`."""
        taken = min(len(into), self._queued)
        first = min(taken, len(self._queue) - self._head)
        into[:first] = self._queue[self._head : self._head + first]
        into[first:taken] = self._queue[: taken - first]
        self._head = (self._head + taken) % len(self._queue)
        self._queued -= taken
        return taken

    def _fade_repeat(self, into: Pcm, pulled: int) -> None:
        """Fades out by repeating the last 5 ms reversed: the original samples are already with the device."""
        faded_samples = min(_FADE_SAMPLES, pulled, len(self._queue))
        fading = (
            self._queue[(self._head - 1 - np.arange(faded_samples)) % len(self._queue)]
            * _fade(faded_samples)
            * self._fade_in_gain
        )
        now = min(faded_samples, len(into))
        into[:now] = fading[:now]
        self._tail_at = _FADE_SAMPLES - (faded_samples - now)
        self._tail[self._tail_at :] = fading[now:] * self._gain

    @property
    def _fade_in_gain(self) -> float:
        """Current gain of the fade-in, 0..1."""
        return self._fade_in_at / _FADE_SAMPLES

    def _amplify(self, into: Pcm) -> None:
        """Applies the current gain."""
        # The ramp covers the whole block, because it continues in the next one.
        if self._gain != 1.0 or self._gain_target != 1.0:
            into[:] = np.rint(into * self._gains(len(into)))

    def _note(self, first: int, taken: int, n: int) -> None:
        """Updates the counters for a block of n samples with `taken` samples of the reply from `first` on."""
        if self._empty_samples:
            self._empty_samples += first  # the fade-out
        if taken and self._empty_samples:
            self._underruns += 1
            self._empty_samples = 0
        self._pulled += taken
        ending = self._open and self._ended and not self._queued and not self._finished
        if self._open and self._pulled and not self._ended and not self._finished and not self._held:
            self._empty_samples += n - first - taken
        self._finished = self._finished or ending
        self.last = None
        if taken or ending:
            self.last = Pulled(self._sound, first, taken, ReplySamples(self._pulled), ending)

    def _fade_out(self) -> None:
        """Makes a fade-out of the next 5 ms of the queue if the reply is sounding."""
        if not self._pulled or self._empty_samples or self._held:
            return
        taken = self._take(self._tail)
        self._amplify(self._tail)
        self._tail[:taken] = self._tail[:taken] * _fade(taken) * self._fade_in_gain
        self._tail_at = _FADE_SAMPLES - taken
        self._tail[self._tail_at :] = self._tail[:taken].copy()

    def _ramp_to(self, gain: float) -> None:
        self._gain_target = gain
        self._gain_step = abs(gain - self._gain) / _RAMP_SAMPLES

    def _gains(self, n: int) -> npt.NDArray[np.float32]:
        """Returns the gain of each of the next n samples."""
        way = self._gain_target - self._gain
        steps = np.arange(1, n + 1, dtype=np.float32) * np.float32(self._gain_step)
        gains: npt.NDArray[np.float32] = np.float32(self._gain) + np.copysign(
            np.minimum(steps, np.float32(abs(way))), np.float32(way)
        )
        arrived = n * self._gain_step >= abs(way)
        self._gain = self._gain_target if arrived else self._gain + math.copysign(n * self._gain_step, way)
        return gains


def _fade(n: int) -> npt.NDArray[np.float32]:
    """Returns a linear ramp from 1 down to almost 0."""
    return np.linspace(1.0, 0.0, n, endpoint=False, dtype=np.float32)
