"""The microphone's line: gapless 20 ms frames out of whatever a sound card, a socket or a file brings."""

from collections.abc import AsyncGenerator
from typing import Protocol

import numpy as np
import numpy.typing as npt

from audio.arrivals import Arrivals
from audio.clock import StreamClock
from audio.frame import Frame
from audio.frame_batching import Batching, FrameBatcher
from audio.inserted_silence import InsertedSilence
from audio.resample import StreamResampler, mixdown
from audio.units import FRAME_MS, FRAME_SAMPLES, Pcm, Samples

_SILENT_AFTER_S = 0.1
_SILENT_AFTER_AT_MOST_S = 0.5
_FRAME_S = FRAME_MS / 1000
_FRAMES_PER_IDLE = 50


class Microphone(Protocol):
    """Where frames come from: a sound card, a socket, a recording.

    Attributes:
        heed: Set by whoever takes the frames: what has to come at once, with all that waited before it. The rest may
            come late, several frames at a time: where nobody speaks, up to 160 ms of what is no louder than the room;
            in the midst of speech, up to 80 ms of what is as loud as that. Where blocks are long, by one of them later.
    """

    batching: Batching

    @property
    def clock(self) -> StreamClock:
        """Maps this microphone's positions to loop time."""
        ...

    @property
    def invented_frames(self) -> int:
        """How many frames of silence were put in because no sound came."""
        ...

    def frames(self) -> AsyncGenerator[Frame]:
        """Gapless frames from position 0 on, until the source ends. Hold it with aclosing; iterate once.

        Raises AudioError where the source fails.
        """
        ...


class MicrophoneLine:
    """Raw blocks to frames: mixed down, resampled, cut into 20 ms, silence put in. Sans-I/O; not thread-safe.

    Blocks that need not be heeded at once wait for each other; what they are made into is the same.

    A resampler holds back the newest 2 ms. For want of them a block of 20 ms would not complete its frame, which would
    come with the next block, 20 ms late; of a block of 100 ms the last frame would be 100 ms late. So a sound begins
    behind as much silence.

    The frames of one call stay as they are until the next call: their samples are views into the block that was
    pushed or into two buffers of one frame each.

    Attributes:
        clock: Knows when every position was captured.
        invented_frames: Frames of silence put in by `idle`.
        filled: All silence put in, also what only fills up a frame.
    """

    def __init__(self, rate_hz: int, clock: StreamClock | None = None, arrivals: Arrivals | None = None) -> None:
        """A line for blocks of this rate.

        Args:
            rate_hz: Of the blocks.
            clock: Its own, where the usual window does not fit.
            arrivals: Knows how long a network client is waited for. None: blocks come steadily, and after 100 ms
                without one there is silence.
        """
        self.clock = clock or StreamClock()
        self.invented_frames = 0
        self.filled = InsertedSilence()
        self._arrivals = arrivals
        self._rate_hz = rate_hz
        self._resampler = StreamResampler(rate_hz)
        self._heeding = FrameBatcher()
        self._held: list[Pcm] = []  # blocks that are not yet resampled
        self._held_samples = 0
        self._origin = Samples(0)  # the position of the resampler's first sample
        self._begun = False  # there is sound that the next block goes on with
        self._cut = Samples(0)  # everything before was given out as frames
        self._partial = np.zeros(FRAME_SAMPLES, np.int16)  # the samples after `_cut`
        self._full = np.zeros(FRAME_SAMPLES, np.int16)  # the other buffer, given out as a frame
        self._partial_samples = 0
        self._silence = np.zeros(FRAME_SAMPLES, np.int16)
        self._silence.flags.writeable = False
        self._last_arrival_s: float | None = None
        self._last_block_s = _FRAME_S

    @property
    def in_front(self) -> Samples:
        """How much silence is put in front of a sound."""
        return Samples(self._resampler.held_back)

    @property
    def received(self) -> Samples:
        """How much sound has come, at 16 kHz: the line without the silence that was put in."""
        end = self.newest
        return Samples(end - self.filled.before(end))

    @property
    def newest(self) -> Samples:
        """The end of the newest sound that has come: it may still be held back."""
        return Samples(self._origin + self._resampler.received_with(self._held_samples))

    @property
    def silent_from_s(self) -> float:
        """Loop time until which `idle` puts nothing in, if no sound comes: before it need not be called."""
        return 0.0 if self._last_arrival_s is None else self._last_arrival_s + self._patience_s

    @property
    def _patience_s(self) -> float:
        if self._arrivals is not None:
            return self._arrivals.patience_s
        return min(max(_SILENT_AFTER_S, 2 * self._last_block_s), _SILENT_AFTER_AT_MOST_S)

    @property
    def _behind_s(self) -> float:
        """How far silence stays behind real time: sound that comes back was captured from so long before it arrives."""
        if self._arrivals is not None:
            return self._arrivals.behind_s
        return min(max(_FRAME_S, self._last_block_s), _SILENT_AFTER_AT_MOST_S)

    def push(self, block: npt.NDArray[np.int16], arrival_s: float, heed: Batching = Batching.OFF) -> list[Frame]:
        """The frames that a block completes.

        Args:
            block: int16, (n,) or (n, channels), any n, at this line's rate; a mono block at 16 kHz is not copied.
            arrival_s: Loop time at which its last sample was here; never going backwards.
            heed: What may not wait.
        """
        if len(block) == 0:
            return []
        pcm = mixdown(block)
        block_s = len(pcm) / self._rate_hz
        if not self._begun:
            self._begin()
        waits = self._held_samples + len(pcm) < self._heeding.may_wait_s(pcm, block_s, heed) * self._rate_hz
        self._held.append(pcm.copy() if waits else pcm)
        self._held_samples += len(pcm)
        # The newest sample may still be held back, but here it is.
        self.clock.observe(self.newest, arrival_s)
        self._last_arrival_s = arrival_s
        self._last_block_s = block_s
        return [] if waits else self._frames_of(self._released())

    def _begin(self) -> None:
        """A sound begins: put as much in front as will be held back, so that its frames end with its blocks."""
        self._begun = True
        lacking = self.in_front - self._partial_samples
        if lacking > 0:
            self.filled.add(self._origin, lacking)
            self._keep(self._silence[:lacking])
            self._origin = Samples(self._origin + lacking)

    def retune(self, rate_hz: int) -> list[Frame]:
        """From here on blocks come at another rate; returns what was held back, as sound that goes on without a gap."""
        if rate_hz == self._rate_hz:
            return []
        frames = self._held_back()
        self._origin = Samples(self._cut + self._partial_samples)
        self._rate_hz = rate_hz
        self._resampler = StreamResampler(rate_hz)
        return frames

    def idle(self, now_s: float) -> list[Frame]:
        """The frames of silence due at loop time `now_s`, if no sound has come for 100 ms; call it every 20 ms.

        A source whose blocks are long is given twice its last block's length (at most 0.5 s), else the gap
        between two of its blocks would be taken for silence. The line follows real time, one block behind so
        that sound which comes back finds its place; one call gives at most 1 s, the next call goes on. What
        the resampler held back comes first, as sound.
        """
        if self._last_arrival_s is None:
            self._last_arrival_s = now_s
        if now_s - self._last_arrival_s < self._patience_s:
            return []
        if not self.clock.running:
            self.clock.observe(Samples(0), self._last_arrival_s)  # no sound ever came: the line begins here
        due = self.clock.to_position(now_s - self._behind_s)
        frames = self._finish_sound() if due >= self._cut + FRAME_SAMPLES else []
        while due >= self._cut + FRAME_SAMPLES and len(frames) < _FRAMES_PER_IDLE:
            frames.append(self._give(self._silence, invented=True))
        self.invented_frames += sum(frame.is_inserted for frame in frames)
        if frames:
            self._origin, self._begun = self._cut, False
        self.clock.hold(now_s)
        return frames

    def fill(self, samples: int) -> list[Frame]:
        """Put so many samples of silence in behind all that has come: the source lost as much sound.

        Unlike the frames of other calls, these are the caller's own.
        """
        frames = [Frame(frame.start, frame.pcm.copy()) for frame in self._held_back()]
        if self._partial_samples:
            part = min(samples, FRAME_SAMPLES - self._partial_samples)
            self.filled.add(Samples(self._cut + self._partial_samples), part)
            frames += [Frame(frame.start, frame.pcm.copy()) for frame in self._frames_of(self._silence[:part])]
            samples -= part
        whole, rest = divmod(samples, FRAME_SAMPLES)
        frames += [self._give(self._silence, invented=True) for _ in range(whole)]
        self.invented_frames += whole
        if rest:
            self.filled.add(Samples(self._cut + self._partial_samples), rest)
            self._keep(self._silence[:rest])
        self._origin, self._begun = Samples(self._cut + self._partial_samples), False
        return frames

    def settle(self) -> list[Frame]:
        """The source may go on: what is held back, the last frame filled up with silence.

        Unless it has no more than will be put in front of the next sound: then that is what is put there. Else a frame
        would be filled up for the sake of 2 ms, and the line be 20 ms longer than the sound.
        """
        frames = self._held_back()
        if self._partial_samples > self.in_front:
            frames += self._filled_up()
        self._origin, self._begun = Samples(self._cut + self._partial_samples), False
        return frames

    def finish(self) -> list[Frame]:
        """The source has ended: what is held back, the last frame filled up with silence."""
        frames = self._finish_sound()
        self._origin, self._begun = self._cut, False
        return frames

    def _finish_sound(self) -> list[Frame]:
        frames = self._held_back()
        return frames + self._filled_up() if self._partial_samples else frames

    def _filled_up(self) -> list[Frame]:
        missing = self._silence[self._partial_samples :]
        self.filled.add(Samples(self._cut + self._partial_samples), len(missing))
        return self._frames_of(missing)

    def _held_back(self) -> list[Frame]:
        """The frames of all that has come; the resampler is ready for a new sound."""
        # In one go: a third use of the two buffers would write over the first frame.
        rest = [self._released()] if self._held else []
        return self._frames_of(np.concatenate((*rest, self._resampler.flush())))

    def _released(self) -> Pcm:
        """What was held, at least one block, at the line's rate."""
        sound = self._held[0] if len(self._held) == 1 else np.concatenate(self._held)
        self._held.clear()
        self._held_samples = 0
        return self._resampler.push(sound)

    def _frames_of(self, pcm: Pcm) -> list[Frame]:
        """Cut frames off (partial + pcm); the rest becomes the partial one."""
        frames = []
        at = 0
        if self._partial_samples:
            at = min(len(pcm), FRAME_SAMPLES - self._partial_samples)
            self._keep(pcm[:at])
            if self._partial_samples == FRAME_SAMPLES:
                self._partial, self._full = self._full, self._partial
                self._partial_samples = 0
                frames.append(self._give(self._full))
        while len(pcm) - at >= FRAME_SAMPLES:
            frames.append(self._give(pcm[at : at + FRAME_SAMPLES]))
            at += FRAME_SAMPLES
        self._keep(pcm[at:])
        return frames

    def _keep(self, pcm: Pcm) -> None:
        self._partial[self._partial_samples : self._partial_samples + len(pcm)] = pcm
        self._partial_samples += len(pcm)

    def _give(self, pcm: Pcm, *, invented: bool = False) -> Frame:
        frame = Frame(self._cut, pcm, is_inserted=invented)
        if invented:
            self.filled.add(self._cut, FRAME_SAMPLES)
        self._cut = Samples(self._cut + FRAME_SAMPLES)
        return frame
