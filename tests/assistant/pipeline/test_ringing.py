"""Tests of timers that ring until somebody answers."""

from itertools import pairwise

import numpy as np
import pytest
from support.conversations.simulation import Simulation, SimulationResult, Utterance

from assistant.pipeline.unasked.ringing import RING_LASTS_S
from assistant.skills.answers import SetTimer
from assistant.turns.settings import OverlapThresholds, TurnSettings
from audio.echo.half_duplex import AUDIBLE_PEAK
from audio.tones import PHRASE_S, RISE_S, ring_phrase
from audio.units import REPLY_RATE_HZ

PASTA = SetTimer(2.0, "pasta", "Your pasta timer is done.")
EGGS = SetTimer(6.0, "eggs", "Your egg timer is done.")
WORDS_DECIDE = TurnSettings(overlap=OverlapThresholds(words_after_ms=200))


def ringing(*utterances: Utterance, length_ms: int = 12_000, turns: TurnSettings | None = None) -> Simulation:
    """The pasta timer rings from 2 s on."""
    more = {} if turns is None else {"turns": turns}
    simulation = Simulation(list(utterances), length_ms=length_ms, replies=("Fine.",), **more)  # type: ignore[arg-type]
    simulation.at(0, lambda: simulation.skill_effects.timers.apply(PASTA, 1000.0))
    return simulation


def silent_from(result: SimulationResult) -> float:
    """Returns the time in s after which nothing is heard."""
    return max(at_ms for at_ms, pcm in result.sound if np.abs(pcm).max(initial=0) > 30) / 1000


def test_ring_goes_on_until_the_conversation_ends() -> None:
    result = ringing().run()
    assert result.chunks == [PASTA.announcement]
    assert silent_from(result) > 9


@pytest.mark.parametrize("words", ["okay", "what time is it"])
@pytest.mark.parametrize("turns", [None, WORDS_DECIDE], ids=["speech", "words"])
def test_any_words_stop_the_ring(words: str, turns: TurnSettings | None) -> None:
    simulation = ringing(Utterance(6000, 6900, words), turns=turns)
    result = simulation.run()
    assert result.chunks == [PASTA.announcement, "Fine."]
    assert not simulation.skill_effects.timers.any_set
    assert simulation.model.asked[-1][-1].content == words


@pytest.mark.parametrize("words", ["", "hm", "I'll be right there"])
def test_sound_that_is_no_answer_does_not_stop_the_ring(words: str) -> None:
    simulation = ringing(Utterance(6000, 6900, words), turns=WORDS_DECIDE)
    result = simulation.run()
    assert simulation.model.asked == []
    assert silent_from(result) > 9


def test_speech_into_the_first_tone_stops_the_ring() -> None:
    simulation = ringing(Utterance(2500, 3200, "stop"))
    result = simulation.run()
    assert result.chunks == ["Fine."]
    assert not simulation.skill_effects.timers.any_set


def test_ring_is_ducked_while_the_user_speaks() -> None:
    result = ringing(Utterance(6000, 6900, "stop")).run()
    assert "duck" in [event.name for record in result.records for event in record.events]


def test_ring_waits_until_the_turn_and_its_reply_are_over() -> None:
    result = ringing(Utterance(1000, 3000, "tell me something")).run()
    assert result.chunks == ["Fine.", PASTA.announcement]


def test_second_timer_joins_the_ring() -> None:
    simulation = ringing(length_ms=14_000)
    simulation.at(0, lambda: simulation.skill_effects.timers.apply(EGGS, 1000.0))
    result = simulation.run()
    assert result.chunks == [PASTA.announcement, EGGS.announcement]
    assert len(result.records) == 1


def test_key_stops_the_ring() -> None:
    simulation = ringing()

    def press() -> None:
        simulation.session.cancel_reply()

    simulation.at(6000, press)
    result = simulation.run()
    assert silent_from(result) < 6.2
    assert not simulation.skill_effects.timers.any_set


def test_ring_that_another_client_stops_ends_here() -> None:
    simulation = ringing()
    simulation.at(6000, lambda: simulation.skill_effects.end_rings([1], 1006.0, answered=True))
    assert silent_from(simulation.run()) < 6.2


def test_unanswered_ring_ends_and_is_told_when_the_user_speaks() -> None:
    after_ms = round(RING_LASTS_S + 10) * 1000
    simulation = ringing(Utterance(after_ms, after_ms + 900, "hello there"), length_ms=after_ms + 9000)
    result = simulation.run()
    assert result.chunks == [PASTA.announcement, "Fine.", PASTA.announcement]
    assert not simulation.skill_effects.timers.any_set


def test_ring_is_soft_at_first_and_becomes_louder() -> None:
    peaks = [int(np.abs(ring_phrase(rung_s)).max()) for rung_s in np.arange(0, RISE_S + 1, 5)]
    assert all(after > before for before, after in pairwise(peaks))
    assert peaks[0] < 2000 < 10_000 < peaks[-1] < 14_000
    assert len(ring_phrase(0.0)) == PHRASE_S * REPLY_RATE_HZ
    assert int(ring_phrase(RISE_S)[-1]) == 0


def test_ring_pauses_so_that_a_microphone_hears_the_user() -> None:
    result = ringing(length_ms=20_000).run()
    loud_ms = [at_ms for at_ms, pcm in result.sound if np.abs(pcm).max(initial=0) > AUDIBLE_PEAK and at_ms > 2000]
    assert max(after - before for before, after in pairwise(loud_ms)) > 2000
