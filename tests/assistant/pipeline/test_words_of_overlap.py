"""Tests of sessions in which the words so far decide whether speech interrupts a reply."""

import pytest
from simulation import Simulation, SimulationResult, Utterance

from assistant.turns.settings import OverlapThresholds, TurnSettings

TIME = Utterance(1000, 1800, "what time is it")
STORY = "It is ten o'clock. And this goes on for quite a while longer."
TURNS = TurnSettings(speculate_after_ms=60.0, overlap=OverlapThresholds(words_after_ms=200.0))


def run(said: str, reply: str = STORY) -> SimulationResult:
    """Speaks 0.5 s over a long reply."""
    utterances = [TIME, Utterance(3400, 3900, said)]
    return Simulation(utterances, length_ms=12_000, replies=(reply, "Fine."), turns=TURNS).run()


def outcomes(result: SimulationResult) -> list[str]:
    return [record.outcome for record in result.records]


@pytest.mark.parametrize("said", ["Yeah.", "Mm hmm.", "I see.", "Mom, I'm on the phone."])
def test_reply_plays_on_if_the_words_do_not_interrupt(said: str) -> None:
    result = run(said)
    assert outcomes(result) == ["answered"]
    names = [event.name for event in result.records[0].events if event.name in {"duck", "unduck", "interrupt"}]
    assert names == ["duck", "unduck"]


@pytest.mark.parametrize("said", ["Stop.", "Okay stop.", "Call mom."])
def test_words_interrupt(said: str) -> None:
    assert outcomes(run(said)) == ["interrupted", "answered"]


def test_backchannel_after_a_question_interrupts() -> None:
    result = run("Yeah.", "Shall I go on? And this goes on for quite a while longer.")
    assert outcomes(result) == ["interrupted", "answered"]
