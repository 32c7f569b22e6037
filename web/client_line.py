"""Makes a client's blocks, as the network brings them, into the line of the conversation. Pure: it has no clock.

The blocks behind a gap tell what the gap was. A burst that makes up for it: the connection stalled, and the sound is
whole. Blocks at the pace of real time: the sound in between is lost, and silence takes its place.
"""

from dataclasses import dataclass, field

from audio.arrivals import JITTER_S, Arrivals
from audio.clock import StreamClock
from audio.frame import Frame
from audio.frame_batching import Batching
from audio.microphone import MicrophoneLine
from audio.units import FRAME_MS, Pcm, Samples, ms_of_samples, s_of_samples, samples_of_s

UNSURE_S = 0.15
"""How long a block behind a gap waits for a burst, and at least for the next block."""

LONGEST_UNSURE_S = 2.0
"""How long it waits at most while a burst goes on."""

_LOST_S = JITTER_S + 0.05
"""A block that is no later than this is late; behind a longer gap sound may be lost."""

_PROGRESS_S = 0.05
"""By so much a burst has to make up for a gap within `UNSURE_S`, or it is none."""

_FRAME_S = FRAME_MS / 1000


@dataclass(frozen=True, slots=True)
class _Block:
    pcm: Pcm
    rate_hz: int
    at_s: float
    heed: Batching

    @property
    def length_s(self) -> float:
        return len(self.pcm) / self.rate_hz


@dataclass(slots=True)
class _Gap:
    """Blocks behind a gap that is not yet explained. Times are loop seconds.

    Attributes:
        since_s: When the last block before the gap came.
        missing_s: How much of the gap is not made up for.
        progress_s: When that last became less.
    """

    since_s: float
    began_s: float
    missing_s: float
    progress_s: float
    at_progress_s: float
    blocks: list[_Block] = field(default_factory=list)
    sound_s: float = 0.0


class ClientLine:
    """Blocks of any length, at any time, to gapless frames. The frames of a call are the caller's own.

    Attributes:
        arrivals: What is known of the client's blocks.
    """

    def __init__(self, rate_hz: int) -> None:
        """A line whose first blocks have this rate."""
        self.arrivals = Arrivals()
        self._line = MicrophoneLine(rate_hz, arrivals=self.arrivals)
        self._gap: _Gap | None = None
        self._last_s: float | None = None
        self._silent = True  # silence was put in since the last block

    @property
    def clock(self) -> StreamClock:
        """Maps positions to loop time."""
        return self._line.clock

    @property
    def invented_frames(self) -> int:
        """Frames of silence that were put in."""
        return self._line.invented_frames

    @property
    def received_ms(self) -> float:
        """How much sound has come."""
        waiting_s = 0.0 if self._gap is None else self._gap.sound_s
        return ms_of_samples(self._line.received) + waiting_s * 1000

    def invented_before(self, position: Samples) -> Samples:
        """How much silence was put in before this position."""
        return self._line.filled.before(position)

    @property
    def look_from_s(self) -> float:
        """Loop time before which `idle` need not be called if no sound comes."""
        if self._gap is not None:
            return self._gap.at_progress_s + self._unsure_s
        if self._last_s is None:
            return 0.0
        return self._last_s + min(self.arrivals.patience_s, self.arrivals.block_s + 0.1)

    def push(self, pcm: Pcm, rate_hz: int, now_s: float, heed: Batching, block_s: float | None = None) -> list[Frame]:
        """The frames that a block completes.

        Args:
            pcm: int16 (n,).
            rate_hz: Its rate.
            now_s: Loop time; never going backwards.
            heed: See `Microphone`.
            block_s: The length of the client's block, where this is a part of it.
        """
        if len(pcm) == 0:
            return []
        block = _Block(pcm, rate_hz, now_s, heed)
        length_s = block.length_s
        early_s = self._loop_s_behind(length_s) - now_s if self.clock.running else 0.0
        self.arrivals.came(now_s, block_s or length_s, early_s, quiet=heed is Batching.SILENCE)
        before_s, self._last_s = self._last_s, now_s
        if self._gap is None:
            if self._silent or before_s is None:
                frames = self._realigned(-early_s) + self._pushed(block)
                self._silent = False
                return frames
            missing_s = min(-early_s, now_s - before_s - (block_s or length_s))
            if missing_s <= _LOST_S:
                return self._pushed(block)
            self._gap = _Gap(before_s, now_s, missing_s, missing_s, now_s)
        return self._judge(self._gap, block, -early_s)

    def idle(self, now_s: float) -> list[Frame]:
        """What is due at this loop time if no block has come: call it every 20 ms from `look_from_s` on."""
        if self._gap is not None:
            return self._explained(self._gap) if now_s >= self.look_from_s else []
        frames = _own(self._line.idle(now_s))
        if frames:
            self._silent = True
            self.arrivals.filled(s_of_samples(sum(len(frame.pcm) for frame in frames if frame.is_inserted)))
        return frames

    def settle(self) -> list[Frame]:
        """What has come is all for now: see `MicrophoneLine.settle`."""
        return self._released() + _own(self._line.settle())

    def finish(self) -> list[Frame]:
        """Nothing more will come: see `MicrophoneLine.finish`."""
        return self._released() + _own(self._line.finish())

    # ---- inside ----

    @property
    def _unsure_s(self) -> float:
        return max(UNSURE_S, self.arrivals.next_within_s)

    def _loop_s_behind(self, sound_s: float) -> float:
        """When the end of so much more sound is captured, if nothing is missing before it."""
        waiting_s = 0.0 if self._gap is None else self._gap.sound_s
        return self.clock.to_loop_s(self._line.newest) + waiting_s + sound_s

    def _realigned(self, late_s: float) -> list[Frame]:
        """Behind silence the sound begins where it was captured; silence is put in by whole frames."""
        if not self.clock.running or not _FRAME_S < late_s <= self.arrivals.block_s + _LOST_S:
            return []
        return self._line.fill(samples_of_s(late_s))

    def _judge(self, gap: _Gap, block: _Block, late_s: float) -> list[Frame]:
        """One more block behind a gap: does it make up for it?"""
        gap.blocks.append(block)
        gap.sound_s += block.length_s
        missing_s = min(late_s, block.at_s - gap.since_s - gap.sound_s)
        gap.missing_s = min(gap.missing_s, missing_s)
        if gap.missing_s <= _LOST_S:
            return self._released()
        if gap.missing_s <= gap.progress_s - _PROGRESS_S:
            gap.progress_s, gap.at_progress_s = gap.missing_s, block.at_s
        stuck = block.at_s - gap.at_progress_s >= self._unsure_s or block.at_s - gap.began_s >= LONGEST_UNSURE_S
        return self._explained(gap) if stuck else []

    def _explained(self, gap: _Gap) -> list[Frame]:
        """No burst makes up for what is missing: it is lost."""
        return self._line.fill(samples_of_s(gap.missing_s)) + self._released()

    def _released(self) -> list[Frame]:
        """The frames of the blocks behind a gap, without silence."""
        gap, self._gap = self._gap, None
        return [] if gap is None else [frame for block in gap.blocks for frame in self._pushed(block)]

    def _pushed(self, block: _Block) -> list[Frame]:
        return _own(self._line.retune(block.rate_hz)) + _own(self._line.push(block.pcm, block.at_s, block.heed))


def _own(frames: list[Frame]) -> list[Frame]:
    """The line reuses its buffers."""
    return [Frame(frame.start, frame.pcm.copy(), frame.is_inserted) for frame in frames]
