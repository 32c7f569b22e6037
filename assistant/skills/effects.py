"""What skills do besides speaking: timers that ring, a louder or faster voice. Done at the commit, never before."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from assistant.skills import ChangeSpeed, ChangeVolume, SkillEffect
from assistant.skills.timers import Timers
from llm.chat import Message

QUIETEST_DB, LOUDEST_DB = -24.0, 9.0
"""How far the voice can be turned down and up: below it is lost in a room, above its peaks are cut."""

SLOWEST, FASTEST = 0.5, 2.0
"""How far the pace of the voice can be changed: beyond, few people follow."""
_STEPS_TO_DOUBLE = 6


@dataclass(slots=True)
class SkillEffects:
    """The doings of one conversation.

    Attributes:
        effect_of: What the answer to these messages is to do; None for most.
        local_now: The wall clock, with its zone: alarms go by it.
        timers: What is set.
        gain_db: How much louder than usual replies are.
        speed: How much faster than usual replies are spoken: `SLOWEST` to `FASTEST`, on top of what is configured.
    """

    effect_of: Callable[[Sequence[Message]], SkillEffect | None]
    local_now: Callable[[], datetime]
    timers: Timers = field(default_factory=Timers)
    gain_db: float = 0.0
    speed: float = 1.0

    def do(self, effect: SkillEffect | None, now_s: float) -> Callable[[], None]:
        """Do it, at loop time `now_s`; returns what takes it back, should its turn be retracted."""
        if effect is None:
            return lambda: None
        if isinstance(effect, ChangeVolume):
            before_db = self.gain_db
            self.gain_db = min(max(before_db + effect.db, QUIETEST_DB), LOUDEST_DB)
            return lambda: setattr(self, "gain_db", before_db)
        if isinstance(effect, ChangeSpeed):
            before = self.speed
            self.speed = stepped(before, effect.steps)
            return lambda: setattr(self, "speed", before)
        self.timers.apply(effect, now_s)
        return self.timers.take_back

    def due(self, now_s: float) -> tuple[str, ...]:
        """Sentences to announce, each once. Asked at every frame: without anything set, no clock is read."""
        if not self.timers.any_set:
            return ()
        return self.timers.due(now_s, self.local_now())


def stepped(speed: float, steps: int) -> float:
    """`speed` so many steps faster, each a sixth of an octave, so that as many steps back lead where one came from."""
    reached = round(_STEPS_TO_DOUBLE * math.log2(speed)) + steps
    return min(max(math.exp2(reached / _STEPS_TO_DOUBLE), SLOWEST), FASTEST)
