"""Determines when a reply was first audible, from its audio and from the blocks that left the speaker."""

import asyncio
import math
from dataclasses import dataclass, field

import numpy as np

from assistant.history.cut_to_heard import Stretch
from assistant.pipeline.turn_trace import TurnTrace
from assistant.trace.latency import HOME_WAIT, RESUME_WAIT, Span, Stage
from audio.level import OnsetFinder
from audio.units import REPLY_RATE_HZ, Pcm, ReplySamples


@dataclass(slots=True)
class PlayoutTiming:
    """Measures the playout of one attempt and records it on `trace`.

    Attributes:
        trace: Trace of the turn.
        attempt: Number of the attempt.
        audible_at_s: Loop time of the first audible sample; None: nothing was audible yet.
        unheard: Stretches of the audio that no loudspeaker played, in order.
    """

    trace: TurnTrace
    attempt: int
    audible_at_s: float | None = None
    unheard: list[Stretch] = field(default_factory=list)
    _onset: OnsetFinder = field(default_factory=lambda: OnsetFinder(REPLY_RATE_HZ))
    _audible_from: int | None = None
    _blocks: list[tuple[int, float]] = field(default_factory=list)  # (first sample, time of leaving), until the onset

    # ---- audio, in order ----

    def add_audio(self, pcm: Pcm) -> None:
        """Adds the next samples of the reply, int16 (n,) at 24 kHz."""
        if self._audible_from is None:
            self._audible_from = self._onset.feed(pcm)

    def add_wait_announcement(self, samples: int) -> None:
        """Adds the samples of a wait announcement. They count as silence, because they are not part of the reply."""
        self._onset.feed(np.zeros(samples, np.int16))

    # ---- blocks that left the speaker ----

    def on_played(self, first: int, end: ReplySamples, leaves_at_s: float, *, finished: bool) -> None:
        """Records that a device block with the samples `first` to `end` leaves the speaker at `leaves_at_s`.

        Infinity means that it never leaves, because there is no loudspeaker. Later blocks may still be heard.
        """
        not_played = math.isinf(leaves_at_s)
        if not_played and end > first:
            self._add_unheard(first, int(end))
        if self.audible_at_s is not None:
            return
        if not_played:
            self._blocks.clear()
        elif end > first:
            self._blocks.append((first, leaves_at_s))
        if finished and self._audible_from is None:
            self._audible_from = self._onset.finish()
        if not self._blocks or self._audible_from is None or end <= self._audible_from:
            return
        # If the block with the onset was not played, the reply is audible from the first block that was.
        start, left_s = next(
            (block for block in reversed(self._blocks) if block[0] <= self._audible_from), self._blocks[0]
        )
        audible_from = max(self._audible_from, start)
        self._blocks.clear()
        audible_s = left_s + (audible_from - start) / REPLY_RATE_HZ
        self._set_audible(audible_s)
        self._span("playout", self._ready_s(audible_s), audible_s, self.predecessors)

    def on_client_latency(self, audible_s: float, device_s: float) -> None:
        """Records the playout that the client has measured. `device_s`: the part spent in its buffer and audio device.

        The rest is transport. Both client times are durations, so the clocks need not agree. A measurement before the
        end of the user's speech is ignored.
        """
        ended_s = self.trace.speech_end_s
        if self.audible_at_s is not None or (ended_s is not None and audible_s < ended_s):
            return
        self._set_audible(audible_s)
        arrived_s = audible_s - device_s
        self._span("transport", min(self._ready_s(arrived_s), arrived_s), arrived_s, self.predecessors)
        self._span("playout", arrived_s, audible_s, ("transport",))

    def _set_audible(self, audible_at_s: float) -> None:
        self.audible_at_s = self.trace.playout_start_s = audible_at_s

    def _add_unheard(self, since: int, until: int) -> None:
        if self.unheard and self.unheard[-1][1] == since:
            self.unheard[-1] = (self.unheard[-1][0], until)
            return
        self.unheard.append((since, until))
        if self.audible_at_s is None:
            self.trace.no_latency_reason = self.trace.no_latency_reason or "no loudspeaker"
        self.trace.event("unheard", asyncio.get_running_loop().time(), f"attempt {self.attempt}")

    @property
    def predecessors(self) -> tuple[str, ...]:
        """Names of the spans so far that the first audio waits for."""
        waits = (name for name in (HOME_WAIT, RESUME_WAIT) if self.trace.end_of(self.attempt, name) is not None)
        return ("tts", "commit", *waits)

    def _ready_s(self, otherwise_s: float) -> float:
        """Returns when the first audio was ready to be played."""
        ready = [self.trace.end_of(self.attempt, name) for name in self.predecessors]
        return max((end_s for end_s in ready if end_s is not None), default=otherwise_s)

    def _span(self, stage: Stage, start_s: float, end_s: float, waited_for: tuple[str, ...]) -> None:
        self.trace.span(self.attempt, Span(stage, stage, start_s, end_s, waited_for))
