"""Decides how long to wait for the next block of a network client before silence is inserted."""

from audio.units import FRAME_MS

STALL_S = 1.0
"""Longest stall of the network or the client's machine, in seconds, that a following burst makes up for."""

TURN_STALL_S = 5.0
"""The same while the user's turn is open, or after a block that is louder than the background noise, because speech may
have begun: mobile networks stall for seconds, and silence would cut the turn in two. A client that ends its sound with
its speech, and sends no silence, is answered after this time."""

JITTER_S = 0.2
"""Largest delay of a block without a stall, in seconds."""

MAX_BLOCK_S = 1.1
"""Longest block of a live client, in seconds: they send 10 to 1024 ms. A longer one is part of a recording."""

FIRST_MAX_GAP_S = 0.1
"""Wait in seconds for a client that has sent nothing yet, has disconnected, or has sent a recording in a burst."""

_FRAME_S = FRAME_MS / 1000
_SMALL_JITTER_S = 0.05
_MODERATE_JITTER_S = 0.1
_FORGET = 0.995
"""Decay per block: shorter blocks and delays are learned after some hundred blocks."""

_BURST_GAP_S = 0.3
"""Blocks further apart than this, in seconds, do not belong to one burst."""

_MAX_STALL_SILENCE_S = TURN_STALL_S + 3.0
_STOPS = 2
"""Number of stops after speech, without silence sent in between, from which a client is known to stop."""
_QUIET_S = 1.5
"""Continuous silence sent by a client, in seconds, that shows it does not stop after speech."""


class Arrivals:
    """Learns from a client's blocks how long a gap between two of them may be. No I/O, no clock; not thread-safe.

    Before the next block arrives, a stall cannot be distinguished from the end of sending. So silence is inserted only
    after more than the longest stall (`STALL_S`, `TURN_STALL_S`): silence in the middle of a word cannot be removed
    later. The wait is shorter for clients that are known to stop.

    Attributes:
        block_s: Length of the longest recent block.
        gone: The client has disconnected: nothing more will arrive.
        in_turn: The user's turn is open.
        loud: The last block was louder than the background noise.
    """

    def __init__(self) -> None:
        self.block_s = _FRAME_S
        self.gone = False
        self.in_turn = False
        self.loud = False
        self._late_s = 0.0  # largest recent delay of a block beyond its own length
        self._last_s: float | None = None
        self._early_s = 0.0  # how far the latest burst was ahead of real time
        self._early_at_s = 0.0
        self._gap_s = 0.0  # silence inserted since the last block
        self._stall_silence_s = 0.0  # silence inserted before the latest burst, which may make up for it
        self._stops = 0
        self._quiet_s = 0.0

    @property
    def max_gap_s(self) -> float:
        """Seconds without a block after which silence is inserted."""
        if self.gone or self._last_s is None or self._sent_recording:
            return FIRST_MAX_GAP_S
        if self._stops >= _STOPS:
            return self.block_s + JITTER_S + _SMALL_JITTER_S
        return self.next_block_within_s + (TURN_STALL_S if self.in_turn or self.loud else STALL_S)

    @property
    def next_block_within_s(self) -> float:
        """Seconds within which the next block comes without a stall."""
        return self.block_s + (_MODERATE_JITTER_S if self._late_s < _SMALL_JITTER_S else JITTER_S + _SMALL_JITTER_S)

    @property
    def silence_lag_s(self) -> float:
        """Delay of inserted silence in seconds: one block, because a block is captured before it arrives."""
        return _FRAME_S if self.gone or self._sent_recording else self.block_s

    @property
    def _sent_recording(self) -> bool:
        """Whether the audio came in a burst longer than a stall could explain: it is a recording."""
        return self._early_s > self.block_s + STALL_S + JITTER_S

    def on_block(self, now_s: float, block_s: float, early_s: float, *, quiet: bool) -> None:
        """Processes the arrival of a block.

        Args:
            now_s: Arrival time; never decreases.
            block_s: Length of the block in seconds.
            early_s: How far it is ahead of the earliest block so far on the client's clock; mostly 0 or less.
            quiet: Whether the block contains no speech.
        """
        if self._last_s is not None:
            late_s = now_s - self._last_s - block_s
            self._late_s = max(self._late_s * _FORGET, late_s if late_s <= JITTER_S + _SMALL_JITTER_S else 0.0)
        self._quiet_s = self._quiet_s + block_s if quiet and not self._gap_s else 0.0
        if self._quiet_s >= _QUIET_S:
            self._stops = 0
        self._end_gap()
        self._note_early(now_s, early_s)
        if block_s <= MAX_BLOCK_S:
            self.block_s = max(block_s, self.block_s * _FORGET, _FRAME_S)
        elif not self._sent_recording:
            self._early_s, self._early_at_s = self.block_s + STALL_S + JITTER_S + block_s, now_s
        self._last_s = now_s
        self.gone = False

    def _end_gap(self) -> None:
        if self._gap_s:
            self._stall_silence_s = self._gap_s if self._gap_s <= _MAX_STALL_SILENCE_S else 0.0
            self._stops += 1
            self._gap_s = 0.0

    def _note_early(self, now_s: float, early_s: float) -> None:
        if now_s - self._early_at_s > _BURST_GAP_S:
            self._early_s = 0.0
        if early_s <= 0:
            return
        self._early_at_s = now_s
        if self._stall_silence_s > 0:
            stall_silence_s, self._stall_silence_s = self._stall_silence_s, self._stall_silence_s - early_s
            if self._stall_silence_s <= 0:  # the silence was a long stall
                self._stops = 0
            early_s -= stall_silence_s
        self._early_s += max(0.0, early_s)

    def on_silence_inserted(self, silence_s: float) -> None:
        """Notes that `silence_s` of silence was inserted after `max_gap_s` without a block."""
        if self._last_s is not None and not self.gone:
            self._gap_s += silence_s
