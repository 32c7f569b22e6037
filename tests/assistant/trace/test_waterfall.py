"""Tests of the latency bar, verdicts and percentiles."""

import re
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.trace.latency import STAGES, Stage, StageShare
from assistant.trace.record import TurnRecord
from assistant.trace.waterfall import CELL_MS, SHORT_NAMES, nearest_rank, segments, shown, verdict


class _Stages:
    """Returns the part of a record that the bar needs."""

    def __init__(self, ms: dict[Stage, float]) -> None:
        self.stages = {stage: StageShare(value, value) for stage, value in ms.items()}


def record(ms: dict[Stage, float]) -> TurnRecord:
    return cast("TurnRecord", _Stages({stage: ms.get(stage, 0.0) for stage in STAGES}))


def test_bar_contains_only_stages_that_took_time() -> None:
    bar = segments(record({"endpoint_wait": 400.0, "stt": 12.5, "playout": 25.0}), 60)
    assert [(part.stage, part.cells) for part in bar] == [("endpoint_wait", 32), ("stt", 1), ("playout", 2)]


def test_turn_without_latency_has_no_bar() -> None:
    assert segments(cast("TurnRecord", _Stages({})), 60) == []


@given(st.lists(st.floats(0, 3000), min_size=len(STAGES), max_size=len(STAGES)), st.integers(10, 80))
def test_cells_sum_to_the_latency_and_fit_the_width(values: list[float], width: int) -> None:
    bar = segments(record(dict(zip(STAGES, values, strict=True))), width)
    total_ms = sum(values)
    assert sum(part.cells for part in bar) == pytest.approx(min(width, total_ms / CELL_MS), abs=0.51)
    assert all(part.cells >= 0 for part in bar)


@pytest.mark.parametrize(
    ("ms", "said"),
    [(199.9, "faster"), (200.0, "within"), (500.0, "within"), (500.1, "slower"), (3000.0, "slower")],
    ids=["below the band", "lower bound", "upper bound", "above the band", "far above the band"],
)
def test_verdict_compares_latency_with_the_target_band(ms: float, said: str) -> None:
    assert verdict(ms).startswith(said)


def test_stages_have_one_name_for_people() -> None:
    root = Path(__file__).parents[3]
    page = (root / "web" / "static" / "texts" / "en.js").read_text(encoding="utf-8")
    assert dict(re.findall(r'"stage\.(\w+)": "(\w+)"', page)) == SHORT_NAMES
    guide = (root / "docs" / "traces.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\w+) \| `(\w+)` \|", guide, re.MULTILINE)
    assert {field: name for name, field in rows} == SHORT_NAMES
    glossary = (root / "docs" / "glossary.md").read_text(encoding="utf-8")
    assert ", ".join(SHORT_NAMES.values()) in glossary


def test_spans_of_a_stage_have_its_name() -> None:
    names = ("llm_first_token 2", "tts", "look", "tool weather (1)")
    assert [shown(name) for name in names] == ["model 2", "voice", "look", "tool weather (1)"]


def test_nearest_rank_returns_a_measured_value() -> None:
    assert nearest_rank([3.0, 1.0, 2.0], 50) == 2.0
    assert nearest_rank([3.0, 1.0, 2.0], 95) == 3.0
    assert nearest_rank([5.0], 95) == 5.0
    assert nearest_rank([float(value) for value in range(1, 101)], 95) == 95.0
    with pytest.raises(ValueError, match="no values"):
        nearest_rank([], 50)
