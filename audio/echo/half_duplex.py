"""Half-duplex operation: mutes the microphone while the loudspeaker plays and shortly after."""

from collections import deque

import numpy as np

from audio.units import Pcm, s_of_samples

TAIL_S = 0.3
"""Mute time after the last sound, in seconds: room echo and unreported loudspeaker delay (radio: 0.2 s)."""

LEAD_S = 0.02
"""Mute time before the first sound, in seconds: the accuracy of the clocks."""

AUDIBLE_PEAK = 32
"""Peak (int16, -60 dBFS) below which audio causes no audible echo."""

_SPANS = 64
"""Maximum number of spans of sound not played yet: more would be many seconds, because spans are 300 ms apart."""


class HalfDuplex:
    """Mutes the microphone during replies. Implements `FrameCleaner` and `EchoReference`.

    No I/O, no clock; not thread-safe. The user cannot interrupt by voice: what is said during a reply is not heard.
    """

    def __init__(self, *, tail_s: float = TAIL_S) -> None:
        """Creates it with a mute time of `tail_s` after the last sound of a reply. Raises ValueError below 0."""
        if not tail_s >= 0:
            raise ValueError(f"tail_s must be at least 0 s, not {tail_s}")
        self._tail_s = tail_s
        self._spans: deque[tuple[float, float]] = deque()

    def add_reference(self, pcm: Pcm, rate_hz: int, leaves_s: float) -> None:
        """Receives a block sent to the loudspeaker: int16 (n,), and the loop time at which it is played."""
        loud = np.flatnonzero(np.abs(pcm.astype(np.int32)) > AUDIBLE_PEAK)
        if len(loud) == 0:
            return
        begins_s = leaves_s + int(loud[0]) / rate_hz - LEAD_S
        ends_s = leaves_s + (int(loud[-1]) + 1) / rate_hz + self._tail_s
        if self._spans and (begins_s <= self._spans[-1][1] or len(self._spans) == _SPANS):
            before_s, until_s = self._spans.pop()
            begins_s, ends_s = min(begins_s, before_s), max(ends_s, until_s)
        self._spans.append((begins_s, ends_s))

    def clean(self, pcm: Pcm, captured_s: float) -> Pcm:
        """Returns the frame, or silence if any of it was captured while the loudspeaker played.

        Call it in order of time. `captured_s` is the loop time of the first sample.
        """
        while self._spans and self._spans[0][1] <= captured_s:
            self._spans.popleft()
        ends_s = captured_s + s_of_samples(len(pcm))
        if any(begins_s < ends_s for begins_s, _ in self._spans):
            return np.zeros_like(pcm)
        return pcm
