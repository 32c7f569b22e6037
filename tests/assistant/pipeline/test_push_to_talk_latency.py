"""With a push-to-talk key, the response latency counts from its release: nobody waits for a reply before."""

import pytest
from support.conversations.simulation import Simulation
from support.conversations.trace_samples import TIME

from assistant.turns.push_to_talk import PushToTalk
from assistant.turns.settings import EndsTurn, TurnSettings

KEY = TurnSettings(ends_turn=EndsTurn.PUSH_TO_TALK, speculate_after_ms=40)
CLIENT = TurnSettings(ends_turn=EndsTurn.CLIENT, speculate_after_ms=40, has_client=True)


@pytest.mark.parametrize("released_ms", [1900, 2500, 3400], ids=["soon", "late", "very late"])
def test_latency_counts_from_the_release_of_the_key(released_ms: int) -> None:
    simulation = Simulation([TIME], turns=KEY, push_to_talk=PushToTalk())
    simulation.at(500, lambda: simulation.session.set_push_to_talk(pressed=True))
    simulation.at(released_ms, lambda: simulation.session.set_push_to_talk(pressed=False))
    (record,) = simulation.run().records
    assert record.outcome == "answered"
    assert record.speech_end_ms == pytest.approx(released_ms, abs=20)
    assert record.response_latency_ms is not None
    assert record.response_latency_ms < 400


def test_word_that_continues_after_the_release_belongs_to_the_latency() -> None:
    simulation = Simulation([TIME], turns=KEY, push_to_talk=PushToTalk())
    simulation.at(500, lambda: simulation.session.set_push_to_talk(pressed=True))
    simulation.at(1700, lambda: simulation.session.set_push_to_talk(pressed=False))
    (record,) = simulation.run().records
    assert record.speech_end_ms == pytest.approx(1700, abs=20)


def test_latency_counts_from_the_end_of_input_of_a_client() -> None:
    simulation = Simulation([TIME], turns=CLIENT)

    def end() -> None:
        simulation.session.end_user_turn()
        simulation.session.request_reply()

    simulation.at(2600, end)
    (record,) = simulation.run().records
    assert record.speech_end_ms == pytest.approx(2600, abs=20)
    assert record.response_latency_ms is not None
    assert record.response_latency_ms < 400
