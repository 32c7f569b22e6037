"""Queues announcements until nobody speaks. No I/O, no clock."""

from collections import deque
from dataclasses import dataclass, field, replace

from assistant.turns.settings import ReplyThresholds


@dataclass(frozen=True, slots=True)
class Announcement:
    """Text that is said as soon as nobody speaks, for example when a timer rings.

    Attributes:
        failures: How often speech synthesis failed for it.
        at_once: It was to be said at once; who has requested it decides when it is said again.
    """

    text: str
    failures: int = 0
    at_once: bool = False


@dataclass(slots=True)
class Announcements:
    """Holds the announcements of one conversation that wait, oldest first.

    Attributes:
        waiting: Those that are said as soon as nobody speaks.
        returned: Those that were to be said at once, and were not heard.
    """

    waiting: deque[Announcement] = field(default_factory=deque)
    returned: deque[Announcement] = field(default_factory=deque)

    def add_announcement(self, text: str, thresholds: ReplyThresholds) -> None:
        """Adds an announcement. Beyond the limit the oldest is dropped."""
        self.waiting.append(Announcement(text))
        if len(self.waiting) > thresholds.max_announcements:
            self.waiting.popleft()

    def next(self) -> Announcement | None:
        """Removes and returns the oldest announcement, or None."""
        return self.waiting.popleft() if self.waiting else None

    def repeat(self, announcement: Announcement) -> None:
        """Adds an announcement again, before all others."""
        self._queue_of(announcement).appendleft(announcement)

    def repeat_failed(self, announcement: Announcement, thresholds: ReplyThresholds) -> None:
        """Adds an announcement again whose reply failed, up to the limit on failures."""
        failures = announcement.failures + 1
        if failures < thresholds.max_announcement_failures:
            self.repeat(replace(announcement, failures=failures))

    def remove(self, announcement: Announcement) -> None:
        """Removes an announcement that was added again."""
        self._queue_of(announcement).remove(announcement)

    def take_returned(self) -> tuple[Announcement, ...]:
        """Removes and returns what was to be said at once and was not heard."""
        taken = tuple(self.returned)
        self.returned.clear()
        return taken

    def _queue_of(self, announcement: Announcement) -> deque[Announcement]:
        return self.returned if announcement.at_once else self.waiting
