"""A conversation with the skills, as committed turns."""

import random
from dataclasses import dataclass, field
from datetime import datetime
from zoneinfo import ZoneInfo

from support.conversations.loaded_skills import written_skills

from assistant.skills.answers import SkillAnswer, SkillContext, SkillEffect, joined_effect
from assistant.skills.dialog.memory import Remember
from assistant.skills.effects import SkillEffects

NOW = datetime(2026, 11, 20, 15, 43, tzinfo=ZoneInfo("Europe/Berlin"))


@dataclass
class Talk:
    """A conversation with the skills: each utterance is a committed turn.

    Attributes:
        heard: The heard part of the last reply.
    """

    code: str = "en"
    effects: SkillEffects = field(default_factory=lambda: SkillEffects(lambda _messages: None, lambda: NOW))
    now_s: float = 0.0
    heard: str | None = None

    def attempt(self, said: str) -> SkillAnswer | None:
        """Returns the answer of an attempt, which changes nothing."""
        running, memory = self.effects.timers.running(self.now_s), self.effects.memory.remaining_at(self.now_s)
        items, facts = self.effects.lists.items, self.effects.known_facts
        context = SkillContext(
            NOW, self.heard, self.code, running, random.Random(1), memory=memory, lists=items, facts=facts
        )
        return written_skills().answer(said, context)

    def say(self, *said: str) -> str:
        """Says each utterance in a turn of its own. Returns the last reply; "" if it is the language model's."""
        for one in said:
            self.now_s += 5
            answer = self.attempt(one)
            self.retract = self.effects.do(None if answer is None else effect_of(answer, self.code), self.now_s)
            self.heard = "A reply of the model." if answer is None else answer.text
        return "" if answer is None else answer.text

    def on(self, name: str = "shopping") -> list[str]:
        """Returns what is on a list."""
        return [one.text for one in self.effects.lists.items if one.list_name == name]


def effect_of(answer: SkillAnswer, code: str) -> SkillEffect | None:
    """Returns the effect of the turn, as `SkillQuery` makes it."""
    said = Remember(answer.question, answer.question_text, answer.text, answer.subjects, language=code)
    return joined_effect(answer.effect, said)
