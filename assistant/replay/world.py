"""Simulates what surrounds turn taking: effects are performed, and events follow at later positions. No I/O, no clock.

`assistant.replay.simulation` answers the effects from a recording, the tests from scripts.
"""

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from assistant.pipeline.transcript_requests import SessionEffect, SessionEffects, TranscriptRequests
from assistant.replay.event_replay import PlaybackReports
from assistant.turns.events import PlaybackProgress, ReplyEnded, ReplyId, ReportedEvent
from assistant.turns.turn_taking import TurnTaking
from audio.units import Samples


@dataclass(slots=True)
class World:
    """Simulates the surroundings of one conversation's turn taking. A subclass performs the effects and moves `now`.

    Attributes:
        requests: The recognizer's adapter, through which events reach turn taking.
        now: The current position.
    """

    requests: TranscriptRequests
    now: Samples = field(default=Samples(0), kw_only=True)
    _due: list[tuple[Samples, int, ReportedEvent]] = field(default_factory=list, kw_only=True)
    _scheduled: int = field(default=0, kw_only=True)

    @property
    def turns(self) -> TurnTaking:
        """Turn taking."""
        return self.requests.turns

    def handle(self, event: ReportedEvent) -> SessionEffects:
        """Passes an event to turn taking and performs the effects."""
        effects = self.requests.handle(event)
        for effect in effects:
            self.perform(effect)
        return effects

    def perform(self, effect: SessionEffect) -> None:
        """Performs an effect."""
        raise NotImplementedError

    @property
    def is_waiting(self) -> bool:
        """Whether an event is still to come."""
        return bool(self._due)

    def schedule(self, event: ReportedEvent) -> None:
        """Schedules an event for its position. Events of the same position stay in order."""
        self._scheduled += 1
        heapq.heappush(self._due, (event.position, self._scheduled, event))

    def schedule_playback(self, reply_id: ReplyId, playback: PlaybackReports, shift: int) -> None:
        """Schedules these reports for a reply, later by `shift`."""
        for position, words_heard, audible in playback.reports:
            at = Samples(position + shift)
            self.schedule(PlaybackProgress(at, reply_id, words_heard, audible, playback.has_effect))
        if playback.ended is not None:
            self.schedule(ReplyEnded(Samples(playback.ended + shift), reply_id))

    def take_due(self, before: int) -> Iterator[ReportedEvent]:
        """Removes and yields the events that are due before this position, also those scheduled meanwhile."""
        while self._due and self._due[0][0] < before:
            yield heapq.heappop(self._due)[2]

    def take(self, condition: Callable[[ReportedEvent], bool]) -> list[ReportedEvent]:
        """Removes and returns the scheduled events that are wanted, in order."""
        taken = [event for _, _, event in sorted(self._due) if condition(event)]
        self._due = sorted(due for due in self._due if not condition(due[2]))  # a sorted list is a heap
        return taken
