"""Figures of the speaker bench: shares with intervals over speakers, and equal error rates."""

import numpy as np
import pytest

from bench.speakers.figures import equal_error_rate, reduction, share
from bench.speakers.recordings import at_db, joined, mixed, rms


def test_share_has_an_interval_over_speakers() -> None:
    found = share({"a": [1, 0], "b": [0, 0], "c": [2, 1]})
    assert (found.value, found.count) == (0.5, 6)
    assert found.low <= found.value <= found.high


def test_share_without_an_event_has_an_upper_bound() -> None:
    assert share({"a": [0] * 100}).high == pytest.approx(1 - 0.05**0.01)


def test_reduction_is_relative_to_before() -> None:
    found = reduction({"a": [2], "b": [2]}, {"a": [1], "b": [0]})
    assert found.value == pytest.approx(0.75)
    assert found.low <= 0.75 <= found.high


def test_equal_error_rate_of_separate_and_equal_similarities() -> None:
    assert equal_error_rate([0.8, 0.9], [0.1, 0.2])[0] == 0
    rate, _ = equal_error_rate(list(np.linspace(0, 1, 101)), list(np.linspace(0, 1, 101)))
    assert rate == pytest.approx(0.5, abs=0.02)


def test_sounds_are_mixed_and_joined() -> None:
    sound = np.full(1600, 1000, np.int16)
    assert rms(at_db(sound, -20)) == pytest.approx(100, abs=1)
    assert list(mixed(sound[:2], sound[:2], 1)) == [1000, 2000, 1000]
    assert len(joined([sound, sound], 0.1)) == 2 * (1600 + 1600)
