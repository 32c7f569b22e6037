"""Tests the facts of turns, from real and simulated traces."""

import json
from collections.abc import Callable

import pytest
from support.conversations.simulation import Simulation, Utterance
from support.conversations.trace_samples import TIME, demo_records, simulated_records
from support.engines.scripted_tools import CallingModel, ScriptedTools, calls, looked_up

from assistant.pipeline.engines import SessionSettings
from assistant.pipeline.session import Session
from assistant.replay.turns import conversation_of
from assistant.tools import ToolSettings
from assistant.trace.latency import STAGES
from assistant.trace_report.facts import Try, attempt_of, facts_of, try_of
from assistant.trace_report.waterfall import waterfall
from assistant.turns.settings import TurnSettings

SLOW = TurnSettings(hangover_ms=400, speculate_after_ms=100)


def test_facts_of_demo_turns() -> None:
    facts = [facts_of(record) for record in demo_records()]
    assert [each.outcome for each in facts] == ["answered"] * 3 + ["interrupted", "answered"]
    assert [each.interrupted for each in facts] == [False] * 3 + [True, False]
    assert not any(each.cut_ins or each.failed for each in facts)
    assert [(each.dropped, each.confirmed) for each in facts] == [(1, 0)] + [(0, 1)] * 4
    assert [each.wasted_answers for each in facts] == [1, 0, 0, 0, 0]
    assert {each.answered_by for each in facts} == {"skills"}
    assert [round(each.ahead_ms or 0) for each in facts] == [100, 179, 120, 120, 135]
    assert facts[4].words_ms == pytest.approx(39.8, abs=0.1)
    # 164 ms of work. 102 ms of it, the second transcript request, added to the latency.
    assert facts[4].hidden_ms == pytest.approx(62, abs=1)


def test_stages_are_in_order_and_sum_to_latency() -> None:
    for record in demo_records():
        facts = facts_of(record)
        assert len(facts.stages_ms) == len(STAGES)
        assert sum(facts.stages_ms) == pytest.approx(facts.latency_ms, abs=0.01)


def test_speech_before_commit_wastes_attempt() -> None:
    (record,) = simulated_records(
        [Utterance(1000, 1800, "a small coffee"), Utterance(2040, 2600, "with milk")], turns=SLOW
    )
    facts = facts_of(record)
    assert (facts.dropped, facts.confirmed, facts.cut_ins, facts.given, facts.committed) == (1, 0, 0, 1, True)
    assert facts.ahead_ms == pytest.approx(300, abs=25)


def test_retracted_reply_is_cut_in() -> None:
    (record,) = simulated_records(
        [Utterance(1000, 1800, "a small coffee"), Utterance(2300, 2900, "with milk")], length_ms=9000
    )
    facts = facts_of(record)
    assert "retracted" in [event["name"] for event in record["events"]]
    assert (facts.cut_ins, facts.given, facts.committed) == (1, 2, True)
    assert facts.dropped >= 1


def test_retracted_replies_count_as_in_replay() -> None:
    utterances = [
        Utterance(1000, 1800, "a small coffee"),
        Utterance(2300, 2900, "with milk"),
        Utterance(3400, 4000, "and sugar"),
    ]
    (record,) = simulated_records(utterances, length_ms=9000)
    assert [event["name"] for event in record["events"]].count("retracted") == 2
    facts = facts_of(record)
    assert (facts.cut_ins, facts.given) == (2, 3)
    ((found,),) = conversation_of([record]).replayed([lambda settings: settings])
    assert (facts.cut_ins, facts.given) == (found.was.cut_ins, found.was.given)


def test_answer_requested_after_end_of_turn_has_negative_lead() -> None:
    record = demo_records()[4]
    (asked,) = [event for event in record["events"] if (event["name"], event["detail"]) == ("attempt", "1")]
    (silence,) = [span for span in record["spans"] if (span["name"], span["attempt"]) == ("silence", 1)]
    # The stages are accounted this way: the silence ends with the EOT decision; what follows counts as transcript time.
    asked["at_ms"], silence["end_ms"] = record["endpoint_ms"] + 547.0, record["endpoint_ms"]
    assert facts_of(record).ahead_ms == pytest.approx(-547)
    assert "speculation  lost: the answer was begun 547 ms after the end of turn" in waterfall(record)


@pytest.mark.parametrize(("onset_ms", "cut_ins"), [(2720, 1), (3600, 0)], ids=["immediately", "later"])
def test_only_immediate_interruption_is_cut_in(onset_ms: int, cut_ins: int) -> None:
    utterances = [TIME, Utterance(onset_ms, onset_ms + 800, "what is the date")]
    replies = ("It is ten o'clock and all is well in town, and in the country, too.", "It is Monday.")
    first = simulated_records(utterances, length_ms=9000, replies=replies)[0]
    facts = facts_of(first)
    names = [event["name"] for event in first["events"] if event["name"] in {"interrupt", "retracted"}]
    assert names == (["retracted"] if cut_ins else ["interrupt"])
    assert (facts.interrupted, facts.cut_ins) == (not cut_ins, cut_ins)
    assert (facts.overlap_ms is not None) == bool(cut_ins)


CUTS: dict[str, Callable[[Session], object]] = {"client": Session.cancel_reply, "requested": Session.request_reply}


@pytest.mark.parametrize("why", ["client", "requested", "the end"])
def test_reply_stopped_without_speech_is_not_interrupted(why: str) -> None:
    reply = "It is ten o'clock and all is well in town, and in the country, too."
    simulation = Simulation([TIME], replies=(reply, reply), length_ms=8000 if why in CUTS else 3000)
    simulation.at(2750, lambda: CUTS.get(why, Session.announce_end)(simulation.session))
    record = json.loads(simulation.run().records[0].to_json())
    assert record["outcome"] == "interrupted"
    assert [event["detail"] for event in record["events"] if event["name"] == "interrupt"] == ([why] * (why in CUTS))
    facts = facts_of(record)
    assert (facts.interrupted, facts.cut_ins) == (False, 0)


def test_turn_without_words_has_no_answer_facts() -> None:
    (record,) = simulated_records([Utterance(1000, 1500, "")])
    facts = facts_of(record)
    assert facts.latency_ms is None
    assert facts.stages_ms == ()
    assert not facts.committed


def test_failed_turn_counts_as_failed() -> None:
    (record,) = simulated_records([TIME], replies=("",))
    assert facts_of(record).failed


def test_attempt_number_is_parsed_from_detail() -> None:
    assert attempt_of("attempt 12: other words") == 12
    assert attempt_of("attempt 3") == 3
    with pytest.raises(ValueError, match="something"):
        attempt_of("something")


def asked(detail: str) -> dict[str, object]:
    return {"name": "tried", "at_ms": 2500.0, "detail": detail}


def test_unused_endpoint_requests_are_not_work_of_answer() -> None:
    record = demo_records()[1]
    plain = facts_of(record)
    name = "asked far: away (1)"
    span = {"name": name, "stage": "llm_first_token", "attempt": 1, "start_ms": 7624.0, "end_ms": 7924.0}
    record["spans"].append(span | {"after": ["stt"], "dropped": False})
    record["events"] += [
        asked("attempt 1: far: away: first, overtaken after 300 ms, 12 tokens in vain (0.000120)"),
        asked("attempt 1: near: hedge, answered after 80 ms"),
    ]
    facts = facts_of(record)
    assert facts.tries == (Try("far: away", "first", "overtaken", 300, 12), Try("near", "hedge", "answered", 80, 0))
    assert facts._replace(tries=()) == plain


def test_parts_of_documents_are_not_counted_twice() -> None:
    record = demo_records()[1]
    plain = facts_of(record)
    span = {"name": "part 3", "stage": "llm_first_token", "attempt": 1, "start_ms": 7624.0, "end_ms": 7924.0}
    record["spans"].append(span | {"after": ["stt"], "dropped": False})
    assert facts_of(record) == plain


def test_hidden_work_of_turn_with_tool_call() -> None:
    turns = TurnSettings(hangover_ms=400, speculate_after_ms=100)
    simulation = Simulation(
        [TIME], 9000, settings=SessionSettings(tools=ToolSettings()), turns=turns, tools=ScriptedTools(takes_s=0.4)
    )
    simulation.model = CallingModel((), rule=lambda messages, _options: "Sunny." if looked_up(messages) else calls())
    record = json.loads(simulation.run().records[0].to_json())
    took_ms = {span["name"]: span["end_ms"] - span["start_ms"] for span in record["spans"] if not span["dropped"]}
    # The transcript and the first LLM request follow the EOT decision; the tool and the second request follow nothing.
    model_ms = took_ms["llm_network"] + took_ms["llm_first_token"]
    assert model_ms > 50
    facts = facts_of(record)
    assert facts.hidden_ms == pytest.approx(took_ms["stt"] + model_ms)
    assert facts.model_ms == pytest.approx(model_ms)


def test_event_of_unknown_form_is_ignored() -> None:
    assert try_of("attempt 2: near: failover, given up after 1500 ms") == Try("near", "failover", "given up", 1500, 0)
    assert try_of("attempt 2: something else") is None
    record = demo_records()[0]
    record["events"].append(asked("worded anew"))
    assert facts_of(record).tries == ()
