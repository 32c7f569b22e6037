"""Cuts the blocks of a sound card, a socket or a file into gapless 20 ms frames."""

from collections import deque
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from audio.arrivals import Arrivals
from audio.clock import StreamClock
from audio.frame import Frame, SilentSpan
from audio.frame_batching import MAX_BATCH_S, FrameBatcher
from audio.resample import StreamResampler, mixdown
from audio.units import FRAME_MS, FRAME_SAMPLES, Pcm, Samples

MAX_RUNS = 256
"""Maximum number of runs of contiguous silence kept. Only recent positions are queried; older runs are kept as a
sum."""


@dataclass(slots=True)
class _Run:
    start: int
    samples: int
    before: int  # silence inserted before this run


class InsertedSilence:
    """The runs of inserted silence, in order. Bounded; not thread-safe."""

    def __init__(self) -> None:
        self._runs: deque[_Run] = deque(maxlen=MAX_RUNS)

    def add_silence(self, start: Samples, samples: int) -> None:
        """Adds `samples` of silence that begin at `start`, never before the end of the previous addition."""
        last = self._runs[-1] if self._runs else None
        if last is not None and last.start + last.samples == start:
            last.samples += samples
        else:
            self._runs.append(_Run(start, samples, last.before + last.samples if last is not None else 0))

    def before(self, position: Samples) -> Samples:
        """Returns how much silence was inserted before `position`.

        For a position before the oldest run kept, returns the sum before that run.
        """
        for run in reversed(self._runs):
            if run.start < position:
                return Samples(run.before + min(run.samples, position - run.start))
        return Samples(self._runs[0].before if self._runs else 0)


# Without a block for this long, silence is inserted; twice the block length for long blocks, up to the maximum.
_SILENT_AFTER_S = 0.1
_MAX_SILENT_AFTER_S = 0.5
_FRAME_S = FRAME_MS / 1000
_FRAMES_PER_IDLE = 50


class Microphone(Protocol):
    """A source of frames: a sound card, a socket, a recording.

    Attributes:
        clock: Maps positions of this microphone to loop time.
        batches_silence: Set by the consumer: nobody speaks, so room noise may be delivered late, up to 160 ms at once.
            Louder audio is delivered at once, with everything batched before it. With long blocks, up to one block
            later.
    """

    clock: StreamClock
    batches_silence: bool

    def frames(self) -> AsyncGenerator[Frame]:
        """Yields gapless frames from position 0 until the source ends. Use it with aclosing; iterate once.

        Raises AudioError if the source fails.
        """
        ...


@runtime_checkable
class RestingMicrophone(Protocol):
    """A microphone that costs less while only a wake word is listened for."""

    def rest(self, on: bool) -> None:
        """Begins or ends the rest: all sound may then be up to 160 ms late, and its echo is not removed."""
        ...


@runtime_checkable
class SkippingMicrophone(Protocol):
    """A microphone that need not yield frames while no audio arrives.

    Attributes:
        skips_silence: Set by the consumer: inserted silence is not looked at, so it may come in spans.
        on_silence: Called with each span in place of its frames, in order.
    """

    skips_silence: bool
    on_silence: Callable[[SilentSpan], None]


class MicrophoneLine:
    """Converts raw blocks to frames: mixes down, resamples, cuts into 20 ms, inserts silence.

    Does no I/O. Not thread-safe. Blocks that may be batched wait for each other; the resulting frames are the same.

    A resampler holds back the newest 2 ms. Without compensation a 20 ms block would not complete its frame, which
    would then come 20 ms late with the next block. So 2 ms of silence are inserted before the first sample.

    Frames stay valid until the next call: their samples are views into the pushed block or into two buffers of one
    frame each.

    Attributes:
        clock: Maps positions to the loop time at which they were captured.
        inserted_silence: All inserted silence, including the part that only completes a frame.
        last_arrival_s: Loop time of the last block, or of the first call of `idle`; None before both.
    """

    def __init__(self, rate_hz: int, clock: StreamClock | None = None, arrivals: Arrivals | None = None) -> None:
        """Creates a line for blocks of this rate.

        Args:
            rate_hz: Sample rate of the blocks.
            clock: A clock with another window than the default.
            arrivals: Determines how long to wait for a network client. None: blocks come at a steady pace, and after
                100 ms without one, silence is inserted.
        """
        self.clock = clock or StreamClock()
        self.inserted_silence = InsertedSilence()
        self._arrivals = arrivals
        self._rate_hz = rate_hz
        self._resampler = StreamResampler(rate_hz)
        self._batcher = FrameBatcher()
        self._held: list[Pcm] = []  # blocks not yet resampled
        self._held_samples = 0
        self._origin = Samples(0)  # the position of the resampler's first sample
        self._in_sound = False  # a sound is in progress, which the next block continues
        self._next_start = Samples(0)  # everything before it was returned as frames
        self._partial = np.zeros(FRAME_SAMPLES, np.int16)  # the samples after `_next_start`
        self._full = np.zeros(FRAME_SAMPLES, np.int16)  # the other buffer, returned as a frame
        self._partial_samples = 0
        self._silence = np.zeros(FRAME_SAMPLES, np.int16)
        self._silence.flags.writeable = False
        self.last_arrival_s: float | None = None
        self._last_block_s = _FRAME_S

    @property
    def leading_silence(self) -> Samples:
        """Length of the silence inserted before the first sample of a sound."""
        return Samples(self._resampler.held_back)

    @property
    def received(self) -> Samples:
        """Length of the received audio at 16 kHz, without inserted silence."""
        end = self.newest
        return Samples(end - self.inserted_silence.before(end))

    @property
    def newest(self) -> Samples:
        """Position after the newest received sample, which the resampler may still hold back."""
        return Samples(self._origin + self._resampler.received_with(self._held_samples))

    @property
    def silent_from_s(self) -> float:
        """Loop time before which `idle` inserts nothing if no audio arrives; it need not be called earlier."""
        return 0.0 if self.last_arrival_s is None else self.last_arrival_s + self._max_gap_s

    @property
    def _max_gap_s(self) -> float:
        if self._arrivals is not None:
            return self._arrivals.max_gap_s
        return min(max(_SILENT_AFTER_S, 2 * self._last_block_s), _MAX_SILENT_AFTER_S)

    @property
    def _silence_lag_s(self) -> float:
        """Delay of inserted silence behind real time.

        Audio that arrives again was captured this long before its arrival.
        """
        if self._arrivals is not None:
            return self._arrivals.silence_lag_s
        return min(max(_FRAME_S, self._last_block_s), _MAX_SILENT_AFTER_S)

    def push_block(
        self, block: npt.NDArray[np.int16], arrival_s: float, *, batches_silence: bool = False, rests: bool = False
    ) -> list[Frame]:
        """Returns the frames that a block completes.

        Args:
            block: int16, (n,) or (n, channels), any n, at this line's rate. A mono block at 16 kHz is not copied.
            arrival_s: Loop time at which its last sample arrived; never decreases.
            batches_silence: The block may be batched if it is no louder than the room.
            rests: Any block may be batched.
        """
        if len(block) == 0:
            return []
        pcm = mixdown(block)
        block_s = len(pcm) / self._rate_hz
        if not self._in_sound:
            self._begin_sound()
        max_wait_s = MAX_BATCH_S if rests else self._batcher.max_wait_s(pcm, block_s) if batches_silence else 0.0
        waits = self._held_samples + len(pcm) < max_wait_s * self._rate_hz
        self._held.append(pcm.copy() if waits else pcm)
        self._held_samples += len(pcm)
        # The resampler may still hold the newest sample back, but it has arrived.
        self.clock.observe(self.newest, arrival_s)
        self.last_arrival_s = arrival_s
        self._last_block_s = block_s
        return [] if waits else self._cut_frames(self._resample_held())

    def _begin_sound(self) -> None:
        """Inserts as much silence as the resampler will hold back, so that frames end with their blocks."""
        self._in_sound = True
        lacking = self.leading_silence - self._partial_samples
        if lacking > 0:
            self.inserted_silence.add_silence(self._origin, lacking)
            self._store_partial(self._silence[:lacking])
            self._origin = Samples(self._origin + lacking)

    def retune(self, rate_hz: int) -> list[Frame]:
        """Switches to another block rate; returns the frames that were held back. The audio continues without a gap."""
        if rate_hz == self._rate_hz:
            return []
        frames = self._flush_frames()
        self._origin = Samples(self._next_start + self._partial_samples)
        self._rate_hz = rate_hz
        self._resampler = StreamResampler(rate_hz)
        return frames

    def idle(self, now_s: float) -> list[Frame]:
        """Returns the silent frames due at loop time `now_s`. Call it every 20 ms.

        Silence is inserted after 100 ms without audio. With long blocks it is inserted after twice the length of the
        last block (at most 0.5 s), so that the gap between two blocks does not count as silence. The line follows
        real time one block behind, so that audio which arrives again finds its place. One call returns at most 1 s;
        the next call continues. Audio held back by the resampler comes first.
        """
        if self.last_arrival_s is None:
            self.last_arrival_s = now_s
        if now_s - self.last_arrival_s < self._max_gap_s:
            return []
        if not self.clock.running:
            self.clock.observe(Samples(0), self.last_arrival_s)  # no audio ever arrived: the line begins here
        due = self.clock.to_position(now_s - self._silence_lag_s)
        frames = self._finish_sound() if due >= self._next_start + FRAME_SAMPLES else []
        while due >= self._next_start + FRAME_SAMPLES and len(frames) < _FRAMES_PER_IDLE:
            frames.append(self._make_frame(self._silence, inserted=True))
        if frames:
            self._origin, self._in_sound = self._next_start, False
        self.clock.hold(now_s)
        return frames

    def pass_silence(self, now_s: float) -> SilentSpan | None:
        """Inserts the silence that is due at loop time `now_s` in one piece, as `idle` does in frames.

        Returns None if none is due, or if `idle` has not yet begun to insert silence.
        """
        if self._in_sound or self._held or self._partial_samples or self.last_arrival_s is None:
            return None
        if not self.clock.running or now_s - self.last_arrival_s < self._max_gap_s:
            return None
        due = self.clock.to_position(now_s - self._silence_lag_s)
        samples = (due - self._next_start) // FRAME_SAMPLES * FRAME_SAMPLES
        if samples <= 0:
            return None
        start = self._next_start
        self.inserted_silence.add_silence(start, samples)
        self._next_start = self._origin = Samples(start + samples)
        self.clock.hold(now_s)
        return SilentSpan(start, self._next_start)

    def fill(self, samples: int) -> list[Frame]:
        """Inserts silence after all received audio, because the source lost as many samples.

        Unlike the frames of other calls, these own their samples.
        """
        frames = [Frame(frame.start, frame.pcm.copy()) for frame in self._flush_frames()]
        if self._partial_samples:
            part = min(samples, FRAME_SAMPLES - self._partial_samples)
            self.inserted_silence.add_silence(Samples(self._next_start + self._partial_samples), part)
            frames += [Frame(frame.start, frame.pcm.copy()) for frame in self._cut_frames(self._silence[:part])]
            samples -= part
        whole, rest = divmod(samples, FRAME_SAMPLES)
        frames += [self._make_frame(self._silence, inserted=True) for _ in range(whole)]
        if rest:
            self.inserted_silence.add_silence(Samples(self._next_start + self._partial_samples), rest)
            self._store_partial(self._silence[:rest])
        self._origin, self._in_sound = Samples(self._next_start + self._partial_samples), False
        return frames

    def settle(self) -> list[Frame]:
        """Returns what is held back, with the last frame padded with silence. The source may continue afterwards.

        A partial frame that is no longer than the silence inserted before the next sound is kept for it. Otherwise 2 ms
        would be padded to a frame, and the line would become 20 ms longer than the sound.
        """
        frames = self._flush_frames()
        if self._partial_samples > self.leading_silence:
            frames += self._pad_partial()
        self._origin, self._in_sound = Samples(self._next_start + self._partial_samples), False
        return frames

    def finish(self) -> list[Frame]:
        """Returns what is held back at the end of the source, with the last frame padded with silence."""
        frames = self._finish_sound()
        self._origin, self._in_sound = self._next_start, False
        return frames

    def _finish_sound(self) -> list[Frame]:
        frames = self._flush_frames()
        return frames + self._pad_partial() if self._partial_samples else frames

    def _pad_partial(self) -> list[Frame]:
        missing = self._silence[self._partial_samples :]
        self.inserted_silence.add_silence(Samples(self._next_start + self._partial_samples), len(missing))
        return self._cut_frames(missing)

    def _flush_frames(self) -> list[Frame]:
        """Returns the frames of all received audio and prepares the resampler for a new sound."""
        # All at once: a third use of the two buffers would overwrite the first frame.
        rest = [self._resample_held()] if self._held else []
        return self._cut_frames(np.concatenate((*rest, self._resampler.flush())))

    def _resample_held(self) -> Pcm:
        """Returns the held blocks (at least one), resampled to 16 kHz."""
        sound = self._held[0] if len(self._held) == 1 else np.concatenate(self._held)
        self._held.clear()
        self._held_samples = 0
        return self._resampler.push_samples(sound)

    def _cut_frames(self, pcm: Pcm) -> list[Frame]:
        """Cuts (partial + pcm) into frames; keeps the rest as the new partial frame."""
        frames = []
        position = 0
        if self._partial_samples:
            position = min(len(pcm), FRAME_SAMPLES - self._partial_samples)
            self._store_partial(pcm[:position])
            if self._partial_samples == FRAME_SAMPLES:
                self._partial, self._full = self._full, self._partial
                self._partial_samples = 0
                frames.append(self._make_frame(self._full))
        while len(pcm) - position >= FRAME_SAMPLES:
            frames.append(self._make_frame(pcm[position : position + FRAME_SAMPLES]))
            position += FRAME_SAMPLES
        self._store_partial(pcm[position:])
        return frames

    def _store_partial(self, pcm: Pcm) -> None:
        self._partial[self._partial_samples : self._partial_samples + len(pcm)] = pcm
        self._partial_samples += len(pcm)

    def _make_frame(self, pcm: Pcm, *, inserted: bool = False) -> Frame:
        frame = Frame(self._next_start, pcm, is_inserted=inserted)
        if inserted:
            self.inserted_silence.add_silence(self._next_start, FRAME_SAMPLES)
        self._next_start = Samples(self._next_start + FRAME_SAMPLES)
        return frame
