"""The figures of a report, computed from turns, by one process or several."""

import random
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.conversations.simulation import Utterance
from support.conversations.trace_samples import TIME, demo_records, simulated_records, slower, write_trace
from support.examples import examples

from assistant.trace.latency import STAGES
from assistant.trace_report import counting as trace_counting
from assistant.trace_report.counting import Slowest, count_turns, split_files
from assistant.trace_report.facts import facts_of
from assistant.trace_report.figures import MIN_IN_TAIL, Figures, Tally
from assistant.trace_report.reading import Record, TraceError
from assistant.trace_report.statistics import share


def tally(records: list[Record]) -> Tally:
    counted = Tally()
    for record in records:
        counted.add_turn(record["conversation"], facts_of(record))
    return counted


def figures(records: list[Record]) -> Figures:
    return tally(records).figures()


def test_band_includes_both_bounds() -> None:
    first = demo_records()[0]
    latencies = (100.0, 199.9, 200.0, 500.0, 500.1, 900.0)
    found = figures([first | {"response_latency_ms": ms} for ms in latencies])
    shares = (found.sooner, found.within, found.later)
    assert [each.count for each in shares if each is not None] == [2, 2, 2]


def test_failed_turns_have_no_latency() -> None:
    records = demo_records()
    failed = [records[0] | {"error": "the endpoint failed"}, records[1] | {"outcome": "stuck"}]
    found = figures([*records, *failed])
    assert found.turns == 7
    assert found.failures is not None
    assert found.failures.count == 2
    assert found.within is not None
    assert (found.within.count, found.within.of) == (5, 5)
    assert found.latency == figures(records).latency
    assert found.endpoints["skills"].work == figures(records).endpoints["skills"].work
    assert found.speculation.ahead == figures(records).speculation.ahead
    assert found.apologies is not None
    assert (found.apologies.count, figures(records).apologies) == (2, None)


def test_refused_turns_are_counted_as_answered_and_on_their_own() -> None:
    first, *more = demo_records()
    tokens = dict.fromkeys(("prompt_tokens", "completion_tokens", "cached_tokens", "first_token_ms"))
    more_of_it = {"attempt": 1, "by": "skills", "pieces": 1, "sound_ms": 0.0, "voice_ms": 0.0, "dropped": False}
    first["answers"] = [{"reason": "refused"} | tokens | more_of_it]
    found = figures([first, *more])
    assert found.refusals is not None
    assert (found.refusals.count, found.refusals.of) == (1, 5)
    assert found.latency == figures([first, *more]).latency
    assert figures([first | {"error": "x"}]).refusals == share(0, 1)


def test_tail_names_stage_that_is_slow_only_in_tail() -> None:
    """The wait for the end of turn is most of every turn; the voice is slow in a few."""
    usual, slow = demo_records()[:1] * 95, slower(demo_records()[:1], "tts", 300) * 5
    records = usual + slow
    random.Random(1).shuffle(records)
    found = figures(records)
    assert found.tail is not None
    assert (found.tail.turns, found.tail.stage, found.tail.leads) == (5, "tts", 5)
    assert found.tail.excess_ms == pytest.approx(300, abs=0.1)
    assert found.tail.from_ms == pytest.approx(579.955, abs=0.01)
    assert found.latency is not None
    assert max(STAGES, key=lambda stage: found.stages[stage].percentiles[50].value) == "endpoint_wait"


def test_too_few_turns_have_no_tail() -> None:
    records = demo_records()[:1]
    assert figures(records * (MIN_IN_TAIL - 1)).tail is None
    assert figures(records * MIN_IN_TAIL).tail is not None


def test_turns_without_latency_do_not_change_percentiles() -> None:
    silent = simulated_records([Utterance(1000, 1500, "")])
    found = figures(demo_records() + silent)
    assert found.turns == 6
    assert found.conversations == 2
    assert found.latency is not None
    assert found.latency.count == 5
    alone = figures(silent)
    assert alone.latency is None
    assert alone.within is None
    assert alone.stages == {}


def test_answer_sources_are_compared_by_name() -> None:
    near, far = demo_records(), slower(demo_records(), "llm_first_token", 200)
    for record in far:
        record["engines"]["answered_by"] = "far"
        for span in record["spans"]:
            if span["name"] == "llm_first_token":
                span["end_ms"] += 200
    far[0]["error"] = "it broke off"
    found = figures(near * 2 + far).endpoints
    assert list(found) == ["skills", "far"]
    assert (found["far"].turns, found["far"].failed) == (5, 1)
    works = [found[name].work for name in ("skills", "far")]
    assert [round(work.percentiles[50].value) for work in works if work is not None] == [0, 200]


def test_requested_endpoints_are_compared() -> None:
    records = demo_records()
    for record, details in zip(
        records,
        [
            ["near: first, answered after 80 ms"],
            ["near: first, answered after 120 ms"],
            ["near: first, overtaken after 400 ms, 9 tokens in vain", "far: hedge, answered after 200 ms"],
            ["near: first, failed after 5 ms", "far: failover, answered after 210 ms"],
            [],
        ],
        strict=True,
    ):
        record["events"] += [{"name": "tried", "at_ms": 0.0, "detail": f"attempt 1: {detail}"} for detail in details]
    first, second = tally(records[:2]), tally(records[2:])
    first.merge(second)
    found = first.figures().asked
    assert list(found) == ["near", "far"]
    assert found["near"].outcomes == {"answered": 2, "overtaken": 1, "failed": 1}
    assert found["far"].reasons == {"hedge": 1, "failover": 1}
    assert (found["near"].tokens_in_vain, found["far"].tokens_in_vain) == (9, 0)
    assert found["far"].first_token is not None
    assert found["far"].first_token.most == 210


def test_cut_ins_are_counted_among_begun_replies() -> None:
    taken_back = simulated_records(
        [Utterance(1000, 1800, "a small coffee"), Utterance(2300, 2900, "with milk")], length_ms=9000
    )
    found = figures(taken_back + simulated_records([TIME]) + simulated_records([Utterance(1000, 1500, "")]))
    assert found.cut_ins is not None
    assert (found.cut_ins.count, found.cut_ins.of) == (1, 3)


conversations = st.lists(st.lists(st.sampled_from(range(5)), min_size=1, max_size=4), min_size=1, max_size=6)


@settings(max_examples=examples(10))  # three reports per example
@given(conversations, st.integers(0, 6))
def test_merged_tallies_equal_one_tally(drawn: list[list[int]], cut: int) -> None:
    recorded = demo_records()
    named = [[recorded[index] | {"conversation": str(n)} for index in turns] for n, turns in enumerate(drawn)]
    first, second = (tally(list(chain.from_iterable(part))) for part in (named[:cut], named[cut:]))
    first.merge(second)
    whole = tally(list(chain.from_iterable(named)))
    assert first.figures() == whole.figures()
    assert first.stages().tolist() == whole.stages().tolist()


def test_memory_per_turn_is_small_and_constant() -> None:
    """No record is kept: only arrays with four bytes per value grow."""
    counted = tally(demo_records() * 200)
    kept = sum(
        getattr(owner, name).buffer_info()[1] * getattr(owner, name).itemsize
        for owner in (counted, *counted._endpoints.values(), *counted._recognizers.values(), *counted._voices.values())
        for name in ("latency", "work", "_stages", "_ahead", "_hidden")
        if hasattr(owner, name)
    )
    assert kept / 1000 <= 76


@given(st.lists(st.integers(0, 100), max_size=30), st.integers(1, 150))
def test_portions_hold_every_file_once_in_order_within_limit(sizes: list[int], most: int) -> None:
    files = [Path(str(number)) for number in range(len(sizes))]
    runs = split_files(files, sizes, most)
    assert [path for run in runs for path in run] == files
    assert all(len(run) == 1 or sum(sizes[int(path.name)] for path in run) <= most for run in runs if run)


def folder_of_conversations(folder: Path) -> list[Path]:
    paths = []
    for number in range(6):
        records = [record | {"conversation": str(number)} for record in slower(demo_records(), "tts", number * 10)]
        paths.append(write_trace(folder / f"{number}.jsonl", records))
    return paths


@pytest.mark.slow
def test_several_processes_give_same_figures_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = folder_of_conversations(tmp_path)
    with files[1].open("a") as file:
        file.write('{"schema":1,"conv')
    warned: tuple[list[str], list[str]] = ([], [])
    alone, slowest_alone = count_turns(files, 10, warned[0].append)
    monkeypatch.setattr(trace_counting, "PORTION_BYTES", 50_000)
    together, slowest_together = count_turns(files, 10, warned[1].append)
    assert together.figures() == alone.figures()
    assert together.stages().tolist() == alone.stages().tolist()
    assert slowest_together == slowest_alone
    assert warned[0] == warned[1] != []


@pytest.mark.slow
def test_error_in_subprocess_reaches_caller_unchanged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = folder_of_conversations(tmp_path)
    files[3].write_text("hello\n")
    monkeypatch.setattr(trace_counting, "PORTION_BYTES", 50_000)
    with pytest.raises(TraceError, match=r"3\.jsonl, line 1 is not JSON"):
        count_turns(files, 0, pytest.fail)


@given(st.lists(st.integers(0, 5), max_size=40), st.integers(0, 12), st.integers(0, 40))
def test_slowest_are_kept_and_first_of_equal_ones_wins(latencies: list[int], most: int, cut: int) -> None:
    turns = [({"turn": number}, float(ms)) for number, ms in enumerate(latencies)]
    first, second = Slowest(most), Slowest(most)
    for number, (record, ms) in enumerate(turns):
        (first if number < cut else second).add_record(record, ms)
    first.merge(second)
    wanted = sorted(turns, key=lambda turn: (-turn[1], turn[0]["turn"]))[:most]
    assert first.records() == [record for record, _ in wanted]
