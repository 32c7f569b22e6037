"""How long to wait for the next block of a network client before silence takes its place."""

from audio.units import FRAME_MS

STALL_S = 1.0
"""The longest pause of a network, or of the client's own machine, that is made up for by a burst behind it."""

JITTER_S = 0.2
"""How late a block may be without a stall."""

LONGEST_BLOCK_S = 1.1
"""Clients that capture sound send blocks of 10 to 1024 ms. A longer one is part of a recording."""

FIRST_PATIENCE_S = 0.1
"""For a client that has sent nothing yet, one that is gone, and one that has sent a recording faster than real time."""

_FRAME_S = FRAME_MS / 1000
_LITTLE_JITTER_S = 0.05
_SOME_JITTER_S = 0.1
_FORGET = 0.995
"""Per block. Blocks and delays that are shorter than they were are believed after some hundred blocks."""

_BURST_GAP_S = 0.3
"""Blocks that are further apart than this do not belong to one burst."""

_LONGEST_OWED_S = 3.0
_STOPS = 2
"""A client that has stopped so often behind its speech, and did not send silence in between, does so by habit."""
_QUIET_S = 1.5
"""A client that sends so much silence without a break does not stop behind its speech."""


class Arrivals:
    """Learns from the blocks of a client how long a gap between two of them may be. Pure; not thread-safe.

    Until the next block comes, a client that stalls cannot be told from one that has stopped sending. So silence is put
    in only when a stall would have lasted longer than `STALL_S`: silence in the midst of a word cannot be taken back.
    Clients that are known to stop are waited for less.

    Attributes:
        block_s: The longest of the latest blocks.
        gone: The client has lost its connection: nothing more will come on it.
    """

    def __init__(self) -> None:
        self.block_s = _FRAME_S
        self.gone = False
        self._late_s = 0.0  # the largest of the latest delays between two blocks, beyond the length of the second
        self._last_s: float | None = None
        self._early_s = 0.0  # how much sooner than real time the latest burst came
        self._early_at_s = 0.0
        self._gap_s = 0.0  # silence that was put in since the last block
        self._owed_s = 0.0  # silence that was put in before the latest burst, which may make up for it
        self._stops = 0
        self._quiet_s = 0.0

    @property
    def patience_s(self) -> float:
        """How long nothing may come before silence is put in."""
        if self.gone or self._last_s is None or self._sent_recording:
            return FIRST_PATIENCE_S
        if self._stops >= _STOPS:
            return self.block_s + JITTER_S + _LITTLE_JITTER_S
        return self.next_within_s + STALL_S

    @property
    def next_within_s(self) -> float:
        """How soon the next block comes where nothing stalls."""
        return self.block_s + (_SOME_JITTER_S if self._late_s < _LITTLE_JITTER_S else JITTER_S + _LITTLE_JITTER_S)

    @property
    def behind_s(self) -> float:
        """How far silence stays behind real time: the next block was captured from so long before its arrival on."""
        return _FRAME_S if self.gone or self._sent_recording else self.block_s

    @property
    def _sent_recording(self) -> bool:
        """The sound came in one burst that is longer than a stall could make it: nothing else is on its way."""
        return self._early_s > self.block_s + STALL_S + JITTER_S

    def came(self, now_s: float, block_s: float, early_s: float, *, quiet: bool) -> None:
        """A block came.

        Args:
            now_s: When, never going backwards.
            block_s: How long it is.
            early_s: How much sooner it came than any block since the client's clock is known; at most 0 for most.
            quiet: Nobody was speaking.
        """
        if self._last_s is not None:
            late_s = now_s - self._last_s - block_s
            self._late_s = max(self._late_s * _FORGET, late_s if late_s <= JITTER_S + _LITTLE_JITTER_S else 0.0)
        self._quiet_s = self._quiet_s + block_s if quiet and not self._gap_s else 0.0
        if self._quiet_s >= _QUIET_S:
            self._stops = 0
        self._end_gap()
        self._note_early(now_s, early_s)
        if block_s <= LONGEST_BLOCK_S:
            self.block_s = max(block_s, self.block_s * _FORGET, _FRAME_S)
        elif not self._sent_recording:
            self._early_s, self._early_at_s = self.block_s + STALL_S + JITTER_S + block_s, now_s
        self._last_s = now_s
        self.gone = False

    def _end_gap(self) -> None:
        if self._gap_s:
            self._owed_s = self._gap_s if self._gap_s <= _LONGEST_OWED_S else 0.0
            self._stops += 1
            self._gap_s = 0.0

    def _note_early(self, now_s: float, early_s: float) -> None:
        if now_s - self._early_at_s > _BURST_GAP_S:
            self._early_s = 0.0
        if early_s <= 0:
            return
        self._early_at_s = now_s
        if self._owed_s > 0:
            owed_s, self._owed_s = self._owed_s, self._owed_s - early_s
            if self._owed_s <= 0:  # the silence was a stall that lasted long
                self._stops = 0
            early_s -= owed_s
        self._early_s += max(0.0, early_s)

    def filled(self, silence_s: float) -> None:
        """So much silence was put in, since nothing came for `patience_s`."""
        if self._last_s is not None and not self.gone:
            self._gap_s += silence_s
