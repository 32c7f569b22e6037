"""Counting many files gives the same figures with any number of processes."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.conversations.trace_samples import demo_records, slower, write_trace

from assistant.trace_report import counting as trace_counting
from assistant.trace_report.counting import Slowest, count_turns, split_files
from assistant.trace_report.reading import TraceError


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
        (first if number < cut else second).add(record, ms)
    first.merge(second)
    wanted = sorted(turns, key=lambda turn: (-turn[1], turn[0]["turn"]))[:most]
    assert first.records() == [record for record, _ in wanted]
