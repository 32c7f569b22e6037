"""Tests of a conversation in which a reply is prepared before the silence."""

from dataclasses import replace

import pytest
from support.conversations.simulation import Simulation, SimulationResult, Utterance

from assistant.turns.settings import RecheckThresholds, TurnSettings
from audio.stt import Punctuation, Transcript
from audio.units import Samples

SETTINGS = TurnSettings(hangover_ms=200, speculate_after_ms=40, rechecks=RecheckThresholds(settle_ms=160))
WORDS = "what time is it"


def conversation(draft: str | None, *, sentence_end: float = 0.95, settings: TurnSettings = SETTINGS) -> Simulation:
    """Returns a turn that ends at 2000 ms, with a draft 40 ms before."""
    simulation = Simulation([Utterance(1000, 2000, WORDS)], turns=settings)
    simulation.recognizer.delay_ms = 100

    def report() -> None:
        stream = simulation.recognizer.streams[-1]
        until = Samples(stream.segment + stream.fed_samples)
        expected = Punctuation(sentence_end, 0.02)
        stream.on_interim(Transcript(stream.segment, until, draft or "", punctuation=expected, is_draft=True))

    if draft is not None:
        simulation.at(1960, report)
    return simulation


def latency_ms(result: SimulationResult) -> float:
    [record] = result.records
    assert record.response_latency_ms is not None
    assert sum(share.ms for share in record.stages.values()) == pytest.approx(record.response_latency_ms)
    return record.response_latency_ms


def test_foreseen_end_makes_reply_sooner_and_its_stages_add_up() -> None:
    foreseen = conversation(WORDS)
    result, before = foreseen.run(), conversation(None).run()
    assert latency_ms(result) < latency_ms(before) - 50
    assert [event.name for event in result.records[0].events][:2] == ["foreseen", "attempt"]
    assert len(foreseen.model.asked) == 1
    assert result.records[0].words is not None
    assert result.records[0].words.user == WORDS


def test_wrong_draft_is_asked_again_and_never_spoken() -> None:
    wrong = conversation("what time")
    result = wrong.run()
    assert len(wrong.model.asked) == 2
    assert result.records[0].words is not None
    assert result.records[0].words.user == WORDS
    assert latency_ms(result) == pytest.approx(latency_ms(conversation(None).run()), abs=20)


def test_draft_that_sounds_incomplete_asks_nothing() -> None:
    incomplete = conversation(WORDS, sentence_end=0.4)
    result = incomplete.run()
    assert len(incomplete.model.asked) == 1
    assert "foreseen" not in {event.name for event in result.records[0].events}


def test_attempts_that_are_switched_off_are_not_foreseen() -> None:
    off = conversation(WORDS, settings=replace(SETTINGS, speculate_after_ms=None))
    assert "foreseen" not in {event.name for event in off.run().records[0].events}
