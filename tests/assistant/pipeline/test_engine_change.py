"""Replies that are requested while the engines of a conversation change: their effects are those of who answers."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from support.conversations.simulation import ScriptedVoice, Simulation, Utterance

from assistant.pipeline.engines import LanguageParts, SessionSettings
from assistant.skills.answers import ChangeVolume, SkillEffect
from assistant.turns.settings import TurnSettings
from llm.chat import Message

LOUDER = Utterance(1000, 1800, "louder")
BEFORE_DB, CHOSEN_DB = -6.0, 3.0


def changes_volume(db: float) -> Callable[[Sequence[Message]], SkillEffect | None]:
    """Returns the effect of engines that understand "louder" as a change by this."""
    return lambda messages: ChangeVolume(db) if messages[-1].content == "louder" else None


def changing(close_ms: int, open_ms: int | None, utterance: Utterance = LOUDER) -> Simulation:
    """Returns a conversation whose engines change at `open_ms`, and which holds requests from `close_ms` until then."""
    simulation = Simulation([utterance], length_ms=9000, replies=("It is louder.",))
    simulation.model.first_token_ms = 3000
    effects = simulation.skill_effects
    effects.effect_of = changes_volume(BEFORE_DB)

    def close() -> None:
        simulation.session.engines.change.close()

    def use() -> None:
        effects.effect_of = changes_volume(CHOSEN_DB)
        simulation.session.engines.change.open()

    simulation.at(close_ms, close)
    if open_ms is not None:
        simulation.at(open_ms, use)
    return simulation


def test_effect_of_a_held_reply_is_that_of_the_chosen_engines() -> None:
    simulation = changing(close_ms=500, open_ms=4000)
    result = simulation.run()
    assert result.chunks == ["It is louder."]
    assert simulation.skill_effects.gain_db == CHOSEN_DB


def test_held_reply_changes_nothing_before_its_engines_are_known() -> None:
    simulation = changing(close_ms=500, open_ms=None)
    simulation.run()
    assert simulation.skill_effects.gain_db == 0.0


@pytest.mark.parametrize("open_ms", [2400, 8000], ids=["before its commit", "after its commit"])
def test_reply_before_the_change_keeps_the_effect_of_its_engines(open_ms: int) -> None:
    simulation = changing(close_ms=2350, open_ms=open_ms)
    simulation.turns = TurnSettings(hangover_ms=700, speculate_after_ms=100)
    (record,) = simulation.run().records
    attempt_ms, commit_ms = (event.at_ms for event in record.events if event.name in {"attempt", "commit"})
    assert attempt_ms < 2300 < 2450 < commit_ms
    assert simulation.skill_effects.gain_db == BEFORE_DB


def test_held_reply_is_spoken_by_the_chosen_voice() -> None:
    simulation, french = changing(close_ms=500, open_ms=4000, utterance=replace(LOUDER, language="fr")), ScriptedVoice()
    simulation.languages = {"fr": LanguageParts(french, str, SessionSettings(language="fr"))}
    simulation.at(3900, lambda: simulation.session.context.languages.reset())  # noqa: PLW0108 - no session yet
    simulation.run()
    assert (french.spoken, simulation.voice.spoken) == ([], ["It is louder."])


def test_held_reply_that_was_cancelled_has_no_effect() -> None:
    simulation = changing(close_ms=500, open_ms=4000)
    simulation.at(3500, lambda: simulation.session.cancel_reply())  # noqa: PLW0108 - there is no session yet
    simulation.run()
    assert simulation.skill_effects.gain_db == 0.0
