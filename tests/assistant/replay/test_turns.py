"""Tests turns that are replayed with other settings: what users would have noticed."""

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest
from support.conversations.simulation import LoudnessVad, Simulation, Utterance
from support.conversations.trace_samples import TIME, demo_records, simulated_records

from assistant.pipeline.session import Session
from assistant.replay.course import Change
from assistant.replay.turns import Replayed, conversation_of
from assistant.trace_report.facts import facts_of
from assistant.trace_report.reading import Record
from assistant.turns.settings import TurnSettings

TURNS = TurnSettings(hangover_ms=400, speculate_after_ms=40)
SHORT = "It is ten o'clock and all is well."
LONG = "It is ten o'clock and all is well in town, and in the country, too."
MILK = [Utterance(1000, 1800, "a small coffee"), Utterance(2140, 2700, "with milk")]
"""A pause of 340 ms inside a turn."""


def settings(**more: object) -> Change:
    return lambda recorded: replace(recorded, **more)  # type: ignore[arg-type]


def replayed(records: Sequence[Record], change: Change) -> list[Replayed]:
    conversation = conversation_of(records)
    assert not conversation.disagree
    return [found for (found,) in conversation.replayed([change])]


@pytest.fixture(scope="module")
def plain() -> list[Record]:
    return simulated_records(
        [TIME, Utterance(6000, 6800, "what is the date")], length_ms=9500, turns=TURNS, replies=(LONG, "Monday.")
    )


def test_replay_with_recorded_settings_changes_nothing(plain: list[Record]) -> None:
    for found, record in zip(replayed(plain, settings()), plain, strict=True):
        assert found.same
        assert found.was == found.now
        assert not found.assumed
        assert found.now.latency_ms == record["response_latency_ms"]


@pytest.mark.parametrize("hangover_ms", [100, 200, 300, 800], ids="{} ms".format)
def test_other_wait_moves_end_of_turn_and_answer(plain: list[Record], hangover_ms: int) -> None:
    again = simulated_records(
        [TIME, Utterance(6000, 6800, "what is the date")],
        length_ms=9500,
        turns=replace(TURNS, hangover_ms=float(hangover_ms)),
        replies=(LONG, "Monday."),
    )
    for found, held in zip(replayed(plain, settings(hangover_ms=float(hangover_ms))), again, strict=True):
        assert found.now.wait_ms == hangover_ms
        assert "answer" in found.assumed
        # The replayed latency equals that of a real conversation with this setting, within a frame.
        assert found.now.latency_ms == pytest.approx(held["response_latency_ms"], abs=20)


@pytest.mark.parametrize(
    "possible_onsets", [(2100, 2140), (2100, 2180), (2200, 2320)], ids=["short onset", "longer onset", "late onset"]
)
def test_answer_is_held_while_user_may_resume(possible_onsets: tuple[int, int]) -> None:
    recorded, held = (
        simulated_records(
            [TIME],
            turns=replace(TURNS, hangover_ms=wait_ms),
            vad=LoudnessVad(possible_onsets=[possible_onsets]),
            replies=(SHORT,),
        )
        for wait_ms in (400.0, 300.0)
    )
    ((found,), (record,)) = replayed(recorded, settings(hangover_ms=300.0)), held
    waited = any(span["name"] == "look" for span in record["spans"])
    assert waited == (possible_onsets[0] == 2100), "the answer leaves at 2130"
    assert found.now.latency_ms == pytest.approx(record["response_latency_ms"], abs=20)


def test_without_attempts_work_adds_to_latency(plain: list[Record]) -> None:
    again = simulated_records(
        [TIME, Utterance(6000, 6800, "what is the date")],
        length_ms=9500,
        turns=replace(TURNS, speculate_after_ms=None),
        replies=(LONG, "Monday."),
    )
    for found, held in zip(replayed(plain, settings(speculate_after_ms=None)), again, strict=True):
        assert found.now.latency_ms == pytest.approx(held["response_latency_ms"], abs=25)


def test_shorter_wait_cuts_in_where_user_continued() -> None:
    records = simulated_records(MILK, turns=TURNS)
    (found,) = replayed(records, settings(hangover_ms=200.0))
    assert (found.was.cut_ins, found.now.cut_ins) == (0, 1)
    assert found.now.answered
    assert found.now.latency_ms is not None
    held = simulated_records(MILK, turns=replace(TURNS, hangover_ms=200.0))
    assert sum(facts_of(record).cut_ins for record in held) == 1


def test_longer_wait_saves_cut_in() -> None:
    records = simulated_records(MILK, turns=replace(TURNS, hangover_ms=200.0), length_ms=9000)
    found = replayed(records, settings(hangover_ms=600.0))
    assert [sum(turn.was.cut_ins for turn in found), sum(turn.now.cut_ins for turn in found)] == [1, 0]
    assert sum(facts_of(record).cut_ins for record in records) == 1


def test_speech_within_longer_wait_continues_the_turn() -> None:
    utterances = [TIME, Utterance(2700, 3500, "and the date")]
    records = simulated_records(utterances, turns=TURNS, replies=("Ten.", "Monday."), length_ms=9000)
    first = replayed(records, settings(hangover_ms=1500.0))[0]
    assert first.was.answered
    assert not first.now.answered


def test_time_to_interrupt_is_measured() -> None:
    records = simulated_records(
        [TIME, Utterance(3600, 5000, "stop")], turns=TURNS, replies=(LONG, "Yes."), length_ms=9000
    )
    sooner, later = (replayed(records, settings(interrupt_after_ms=float(ms)))[0].now for ms in (100, 600))
    assert (sooner.interruptions, later.interruptions) == (1, 1)
    assert sooner.yielded_ms == pytest.approx(100, abs=20)
    assert later.yielded_ms == pytest.approx(600, abs=20)


def test_reply_ended_by_client_is_not_interrupted() -> None:
    simulation = Simulation([TIME], turns=TURNS, replies=(LONG,))
    simulation.at(2750, lambda: Session.cancel_reply(simulation.session))
    record = json.loads(simulation.run().records[0].to_json())
    assert record["outcome"] == "interrupted"
    found = replayed([record], settings(speculate_after_ms=200))[0]
    assert (found.was.interruptions, found.was.cut_ins) == (0, 0)
    assert (found.now.interruptions, found.now.cut_ins) == (0, 0)


def test_cough_interrupts_only_with_short_interrupt_time() -> None:
    records = simulated_records([TIME, Utterance(3600, 3760, "")], turns=TURNS, replies=(LONG,), length_ms=9000)
    assert replayed(records, settings())[0].now.interruptions == 0
    impatient = replayed(records, settings(interrupt_after_ms=60.0))[0]
    assert impatient.now.interruptions == 1
    assert impatient.now.given == 1, "a cough is not answered"
    assert impatient.now.latency_ms == records[0]["response_latency_ms"]


@pytest.mark.parametrize("into_reply", [True, False], ids=["during the reply", "before the reply"])
def test_unconfirmed_onset_with_words_interrupts_in_replay(*, into_reply: bool) -> None:
    utterances = [TIME, Utterance(3600, 3760, "stop")] if into_reply else [Utterance(1000, 1200, "stop")]
    sure = 1.0 if into_reply else 0.6
    simulation = Simulation(
        utterances, turns=TURNS, replies=(LONG, "Yes."), length_ms=9000, vad=LoudnessVad(probability=sure)
    )
    records = [json.loads(record.to_json()) for record in simulation.run().records]
    assert [record["outcome"] for record in records] == ["interrupted", "answered"][-len(utterances) :]
    for found, record in zip(replayed(records, settings()), records, strict=True):
        assert found.was == found.now
        assert found.now.answered
        assert found.now.latency_ms == record["response_latency_ms"]


def test_onset_without_recorded_request_has_no_words() -> None:
    records = simulated_records(
        [TIME, Utterance(3600, 4200, "stop")], turns=TURNS, replies=(LONG, "Yes."), length_ms=9000
    )
    assert records[0]["outcome"] == "interrupted"
    later = replayed(records, settings(interrupt_after_ms=1000.0))[0]
    assert later.now.interruptions == 0


def test_last_turn_is_decided_after_end_of_trace() -> None:
    records = simulated_records([TIME], turns=TURNS, replies=("Ten.",))
    (found,) = replayed(records, settings(hangover_ms=3000.0))
    assert found.now.wait_ms == 3000
    assert "silence after the end" in found.assumed


def test_turns_without_recorded_events_cannot_be_replayed(plain: list[Record]) -> None:
    assert conversation_of(demo_records()).left_out == 5
    assert conversation_of(plain[1:]).left_out == 1
    assert conversation_of([plain[0], plain[0]]).left_out == 1


def test_record_that_differs_from_replay_is_named(plain: list[Record]) -> None:
    altered: list[Record] = json.loads(json.dumps(plain))
    altered[1]["events"] = [event for event in altered[1]["events"] if event["name"] != "endpoint"]
    assert conversation_of(altered).disagree == (2,)


def test_turn_ending_together_with_another_hides_no_turn(plain: list[Record]) -> None:
    together = plain[0] | {
        "turn": 99,
        "events": [],
        "turn_events": [],
        "turn_events_before": len(plain[0]["turn_events"]),
    }
    assert conversation_of([plain[0], together, plain[1]]).left_out == 0
