"""Tests of sessions in which the words so far decide whether speech interrupts a reply."""

from dataclasses import replace

import pytest
from support.conversations.simulation import Simulation, SimulationResult, Utterance

from assistant.turns.settings import OverlapThresholds, TurnSettings
from audio.stt import FirstWord

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


FIRST_WORDS = replace(TURNS, overlap=OverlapThresholds(words_after_ms=200.0, first_word_until_ms=400.0))


def run_with_first_word(beginning: str) -> SimulationResult:
    """Speaks 0.5 s over a long reply. The recognizer is certain of the beginning of the first word, and slow."""
    utterances = [TIME, Utterance(3400, 3900, "turn the light off")]
    simulation = Simulation(utterances, length_ms=12_000, replies=(STORY, "Fine."), turns=FIRST_WORDS)
    simulation.recognizer.first_word = FirstWord(((beginning, 1.0),))
    simulation.recognizer.delay_ms = 300.0
    return simulation.run()


def decisions(result: SimulationResult) -> list[tuple[str, str]]:
    named = {"overlap", "interrupt"}
    return [(event.name, event.detail) for event in result.records[0].events if event.name in named]


def test_first_word_interrupts_and_trace_says_so() -> None:
    assert decisions(run_with_first_word("turn")) == [("overlap", "interrupts: first word"), ("interrupt", "voice")]


@pytest.mark.parametrize("beginning", ["Y", "Yeah", "ten", "("])
def test_first_word_of_a_backchannel_or_echo_waits_for_all_words(beginning: str) -> None:
    assert decisions(run_with_first_word(beginning)) == [("overlap", "interrupts: words"), ("interrupt", "voice")]


def test_trace_says_why_speech_does_not_interrupt() -> None:
    assert decisions(run("Yeah.")) == [("overlap", "ignored: backchannel")]
