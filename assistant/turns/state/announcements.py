"""Queues announcements until nobody speaks. No I/O, no clock."""

from collections import deque
from dataclasses import dataclass, field, replace

from assistant.turns.settings import ReplyThresholds


@dataclass(frozen=True, slots=True)
class Announcement:
    """Text that is said as soon as nobody speaks, for example when a timer rings.

    Attributes:
        failures: How often speech synthesis failed for it.
    """

    text: str
    failures: int = 0


@dataclass(slots=True)
class Announcements:
    """Holds the announcements of one conversation that wait, oldest first."""

    waiting: deque[Announcement] = field(default_factory=deque)

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
        self.waiting.appendleft(announcement)

    def repeat_failed(self, announcement: Announcement, thresholds: ReplyThresholds) -> None:
        """Adds an announcement again whose reply failed, up to the limit on failures."""
        failures = announcement.failures + 1
        if failures < thresholds.max_announcement_failures:
            self.repeat(replace(announcement, failures=failures))

    def remove(self, announcement: Announcement) -> None:
        """Removes an announcement that was added again."""
        self.waiting.remove(announcement)
