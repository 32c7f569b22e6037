"""Effects of skills besides speech: timers, lists, volume, speed and the home.

They are applied when the turn is committed, not before.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from assistant.home import HomePort
from assistant.memory.facts import ConversationFacts, Fact
from assistant.skills.answers import (
    LOUDEST_DB,
    QUIETEST_DB,
    SILENT_DB,
    ChangeSpeed,
    ChangeVolume,
    HomeAction,
    Rung,
    SetVolume,
    SkillEffect,
    each_effect,
    fact_effects,
    list_effects,
    timer_effects,
)
from assistant.skills.dialog.memory import Memory, Remember
from assistant.skills.home.pending_action import HomeActions, PendingAction, joined_action
from assistant.skills.kinds import MatchingSkill
from assistant.skills.lists.items import UserLists
from assistant.skills.timers.timers import Timers
from assistant.skills.timers.user_timers import UserTimers
from llm.chat import Message

ConversationTimers = Timers | UserTimers
"""The timers as a conversation uses them: its own, or the user's."""

SLOWEST, FASTEST = 0.5, 2.0
"""Limits of the speaking speed. Beyond them, few people can follow."""
_STEPS_TO_DOUBLE = 6

_SOON_S = 1.0
"""More than the time by which silence may be processed late, in seconds."""


@dataclass(slots=True)
class SkillEffects:
    """Applies the skill effects of one conversation.

    Attributes:
        effect_of: Returns the effect of the answer to these messages; None for most.
        local_now: Returns the local time with its time zone, which alarms use.
        timers: The timers, alarms and reminders: of this conversation, or of the user.
        lists: The lists and notes: of this conversation, or of the user.
        gain_db: Volume of replies in decibels relative to normal.
        speed: Speed factor of replies, `SLOWEST` to `FASTEST`, in addition to the configured speed.
        is_unheard: Returns whether nobody would hear an announcement now: the client is disconnected. It is made when
            the client is back, or in another conversation of the user.
        rings_soon: Whether a timer is about to ring, so that every frame must be processed at once.
        language: BCP 47 tag of the last turn's language, or the one the client has chosen; "" for the server's own.
        home: The home; None: there is none, or the user of this conversation may not use it.
        own_home: The skill of a home that this conversation alone has, which is then `home`; None: it has none.
        pending: The action in the home that the latest `do` has started; None for none.
        memory: What the conversation remembers of its last turns.
        facts: What is remembered of the user across conversations; None: this conversation has no memory.
        room: Name of the room in which the user speaks; "" if it is not known. Set by `enter_room`.
    """

    effect_of: Callable[[Sequence[Message]], SkillEffect | None]
    local_now: Callable[[], datetime]
    timers: ConversationTimers = field(default_factory=Timers)
    lists: UserLists = field(default_factory=UserLists)
    gain_db: float = 0.0
    speed: float = 1.0
    is_unheard: Callable[[], bool] = lambda: False
    rings_soon: bool = False
    language: str = ""
    home: HomePort | None = None
    own_home: MatchingSkill | None = None
    pending: PendingAction | None = None
    memory: Memory = field(default_factory=Memory)
    facts: ConversationFacts | None = None
    room: str = ""
    _actions: HomeActions = field(default_factory=HomeActions)

    @property
    def known_facts(self) -> tuple[Fact, ...] | None:
        """The remembered facts, the oldest first; None without a memory, or if the user wants none."""
        return None if self.facts is None or not self.facts.user.enabled else self.facts.user.facts

    def enter_room(self, room: str) -> None:
        """Notes that the conversation is held in this room; "" for none."""
        self.room = self.timers.room = room

    def do(self, effect: SkillEffect | None, now_s: float) -> Callable[[], None]:
        """Applies `effect` at loop time `now_s`. Returns a function that undoes it if the turn is retracted."""
        self.timers.note_use(now_s)
        effects = each_effect(effect)
        before = self.memory, self.gain_db, self.speed
        remember = next((effect for effect in effects if isinstance(effect, Remember)), None)
        self.memory = self.memory.after(remember, now_s)
        action = joined_action([effect for effect in effects if isinstance(effect, HomeAction)])
        self.pending = self._actions.start(action, self.home, now_s)
        for part in effects:
            if isinstance(part, ChangeVolume):
                if self.gain_db > SILENT_DB or part.db > 0:  # "quieter" does not end the silence
                    self.gain_db = min(max(max(self.gain_db, QUIETEST_DB) + part.db, QUIETEST_DB), LOUDEST_DB)
            elif isinstance(part, SetVolume):
                self.gain_db = min(max(part.db, SILENT_DB), LOUDEST_DB)
            elif isinstance(part, ChangeSpeed):
                self.speed = change_speed(self.speed, part.steps)
        changes_timers = bool(timer_effects(effect))
        if changes_timers:
            self.timers.apply(effect, now_s)
        list_changes = [self.lists.change(effect) for effect in list_effects(effect)]
        facts = self.facts
        fact_changes = [] if facts is None else [facts.change(effect) for effect in fact_effects(effect)]
        asks_home = self.pending is not None

        def undo() -> None:
            self.memory, self.gain_db, self.speed = before
            if asks_home:
                self._actions.retract()
            if changes_timers:
                self.timers.undo()
            for change in reversed(list_changes):
                self.lists.revert(change)
            list_changes.clear()
            for fact_change in reversed(fact_changes):
                assert facts is not None
                facts.user.revert(fact_change)
            fact_changes.clear()

        return undo

    def due(self, now_s: float) -> tuple[str, ...]:
        """Returns the sentences to announce, each once; those of `rings` are not among them.

        Called for every frame: reads no clock if nothing is set.
        """
        self.rings_soon = False
        if self._actions.failures and not self.is_unheard():
            return self._actions.take_failures()
        if not self.timers.any_set:
            return ()
        now = self.local_now()
        for alarm in self.timers.take_commands(now_s, now):
            self._actions.make(alarm.set_to, self.home, self.language or "en")
        if self.is_unheard():
            return ()
        due = self.timers.due(now_s, now)
        self.rings_soon = self.timers.rings_within(_SOON_S, now_s, now)
        rings = {ring.sentence for ring in self.rings()}
        return tuple(text for text in due if text not in rings)

    def rings(self) -> tuple[Rung, ...]:
        """Returns what rings now in this conversation."""
        return self.timers.sounding()

    def end_rings(self, numbers: Sequence[int], now_s: float, *, answered: bool) -> None:
        """Ends what rings. What nobody has answered is told as missed when the user speaks again."""
        self.timers.end_rings(numbers, now_s, answered=answered)


def change_speed(speed: float, steps: int) -> float:
    """Returns `speed` changed by `steps` steps of a sixth of an octave, so that opposite steps cancel."""
    reached = round(_STEPS_TO_DOUBLE * math.log2(speed)) + steps
    return min(max(math.exp2(reached / _STEPS_TO_DOUBLE), SLOWEST), FASTEST)
