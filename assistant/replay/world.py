"""Simulates what surrounds turn taking: effects are performed, and events follow at later positions. No I/O, no clock.

`assistant.replay.simulation` answers the effects from a recording, the tests from scripts.
"""

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from assistant.replay.event_replay import PlaybackReports
from assistant.turns.events import Effect, Effects, Event, PlaybackProgress, ReplyEnded, ReplyId
from assistant.turns.turn_taking import TurnTaking
from audio.units import Samples


@dataclass(slots=True)
class World:
    """What surrounds the turn taking of one conversation. A subclass performs the effects and moves `now`.

    Attributes:
        turns: Turn taking.
        now: The current position.
    """

    turns: TurnTaking
    now: Samples = field(default=Samples(0), kw_only=True)
    _due: list[tuple[Samples, int, Event]] = field(default_factory=list, kw_only=True)
    _scheduled: int = field(default=0, kw_only=True)

    def handle(self, event: Event) -> Effects:
        """Passes an event to turn taking and performs the effects."""
        effects = self.turns.handle(event)
        for effect in effects:
            self.perform(effect)
        return effects

    def perform(self, effect: Effect) -> None:
        """Performs an effect."""
        raise NotImplementedError

    @property
    def is_waiting(self) -> bool:
        """Whether an event is still to come."""
        return bool(self._due)

    def schedule(self, event: Event) -> None:
        """Schedules an event for its position. Events of the same position stay in order."""
        self._scheduled += 1
        heapq.heappush(self._due, (event.at, self._scheduled, event))

    def schedule_playback(self, reply: ReplyId, playback: PlaybackReports, shift: int) -> None:
        """Schedules these reports for a reply, later by `shift`."""
        for at, words_heard, audible in playback.reports:
            self.schedule(PlaybackProgress(Samples(at + shift), reply, words_heard, audible))
        if playback.ended is not None:
            self.schedule(ReplyEnded(Samples(playback.ended + shift), reply))

    def take_due(self, before: int) -> Iterator[Event]:
        """Removes and yields the events that are due before this position, also those scheduled meanwhile."""
        while self._due and self._due[0][0] < before:
            yield heapq.heappop(self._due)[2]

    def take(self, wanted: Callable[[Event], bool]) -> list[Event]:
        """Removes and returns the scheduled events that are wanted, in order."""
        taken = [event for _, _, event in sorted(self._due) if wanted(event)]
        self._due = sorted(due for due in self._due if not wanted(due[2]))  # a sorted list is a heap
        return taken
