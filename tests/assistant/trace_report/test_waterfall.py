"""The drawing of a turn shows what its record states."""

import json
from collections import defaultdict
from itertools import pairwise

import pytest
from support.conversations.simulation import Simulation, Utterance
from support.conversations.trace_samples import RECORDINGS, TIME, demo_records, goldens, simulated_records

from assistant.pipeline.session import Session
from assistant.trace.latency import STAGES
from assistant.trace_report.reading import Record
from assistant.trace_report.waterfall import CELLS, line_of, paid_intervals, rows, waterfall


def assert_paid_is_what_the_record_says(record: Record) -> None:
    paid: dict[str, float] = defaultdict(float)
    stage_of = {span["name"]: span["stage"] for span in record["spans"] if not span["dropped"]}
    edges = []
    for name, (since_ms, until_ms) in paid_intervals(record).items():
        paid[stage_of[name]] += until_ms - since_ms
        edges.append((since_ms, until_ms))
    for stage in STAGES:
        assert paid[stage] == pytest.approx(record["stages"][stage]["ms"], abs=0.01), stage
    edges.sort()
    assert all(left[1] == pytest.approx(right[0], abs=0.001) for left, right in pairwise(edges))
    assert edges[0][0] == pytest.approx(record["speech_end_ms"], abs=0.001)
    assert edges[-1][1] == record["playout_start_ms"]


def test_paid_intervals_of_demo_equal_its_stages() -> None:
    for record in demo_records():
        assert_paid_is_what_the_record_says(record)


@pytest.mark.parametrize("resumes_ms", [1900, 2040, 2180, 2220, 2300, 2500], ids="resumes at {} ms".format)
def test_paid_intervals_of_simulated_turns_equal_their_stages(resumes_ms: int) -> None:
    utterances = [Utterance(1000, 1800, "a small coffee"), Utterance(resumes_ms, resumes_ms + 600, "with milk")]
    for record in simulated_records(utterances, length_ms=9000):
        if record["response_latency_ms"] is not None:
            assert_paid_is_what_the_record_says(record)


def test_every_span_has_one_line_that_fits() -> None:
    for record in demo_records() + simulated_records([TIME], length_ms=14_000, replies=(None,)):
        lines = waterfall(record)
        drawn = [line for line in lines if any(mark in line for mark in "█▒░▏") and "░ dropped" not in line]
        assert len(drawn) == len(record["spans"])
        assert max(map(len, drawn)) <= 42 + CELLS + 1 <= 100


def test_pieces_cover_span_without_gaps() -> None:
    for record in demo_records():
        for row in rows(record):
            assert row.pieces[0].start_ms == row.start_ms
            assert row.pieces[-1].end_ms == row.end_ms
            for left, right in pairwise(row.pieces):
                assert left.end_ms == right.start_ms


def test_stuck_turn_shows_reason() -> None:
    (record,) = simulated_records([TIME], length_ms=14_000, replies=(None,))
    text = "\n".join(waterfall(record))
    assert "no latency" in text
    assert "error        the reply by scripted model made no progress and was stopped" in text
    assert line_of(record).endswith("–     stuck")


def test_error_is_shown_once() -> None:
    record = demo_records()[0]
    again = [{"name": "error", "at_ms": 2500.0 + ms, "detail": what} for ms, what in enumerate(("it died", "late") * 2)]
    record |= {"events": [*record["events"], *again], "error": "late"}
    assert [line for line in waterfall(record) if line.startswith("error")] == [
        "error        it died",
        "error        late",
    ]


def test_nonzero_counters_are_shown() -> None:
    record = demo_records()[0]
    assert not any(record["counters"].values())
    assert not [line for line in waterfall(record) if line.startswith("counters")]
    record["counters"] |= {"underruns": 2, "inserted_frames": 1200}
    assert "counters     inserted_frames 1,200, underruns 2" in waterfall(record)


def test_turn_without_speech_counts_from_its_start() -> None:
    simulation = Simulation([], length_ms=4000)
    simulation.at(500, lambda: Session.request_reply(simulation.session))
    record = json.loads(simulation.run().records[0].to_json())
    text = "\n".join(waterfall(record))
    assert record["speech_end_ms"] is None
    assert "ms after its beginning" in text
    assert "end of speech" not in text
    assert "hidden" not in text


def test_span_just_before_end_of_speech_is_drawn_there() -> None:
    record = demo_records()[0]
    for span in record["spans"]:
        if span["name"] == "silence":
            span["start_ms"] = record["speech_end_ms"] - 0.3
    assert "-0" not in [word for line in waterfall(record) for word in line.split()]


def test_turn_without_work_is_shown() -> None:
    (record,) = simulated_records([TIME])
    empty = record | {"spans": [], "stages": {}, "response_latency_ms": None, "speech_end_ms": None, "events": []}
    assert "no work was started" in waterfall(empty)


def test_turn_is_shown_in_one_line() -> None:
    line = line_of(demo_records()[4])
    assert line == "20261121-143058-a25eaf86  turn   5  answered       285 ms  wait 170  stt 102  playout 13"


def test_unknown_stage_is_drawn() -> None:
    record = demo_records()[0]
    record["stages"]["thinking"] = {"ms": 0.0, "slack_ms": 0.0}
    assert waterfall(record)


@pytest.mark.parametrize("name", ["demo.show.txt", "demo.report.txt", "demo.compare.txt"])
def test_demo_turns_match_golden_output(name: str) -> None:
    assert goldens()[name] == (RECORDINGS / name).read_text(encoding="utf-8")
