"""Says announcements of other programs in a conversation: at once, in the next pause, or not any more.

    new ──nobody speaks, or its priority permits it──▶ spoken, as a reply
     └──▶ waiting ──nobody speaks──▶ spoken
             └──EXPIRES_S later, or the conversation ends──▶ dropped

The reply enters the history as far as it was heard, so that the user can ask what was said.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal

from assistant.events import AnnouncementStarted, SessionEvent
from assistant.turns.events import ReplyId, ReplyRequested
from assistant.turns.state.states import Phase
from audio.units import Samples

Priority = Literal["pause", "now", "urgent"]
"""The moment at which an announcement begins.

- pause: as soon as nobody speaks and no reply is awaited or played.
- now: also instead of a reply that plays. It waits for a person who speaks, and for the answer that they await.
- urgent: at once. What a person says meanwhile is answered after it.
"""

EXPIRES_S = 300.0
"""An announcement that could not begin for this long, in seconds, is dropped: its news is old."""

MAX_WAITING = 10
"""Announcements of one conversation that wait. They are about as much as a person listens to at once."""


class Accepted(Enum):
    """The result of an announcement in one conversation."""

    SPOKEN = "spoken"
    WAITING = "waiting"
    FULL = "too many waiting"


@dataclass(frozen=True, slots=True)
class _Waiting:
    text: str
    expires_s: float


@dataclass(slots=True)
class AnnouncementControl:
    """The announcements of one conversation. Not thread-safe.

    Attributes:
        position: Returns the current position on the sample clock.
        dispatch: Passes an event to the turn-taking machine.
        phase: Returns the phase of the conversation.
        has_overlap: Returns whether somebody speaks during a reply.
        awaits_sound: Returns whether nothing was heard yet of a reply that is due.
        may_begin: Returns whether nobody speaks and no reply is due.
        replying: Returns the active reply.
        before_interrupting: Called before an announcement ends what goes on.
        on_event: Receives the session events.
        asleep: Whether the conversation sleeps; set by the session.
        spoken_asleep: The announcement that was begun while the conversation slept: it does not wake it.
        latest: The latest announcement.
    """

    position: Callable[[], Samples]
    dispatch: Callable[[ReplyRequested], None]
    phase: Callable[[], Phase]
    has_overlap: Callable[[], bool]
    awaits_sound: Callable[[], bool]
    may_begin: Callable[[], bool]
    replying: Callable[[], ReplyId | None]
    before_interrupting: Callable[[], None]
    on_event: Callable[[SessionEvent], None]
    asleep: bool = False
    spoken_asleep: ReplyId | None = None
    latest: ReplyId | None = None
    _waiting: deque[_Waiting] = field(default_factory=deque)
    _beginning: str = ""  # the text whose reply is being requested

    def announce(self, text: str, priority: Priority, now_s: float) -> Accepted:
        """Says the text now or later. The caller bounds its length."""
        if self._begins(priority):
            self._begin(text)
            return Accepted.SPOKEN
        if len(self._waiting) >= MAX_WAITING:
            return Accepted.FULL
        self._waiting.append(_Waiting(text, now_s + EXPIRES_S))
        return Accepted.WAITING

    def on_frame(self, now_s: float) -> None:
        """Begins the oldest announcement that may begin, and drops what has expired. Called with every frame."""
        if not self._waiting:
            return
        while self._waiting and now_s >= self._waiting[0].expires_s:
            self._waiting.popleft()
        if self._waiting and self.may_begin():
            self._begin(self._waiting.popleft().text)

    @property
    def sounds_asleep(self) -> bool:
        """Whether an announcement plays that was begun while the conversation slept."""
        return self.spoken_asleep is not None and self.spoken_asleep == self.replying()

    def _begins(self, priority: Priority) -> bool:
        """Returns whether an announcement begins at once."""
        if self.may_begin():
            return not self._waiting  # others were first
        in_reply = self.phase() is Phase.REPLYING and not (self.has_overlap() or self.awaits_sound())
        return priority == "urgent" or (priority == "now" and in_reply)

    def _begin(self, text: str) -> None:
        if not self.may_begin():
            self.before_interrupting()
        self._beginning = text
        self.dispatch(ReplyRequested(self.position(), "announcement", text, at_once=True))
        self._beginning = ""

    def on_commit(self, reply_id: ReplyId) -> None:
        """Reports an announcement whose reply is about to be committed, so that clients know it beforehand."""
        if self._beginning:
            self.latest, self.spoken_asleep = reply_id, reply_id if self.asleep else None
            self.on_event(AnnouncementStarted(reply_id, self._beginning))
