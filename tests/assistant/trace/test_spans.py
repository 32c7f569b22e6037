"""Tests of the conversion of records to OpenTelemetry spans."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from support.conversations.simulation import Simulation, Utterance
from support.conversations.trace_samples import TIME

from assistant.trace.context import answer_span_id
from assistant.trace.record import TracedAnswer, TurnRecord
from assistant.trace.spans import EndpointDetails, OtelSpan, spans_of
from assistant.turns.settings import TurnSettings
from llm.errors import LlmUnreachable

ENDPOINTS = {"scripted model": EndpointDetails("openai", "m7")}
SLOW = TurnSettings(hangover_ms=400, speculate_after_ms=100)


def record_of(utterances: list[Utterance], **more: object) -> TurnRecord:
    return Simulation(utterances, **more).run().records[0]  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def record() -> TurnRecord:
    """A turn whose first attempt was dropped because the user went on."""
    utterances = [Utterance(1000, 1800, "a small coffee"), Utterance(2040, 2600, "with milk")]
    return record_of(utterances, turns=SLOW)


def one(spans: list[OtelSpan], name: str) -> OtelSpan:
    (found,) = [span for span in spans if span.name == name and not span.attributes.get("repartee.dropped")]
    return found


def test_root_span_has_the_numbers_of_the_json(record: TurnRecord) -> None:
    root = spans_of(record, ENDPOINTS)[0]
    read = json.loads(record.to_json())
    assert (root.name, root.parent_id, root.trace_id) == ("turn", "", read["trace_id"])
    for name in (
        "response_latency_ms",
        "speech_end_ms",
        "endpoint_ms",
        "playout_start_ms",
        "turn",
        "outcome",
        "attempts",
    ):
        assert root.attributes[f"repartee.{name}"] == read[name]
    for stage, share in read["stages"].items():
        assert root.attributes[f"repartee.stage.{stage}.ms"] == share["ms"]
        assert root.attributes[f"repartee.stage.{stage}.slack_ms"] == share["slack_ms"]
    total_ms = sum(
        value
        for name, value in root.attributes.items()
        if name.startswith("repartee.stage.") and name.endswith(".ms") and isinstance(value, float)
    )
    assert total_ms == pytest.approx(read["response_latency_ms"], abs=0.01)
    assert root.failure is None


def test_every_span_and_event_has_its_times(record: TurnRecord) -> None:
    read = json.loads(record.to_json())
    root, *others = spans_of(record, ENDPOINTS)
    parts = others[len(read["answers"]) :]
    zero_ns = round(datetime.fromisoformat(read["started_at"]).timestamp() * 1e9)
    assert len(parts) == len(read["spans"]) > 10
    for part, traced in zip(parts, read["spans"], strict=True):
        assert part.name == traced["name"]
        assert (part.start_ns - zero_ns) / 1e6 == pytest.approx(traced["start_ms"], abs=1e-6)
        assert (part.end_ns - zero_ns) / 1e6 == pytest.approx(traced["end_ms"], abs=1e-6)
        told = (
            part.attributes["repartee.stage"],
            part.attributes["repartee.attempt"],
            part.attributes["repartee.dropped"],
        )
        assert told == (traced["stage"], traced["attempt"], traced["dropped"])
    assert len(root.events) == len(read["events"])
    for moment, event in zip(root.events, read["events"], strict=True):
        assert (moment.name, moment.attributes.get("repartee.detail", "")) == (event["name"], event["detail"])
        assert (moment.at_ns - zero_ns) / 1e6 == pytest.approx(event["at_ms"], abs=1e-6)
    assert all(root.start_ns <= part.start_ns <= part.end_ns <= root.end_ns for part in others)


def test_ids_are_unique_and_parents_exist(record: TurnRecord) -> None:
    spans = spans_of(record, ENDPOINTS)
    ids = {span.span_id for span in spans}
    assert len(ids) == len(spans)
    assert all(span.parent_id in ids for span in spans[1:])
    assert {span.trace_id for span in spans} == {record.trace_id}


def test_llm_answer_follows_the_generative_ai_conventions(record: TurnRecord) -> None:
    spans = spans_of(record, ENDPOINTS)
    dropped, heard = [span for span in spans if span.name == "chat m7"]
    assert (dropped.attributes["repartee.dropped"], heard.attributes["repartee.dropped"]) == (True, False)
    assert heard.kind == "client"
    answer = record.answers[-1]
    assert heard.span_id == answer_span_id(record.trace_id, answer.attempt)
    assert heard.attributes["gen_ai.operation.name"] == "chat"
    assert heard.attributes["gen_ai.provider.name"] == "openai"
    assert heard.attributes["gen_ai.request.model"] == "m7"
    assert heard.attributes["gen_ai.conversation.id"] == record.conversation
    assert heard.attributes["gen_ai.response.finish_reasons"] == ("stop",)
    assert heard.attributes["gen_ai.response.time_to_first_chunk"] == pytest.approx(0.1)
    assert one(spans, "llm_first_token").parent_id == heard.span_id
    assert one(spans, "stt").parent_id == spans[0].span_id


def test_token_counts_are_exported_if_known(record: TurnRecord) -> None:
    answer = replace(record.answers[-1], prompt_tokens=120, completion_tokens=9, cached_tokens=100)
    counted, silent = (
        next(span for span in spans_of(replace(record, answers=(each,)), ENDPOINTS) if span.name == "chat m7")
        for each in (answer, record.answers[-1])
    )
    usage = {name: value for name, value in counted.attributes.items() if name.startswith("gen_ai.usage.")}
    assert usage == {
        "gen_ai.usage.input_tokens": 120,
        "gen_ai.usage.output_tokens": 9,
        "gen_ai.usage.cache_read.input_tokens": 100,
    }
    assert not any(name.startswith("gen_ai.usage.") for name in silent.attributes)


def test_tool_call_follows_the_generative_ai_conventions(record: TurnRecord) -> None:
    call = replace(record.spans[0], name="tool weather (2)", stage="queue")
    span = spans_of(replace(record, spans=(call,)), ENDPOINTS)[-1]
    assert span.name == "execute_tool weather"
    assert span.attributes["gen_ai.operation.name"] == "execute_tool"
    assert span.attributes["gen_ai.tool.name"] == "weather"


def test_skill_answer_has_no_model_attributes(record: TurnRecord) -> None:
    answers = [span for span in spans_of(record, {}) if span.name == "answer scripted model"]
    assert len(answers) == 2
    assert all(span.kind == "internal" for span in answers)
    assert not any(name.startswith("gen_ai.") for span in answers for name in span.attributes)


def test_spans_contain_no_words() -> None:
    record = record_of([TIME], keep_words=True)
    assert record.words is not None
    assert record.words.user == "what time is it"
    assert "what time" not in repr(spans_of(record, ENDPOINTS))
    assert "ten o'clock" not in repr(spans_of(record, ENDPOINTS))


def test_failed_turn_has_an_error_status() -> None:
    error = LlmUnreachable("near", "llm endpoint 'near' is away: start it", spoken="It is away.", retryable=True)
    root = spans_of(record_of([TIME], replies=(error,)), ENDPOINTS)[0]
    assert root.failure == "llm endpoint 'near' is away: start it"
    silent = spans_of(record_of([Utterance(1000, 1500, "")]), ENDPOINTS)[0]
    assert silent.failure is None
    assert silent.attributes["repartee.no_latency_reason"] == "no words"


def test_unfinished_answer_ends_at_its_last_known_time(record: TurnRecord) -> None:
    answer: TracedAnswer = replace(record.answers[-1], ended_ms=None)
    span = next(each for each in spans_of(replace(record, answers=(answer,)), ENDPOINTS) if each.name == "chat m7")
    assert answer.first_token_ms is not None
    assert span.end_ns - span.start_ns == pytest.approx((answer.first_token_ms - answer.asked_ms) * 1e6, abs=2000)


def test_time_zero_is_the_wall_clock_of_the_first_sample() -> None:
    simulation = Simulation([TIME])

    def later() -> None:
        recorder = simulation.session.recorder
        # 5 s before the first sample, because the microphone may start later than the conversation.
        recorder.started_s = simulation.session.microphone.clock.to_loop_s(0) - 5.0  # type: ignore[arg-type]
        recorder.started_at = datetime(2026, 1, 1, 12, 0, tzinfo=UTC).isoformat()

    simulation.at(500, later)
    (record,) = simulation.run().records
    assert record.started_at == "2026-01-01T12:00:05.000+00:00"
