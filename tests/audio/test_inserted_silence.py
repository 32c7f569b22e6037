"""Inserted silence and how much of it precedes a position."""

from hypothesis import given
from hypothesis import strategies as st

from audio.microphone import MAX_RUNS, InsertedSilence
from audio.units import Samples


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 50)), max_size=30))
def test_silence_before_position_matches_inserted_runs(runs: list[tuple[int, int]]) -> None:
    """`runs`: of sound, then of silence."""
    filled, line = InsertedSilence(), [False]
    for sound, silence in runs:
        line += [False] * sound
        filled.add_silence(Samples(len(line)), silence)
        line += [True] * silence
    assert [filled.before(Samples(at)) for at in range(len(line) + 1)] == [
        sum(line[:at]) for at in range(len(line) + 1)
    ]


def test_adjacent_silence_is_one_run() -> None:
    filled = InsertedSilence()
    for frame in range(2 * MAX_RUNS):
        filled.add_silence(Samples(100 + frame * 320), 320)
    assert filled.before(Samples(100)) == 0
    assert filled.before(Samples(740)) == 640


def test_old_runs_are_kept_as_a_sum() -> None:
    filled = InsertedSilence()
    for run in range(3 * MAX_RUNS):
        filled.add_silence(Samples(run * 1000), 10)
    assert filled.before(Samples(3 * MAX_RUNS * 1000)) == 3 * MAX_RUNS * 10
    assert filled.before(Samples(0)) == 2 * MAX_RUNS * 10
