"""Speed and volume of the voice: applied when the turn is committed and undone with its turn."""

from datetime import UTC, datetime

import numpy as np
import pytest
from support.conversations.skill_talk import Talk

from assistant.skills.answers import QUIETEST_DB, ChangeSpeed, ChangeVolume
from assistant.skills.effects import FASTEST, SLOWEST, SkillEffects
from audio.level import amplified


def skill_effects() -> SkillEffects:
    return SkillEffects(lambda _messages: None, lambda: datetime(2026, 11, 20, tzinfo=UTC))


def test_six_steps_double_the_speed_and_are_reversible() -> None:
    effects = skill_effects()
    assert effects.speed == 1.0
    for _ in range(3):
        effects.do(ChangeSpeed(2), 0.0)
    assert effects.speed == pytest.approx(2.0)
    effects.do(ChangeSpeed(-4), 0.0)
    effects.do(ChangeSpeed(-1), 0.0)
    effects.do(ChangeSpeed(-1), 0.0)
    assert effects.speed == pytest.approx(1.0)


@pytest.mark.parametrize(("steps", "limit"), [(4, FASTEST), (-4, SLOWEST)], ids=["fastest", "slowest"])
def test_speed_is_limited(steps: int, limit: float) -> None:
    effects = skill_effects()
    for _ in range(9):
        effects.do(ChangeSpeed(steps), 0.0)
    assert effects.speed == limit
    effects.do(ChangeSpeed(-1 if steps > 0 else 1), 0.0)
    assert SLOWEST < effects.speed < FASTEST


def test_muted_voice_is_silent_until_it_is_made_louder() -> None:
    talk, loud = Talk("en"), np.full(480, 32_767, np.int16)
    for said in ("mute", "quieter"):
        talk.say(said)
        assert not amplified(loud, talk.effects.gain_db).any()
    talk.say("louder")
    assert talk.effects.gain_db == QUIETEST_DB + 6.0
    talk.say("mute", "unmute")
    assert talk.effects.gain_db == pytest.approx(-1.0)


def test_retracted_turn_restores_speed_but_not_volume() -> None:
    effects = skill_effects()
    effects.do(ChangeSpeed(1), 0.0)
    before = effects.speed
    effects.do(ChangeVolume(3.0), 0.0)
    undo = effects.do(ChangeSpeed(-4), 0.0)
    assert effects.speed < before
    undo()
    assert (effects.speed, effects.gain_db) == (before, 3.0)
