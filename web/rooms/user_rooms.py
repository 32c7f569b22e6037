"""The conversations of the server's user: lets one satellite answer a question, and speaks announcements in rooms.

It knows the conversations of this gateway only. Those without a room are heard for themselves. Telephone callers and
the clients of client secrets may be anybody: their conversations are not among them.
"""

import asyncio
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count

from assistant.pipeline.unasked.announcing import AnnouncementState, Priority
from assistant.pipeline.unasked.yielding import CommittedSpeech
from web.rooms.same_question import SameQuestions, SpokenTurn
from web.rooms.wake_contest import SatelliteId, WakeContest
from web.session.realtime_session import RealtimeSession


@dataclass(frozen=True, slots=True)
class Announced:
    """The result of an announcement in a room."""

    room: str
    state: AnnouncementState


@dataclass(slots=True)
class UserRooms:
    """The conversations of one user. Not thread-safe: use it on the event loop."""

    _conversations: dict[SatelliteId, RealtimeSession] = field(default_factory=dict)
    _contest: WakeContest = field(default_factory=WakeContest)
    _questions: SameQuestions = field(init=False)
    _numbers: "count[int]" = field(default_factory=lambda: count(1))

    def __post_init__(self) -> None:
        self._questions = SameQuestions(self._may_take_over)

    @contextmanager
    def joined(self, conversation: RealtimeSession) -> Generator[None]:
        """Has a conversation, whose session is set, among those of the user."""
        satellite = SatelliteId(next(self._numbers))
        self._conversations[satellite] = conversation
        conversation.on_wake_word = lambda level_dbfs: self._hear(satellite, level_dbfs)
        conversation.session.answers_speech = lambda speech: self._judge(satellite, speech)
        try:
            yield
        finally:
            del self._conversations[satellite]
            self._contest.leave(satellite)

    def announce(self, text: str, rooms: Sequence[str] | None, priority: Priority) -> list[Announced]:
        """Speaks a text in rooms, once in each: where the user has spoken last.

        Args:
            text: The text.
            rooms: Names of the rooms; None: every room with a conversation, and each conversation without a room.
            priority: When it is spoken.
        """
        named = self._by_room()
        if rooms is None:
            without = [conversation for conversation in self._present() if not _room(conversation)]
            return [
                *(self._announce_in(room, here[-1:], text, priority) for room, here in named.items()),
                *(self._announce_in("", [conversation], text, priority) for conversation in without),
            ]
        by_name = {room.casefold(): (room, here) for room, here in named.items()}
        asked: dict[str, str] = {}
        for room in rooms:
            asked.setdefault(room.casefold(), room)
        in_rooms = ((by_name.get(key, (room, []))) for key, room in asked.items())
        return [self._announce_in(room, here[-1:], text, priority) for room, here in in_rooms]

    def _announce_in(
        self, room: str, conversations: Sequence[RealtimeSession], text: str, priority: Priority
    ) -> Announced:
        states = [conversation.session.announce(text, priority) for conversation in conversations]
        return Announced(room, states[0] if states else AnnouncementState.NOBODY_THERE)

    def _present(self) -> list[RealtimeSession]:
        """Returns the conversations whose client hears spoken replies; the last is the one to announce in.

        That is the one where the user spoke last, of those that are connected; a client that is away may resume.
        """
        there = [
            conversation
            for conversation in self._conversations.values()
            if conversation.realtime.config.kind == "realtime"
            and conversation.realtime.config.modality == "audio"
            and conversation.session.takes_announcements
        ]
        return sorted(there, key=lambda conversation: (_is_connected(conversation), conversation.last_turn_s))

    def _by_room(self) -> dict[str, list[RealtimeSession]]:
        by_room: dict[str, list[RealtimeSession]] = {}
        for conversation in self._present():
            if room := _room(conversation):
                name = next((known for known in by_room if known.casefold() == room.casefold()), room)
                by_room.setdefault(name, []).append(conversation)
        return by_room

    def _room_of(self, satellite: SatelliteId) -> str:
        return _room(self._conversations[satellite]) if satellite in self._conversations else ""

    # ---- one question, several satellites ----

    def _hear(self, satellite: SatelliteId, level_dbfs: float) -> None:
        if not self._room_of(satellite):
            return
        yielding = self._contest.hear(satellite, level_dbfs, asyncio.get_running_loop().time())
        leader = self._contest.leader
        if yielding is not None and leader is not None:
            self._conversations[yielding].yield_to(self._room_of(leader))

    def _judge(self, satellite: SatelliteId, speech: CommittedSpeech) -> bool:
        if not self._room_of(satellite):
            return True
        turn = SpokenTurn(satellite, speech.text, speech.began_s, speech.ended_s, speech.level_dbfs)
        verdict = self._questions.judge(turn, asyncio.get_running_loop().time())
        if verdict.result == "takes over" and verdict.other in self._conversations:
            self._conversations[verdict.other].session.withdraw_turn()
        return verdict.result != "yields"

    def _may_take_over(self, satellite: SatelliteId) -> bool:
        conversation = self._conversations.get(satellite)
        return conversation is not None and conversation.session.reply_may_be_taken_over


def _room(conversation: RealtimeSession) -> str:
    return conversation.realtime.config.extensions.room


def _is_connected(conversation: RealtimeSession) -> bool:
    return not conversation.session.engines.skill_effects.is_unheard()
