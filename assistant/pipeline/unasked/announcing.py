"""Speaks announcements of other programs in a conversation, at once or later.

    state     event                                                     next state
    new       nobody speaks, or its priority permits it                 speaking, as a reply
    new       otherwise                                                 waiting, behind those of its priority
    waiting   nobody speaks; urgent: also otherwise                     speaking
    waiting   `EXPIRES_S` after it was made, or the conversation ends   dropped
    speaking  another reply, or speech, ends it before a word of it     waiting, before those of its priority
    speaking  its client cancels it before a word of it                 dropped
    speaking  the voice fails for it `MAX_FAILURES` times               dropped
    speaking  a word of it was heard                                    spoken

The reply enters the history as far as it was heard, so that the user can ask what was said.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Literal, get_args

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

_PRIORITIES: tuple[Priority, ...] = get_args(Priority)

EXPIRES_S = 300.0
"""An announcement that could not begin for this long, in seconds, is dropped: its news is old."""

MAX_WAITING = 10
"""Announcements of one conversation that wait. They are about as much as a person listens to at once."""


MAX_FAILURES = 2
"""An announcement for which the voice has failed this often is dropped."""


class AnnouncementState(Enum):
    """The result of an announcement in one conversation or room."""

    SPOKEN = "spoken"
    WAITING = "waiting"
    FULL = "too many waiting"
    NOBODY_THERE = "nobody there"


@dataclass(frozen=True, slots=True)
class _Announcement:
    text: str
    priority: Priority
    expires_s: float
    failures: int = 0

    @property
    def rank(self) -> int:
        return _PRIORITIES.index(self.priority)


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
        is_heard: Returns whether the client is connected. Otherwise announcements wait.
        replying: Returns the active reply.
        before_interrupting: Called before an announcement ends what goes on.
        on_event: Receives the session events.
        asleep: Whether the conversation sleeps; set by the session.
        spoken_asleep: The announcement that was begun while the conversation slept: it does not wake it.
        latest: The latest announcement.
        unheard: The latest one that ended before a word was heard: it is not in the history.
    """

    position: Callable[[], Samples]
    dispatch: Callable[[ReplyRequested], None]
    phase: Callable[[], Phase]
    has_overlap: Callable[[], bool]
    awaits_sound: Callable[[], bool]
    may_begin: Callable[[], bool]
    is_heard: Callable[[], bool]
    replying: Callable[[], ReplyId | None]
    before_interrupting: Callable[[], None]
    on_event: Callable[[SessionEvent], None]
    asleep: bool = False
    spoken_asleep: ReplyId | None = None
    latest: ReplyId | None = None
    unheard: ReplyId | None = None
    _waiting: list[_Announcement] = field(default_factory=list)  # the most urgent and oldest first
    _begins: _Announcement | None = None  # its reply is being requested
    _spoken: _Announcement | None = None  # the latest

    def announce(self, text: str, priority: Priority, now_s: float) -> AnnouncementState:
        """Speaks the text now or later. The caller bounds its length."""
        announcement = _Announcement(text, priority, now_s + EXPIRES_S)
        if self._is_first(announcement) and self._may_speak(announcement):
            self._begin(announcement)
            return AnnouncementState.SPOKEN
        if len(self._waiting) >= MAX_WAITING:
            return AnnouncementState.FULL
        self._waiting.append(announcement)
        self._waiting.sort(key=lambda waiting: -waiting.rank)
        return AnnouncementState.WAITING

    def on_frame(self, now_s: float) -> None:
        """Begins the first announcement that may begin, and drops what has expired. Called with every frame."""
        if not self._waiting:
            return
        self._waiting = [waiting for waiting in self._waiting if now_s < waiting.expires_s]
        if self._waiting and self._has_its_turn(self._waiting[0]):
            self._begin(self._waiting.pop(0))

    def return_unheard(self, failures: int) -> None:
        """Lets the latest announcement wait again, because it ended before a word of it was heard.

        `failures`: how often the voice has failed for it now.
        """
        if (announcement := self._spoken) is None:
            return
        announcement, self._spoken = replace(announcement, failures=announcement.failures + failures), None
        self.unheard = self.latest
        if announcement.failures < MAX_FAILURES:
            self._waiting.insert(0, announcement)
            self._waiting.sort(key=lambda waiting: -waiting.rank)

    @property
    def sounds_asleep(self) -> bool:
        """Whether an announcement plays that was begun while the conversation slept."""
        return self.spoken_asleep is not None and self.spoken_asleep == self.replying()

    def _is_first(self, announcement: _Announcement) -> bool:
        return not self._waiting or self._waiting[0].rank < announcement.rank

    def _may_speak(self, announcement: _Announcement) -> bool:
        """Returns whether a new announcement begins at once."""
        in_reply = self.phase() is Phase.REPLYING and not (self.has_overlap() or self.awaits_sound())
        return self._has_its_turn(announcement) or (
            announcement.priority == "now" and in_reply and self.is_heard() and self._outranks_reply(announcement)
        )

    def _has_its_turn(self, announcement: _Announcement) -> bool:
        """Returns whether an announcement begins that is the first: who speaks before a "now" is answered first."""
        urgent = announcement.priority == "urgent" and self._outranks_reply(announcement)
        return self.is_heard() and (urgent or self.may_begin())

    def _outranks_reply(self, announcement: _Announcement) -> bool:
        """Returns whether no announcement of this priority or a higher one is being spoken."""
        is_spoken = self.latest is not None and self.latest == self.replying()
        return not is_spoken or self._spoken is None or self._spoken.rank < announcement.rank

    def _begin(self, announcement: _Announcement) -> None:
        if not self.may_begin():
            self.before_interrupting()
        self._begins = announcement
        self.dispatch(ReplyRequested(self.position(), "announcement", announcement.text, at_once=True))
        self._begins = None

    def on_commit(self, reply_id: ReplyId) -> None:
        """Reports an announcement whose reply is about to be committed, so that clients know it beforehand."""
        if self._begins is not None:
            self._spoken, self._begins = self._begins, None
            self.latest, self.spoken_asleep = reply_id, reply_id if self.asleep else None
            self.on_event(AnnouncementStarted(reply_id, self._spoken.text))
