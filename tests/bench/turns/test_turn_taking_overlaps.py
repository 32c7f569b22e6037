"""Tests of the overlap panel: its rows, and which sounds it keeps."""

from dataclasses import replace

import numpy as np

from audio.units import MIC_RATE_HZ, Samples
from bench.turns.overlap_clips import Sound
from bench.turns.overlap_table import Outcome, table

SOUND = Sound("sentences", "one", "stops", np.zeros(MIC_RATE_HZ, np.int16), Samples(0), Samples(8000), "she")
COUGH = replace(SOUND, group="coughs", expected="continues")


def rows(*outcomes: Outcome) -> list[str]:
    return table(outcomes).splitlines()[2:]


def test_row_has_rates_and_times() -> None:
    [row] = rows(Outcome(SOUND, 40.0, 200.0), Outcome(SOUND, 60.0, 400.0), Outcome(SOUND, 60.0), Outcome(SOUND))
    assert row == ("| sentences, 4 | 60 / 60 | 0.50 (0.15–0.85) | 300 / 390 | 0.25 (0.05–0.70) | – | – |")


def test_false_stop_counts_as_resumed_within_a_second_of_the_end() -> None:
    soon, late = Outcome(COUGH, 40.0, 200.0, 900.0), Outcome(COUGH, 40.0, 200.0, 1100.0)
    answered = Outcome(COUGH, 40.0, 200.0, answered=True)
    [row] = rows(soon, late, answered, Outcome(COUGH))
    assert row.split(" | ")[5:] == ["1 of 2", "1 |"]


def test_several_groups_have_a_sum() -> None:
    assert [
        row.split(",")[0] for row in rows(Outcome(SOUND), Outcome(replace(SOUND, group="words")), Outcome(COUGH))
    ] == ["| sentences", "| words", "| **all to be obeyed**", "| coughs"]
