"""Assembles a client's audio blocks, with network jitter, into a gapless line of frames. No I/O, no clock.

The blocks after a gap show its cause. A burst that makes up for the gap means that the connection stalled and the audio
is complete. Blocks at the pace of real time mean that the audio in between is lost; silence replaces it.
"""

from dataclasses import dataclass, field

from audio.arrivals import JITTER_S, Arrivals
from audio.frame import Frame, SilentSpan
from audio.frame_batching import FrameBatcher
from audio.microphone import MicrophoneLine
from audio.units import FRAME_MS, Pcm, Samples, ms_of_samples, s_of_samples, samples_of_s

UNDECIDED_GAP_S = 0.15
"""Time for which a block after a gap waits for a burst. It waits at least for the next block."""

MAX_UNDECIDED_GAP_S = 2.0
"""Longest such wait while a burst continues."""

_LOST_S = JITTER_S + 0.05
"""A block that is at most this late is only late; after a longer gap audio may be lost."""

_PROGRESS_S = 0.05
"""A burst must shorten the gap by this much within `UNDECIDED_GAP_S`; otherwise it is not a burst."""

_FRAME_S = FRAME_MS / 1000


@dataclass(frozen=True, slots=True)
class _Block:
    pcm: Pcm
    rate_hz: int
    at_s: float
    batches_silence: bool
    rests: bool

    @property
    def length_s(self) -> float:
        return len(self.pcm) / self.rate_hz


@dataclass(slots=True)
class _Gap:
    """Blocks after a gap whose cause is not yet known. Times are loop seconds.

    Attributes:
        since_s: When the last block before the gap arrived.
        began_s: When the first block after the gap arrived.
        missing_s: Shortest gap so far, in seconds of audio that is missing.
        progress_s: `missing_s` at the last progress.
        at_progress_s: When `missing_s` last shrank by `_PROGRESS_S`.
        blocks: The blocks after the gap.
        sound_s: Their length.
    """

    since_s: float
    began_s: float
    missing_s: float
    progress_s: float
    at_progress_s: float
    blocks: list[_Block] = field(default_factory=list)
    sound_s: float = 0.0


class ClientLine:
    """Converts blocks of any length, arriving at any time, to gapless frames. Returned frames are copies.

    Attributes:
        arrivals: Statistics of the client's block lengths and arrival times.
        clock: Maps positions to loop time.
    """

    def __init__(self, rate_hz: int) -> None:
        """Creates a line whose first blocks have this sample rate."""
        self.arrivals = Arrivals()
        self._line = MicrophoneLine(rate_hz, arrivals=self.arrivals)
        self.clock = self._line.clock
        self._batcher = FrameBatcher()
        self._gap: _Gap | None = None
        self._last_s: float | None = None
        self._silent = True  # silence was inserted since the last block

    @property
    def received_ms(self) -> float:
        """Length of the received audio."""
        waiting_s = 0.0 if self._gap is None else self._gap.sound_s
        return ms_of_samples(self._line.received) + waiting_s * 1000

    def inserted_before(self, position: Samples) -> Samples:
        """Returns how much silence was inserted before this position."""
        return self._line.inserted_silence.before(position)

    @property
    def idle_from_s(self) -> float:
        """Loop time before which `idle` need not be called if no audio arrives."""
        if self._gap is not None:
            return self._gap.at_progress_s + self._undecided_gap_s
        if self._last_s is None:
            return 0.0
        return self._last_s + min(self.arrivals.max_gap_s, self.arrivals.block_s + 0.1)

    def push_block(
        self,
        pcm: Pcm,
        rate_hz: int,
        now_s: float,
        block_s: float | None = None,
        *,
        batches_silence: bool = False,
        rests: bool = False,
    ) -> list[Frame]:
        """Adds a block and returns the frames that it completes.

        Args:
            pcm: int16 (n,).
            rate_hz: The block's sample rate.
            now_s: Loop time; must not decrease.
            block_s: The length of the client's whole block, if this is a part of it.
            batches_silence: Whether silent frames may be batched; see `Microphone`.
            rests: Whether all frames may be batched; see `RestingMicrophone`.
        """
        if len(pcm) == 0:
            return []
        block = _Block(pcm, rate_hz, now_s, batches_silence, rests)
        length_s = block.length_s
        early_s = self._loop_s_behind(length_s) - now_s if self.clock.running else 0.0
        self.arrivals.on_block(now_s, block_s or length_s, early_s, quiet=batches_silence)
        self.arrivals.loud = self._batcher.is_loud(pcm, length_s)
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
        return self._add_after_gap(self._gap, block, -early_s)

    def idle(self, now_s: float) -> list[Frame]:
        """Returns the frames that are due although no block has arrived.

        Call it every 20 ms from `idle_from_s` on, or every `MAX_BATCH_S` while silence may be batched.
        """
        if self._gap is not None:
            return self._treated_as_lost(self._gap) if now_s >= self.idle_from_s else []
        frames = _copied(self._line.idle(now_s))
        if frames:
            self._silent = True
            self.arrivals.on_silence_inserted(
                s_of_samples(sum(len(frame.pcm) for frame in frames if frame.is_inserted))
            )
        return frames

    def silent_for_s(self, now_s: float) -> float:
        """Returns for how long no audio has arrived at loop time `now_s`."""
        return 0.0 if self._line.last_arrival_s is None else now_s - self._line.last_arrival_s

    def pass_silence(self, now_s: float) -> SilentSpan | None:
        """Returns the silence that is due in one piece, as `idle` does in frames; None: call `idle`."""
        span = None if self._gap is not None or not self._silent else self._line.pass_silence(now_s)
        if span is not None:
            self.arrivals.on_silence_inserted(s_of_samples(span.end - span.start))
        return span

    def settle(self) -> list[Frame]:
        """Completes the last frame, see `MicrophoneLine.settle`."""
        return self._released() + _copied(self._line.settle())

    def finish(self) -> list[Frame]:
        """Ends the line, see `MicrophoneLine.finish`."""
        return self._released() + _copied(self._line.finish())

    # ---- gaps ----

    @property
    def _undecided_gap_s(self) -> float:
        return max(UNDECIDED_GAP_S, self.arrivals.next_block_within_s)

    def _loop_s_behind(self, sound_s: float) -> float:
        """Returns the loop time at which the end of this much more audio is captured, if none is missing before it."""
        waiting_s = 0.0 if self._gap is None else self._gap.sound_s
        return self.clock.to_loop_s(self._line.newest) + waiting_s + sound_s

    def _realigned(self, late_s: float) -> list[Frame]:
        """Inserts the rest of a pause, since `idle` inserts whole frames: audio then starts where it was captured."""
        if not self.clock.running or not _FRAME_S < late_s <= self.arrivals.block_s + _LOST_S:
            return []
        return self._line.fill(samples_of_s(late_s))

    def _add_after_gap(self, gap: _Gap, block: _Block, late_s: float) -> list[Frame]:
        """Adds a block after a gap and decides whether the gap was a stall or a loss."""
        gap.blocks.append(block)
        gap.sound_s += block.length_s
        missing_s = min(late_s, block.at_s - gap.since_s - gap.sound_s)
        gap.missing_s = min(gap.missing_s, missing_s)
        if gap.missing_s <= _LOST_S:
            return self._released()
        if gap.missing_s <= gap.progress_s - _PROGRESS_S:
            gap.progress_s, gap.at_progress_s = gap.missing_s, block.at_s
        stuck = (
            block.at_s - gap.at_progress_s >= self._undecided_gap_s or block.at_s - gap.began_s >= MAX_UNDECIDED_GAP_S
        )
        return self._treated_as_lost(gap) if stuck else []

    def _treated_as_lost(self, gap: _Gap) -> list[Frame]:
        """Treats the missing audio as lost: inserts silence and releases the blocks."""
        return self._line.fill(samples_of_s(gap.missing_s)) + self._released()

    def _released(self) -> list[Frame]:
        """Returns the frames of the blocks after a gap, without inserting silence."""
        gap, self._gap = self._gap, None
        return [] if gap is None else [frame for block in gap.blocks for frame in self._pushed(block)]

    def _pushed(self, block: _Block) -> list[Frame]:
        before = _copied(self._line.retune(block.rate_hz))
        frames = self._line.push_block(block.pcm, block.at_s, batches_silence=block.batches_silence, rests=block.rests)
        return before + _copied(frames)


def _copied(frames: list[Frame]) -> list[Frame]:
    """Copies frames, because the line reuses its buffers."""
    return [Frame(frame.start, frame.pcm.copy(), frame.is_inserted) for frame in frames]
