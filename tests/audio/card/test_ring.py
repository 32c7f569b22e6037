"""The ring buffer, compared with a plain list."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audio.ring import Ring
from audio.units import Pcm, Samples


def ramp(start: int, n: int) -> Pcm:
    """Samples whose value is their position."""
    return (np.arange(start, start + n) % 30_000).astype(np.int16)


@given(
    capacity=st.integers(1, 50),
    origin=st.integers(0, 1000),
    sizes=st.lists(st.integers(0, 120), max_size=12),
    spans=st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), max_size=8),
)
def test_read_returns_written_samples(
    capacity: int, origin: int, sizes: list[int], spans: list[tuple[float, float]]
) -> None:
    ring = Ring(capacity)
    end = origin
    for size in sizes:
        ring.write(Samples(end), ramp(end, size))
        end += size
    if not sizes:
        assert ring.oldest == ring.end == 0
        return
    assert ring.end == end
    assert ring.oldest == max(origin, end - capacity)
    missed = 0
    for a, b in spans:
        low, high = sorted((origin + round(a * (end - origin)), origin + round(b * (end - origin))))
        begin = min(max(low, ring.oldest), high)
        missed += begin - low
        np.testing.assert_array_equal(ring.read(Samples(low), Samples(high)), ramp(begin, high - begin))
        assert ring.missed_samples == missed


def test_read_returns_copy() -> None:
    ring = Ring(4)
    mine = ramp(0, 4)
    ring.write(Samples(0), mine)
    mine[:] = -1
    copy = ring.read(Samples(0), Samples(4))
    ring.write(Samples(4), ramp(100, 4))
    np.testing.assert_array_equal(copy, [0, 1, 2, 3])


@pytest.mark.parametrize("start", [9, 11], ids=["overlap", "gap"])
def test_gap_or_overlap_is_refused(start: int) -> None:
    ring = Ring(100)
    ring.write(Samples(0), ramp(0, 10))
    with pytest.raises(ValueError, match="gap or overlap"):
        ring.write(Samples(start), ramp(start, 5))


@pytest.mark.parametrize(
    ("start", "end"), [(5, 11), (6, 5), (11, 11)], ids=["ends in the future", "reversed", "starts in the future"]
)
def test_future_and_reversed_spans_are_refused(start: int, end: int) -> None:
    ring = Ring(100)
    ring.write(Samples(0), ramp(0, 10))
    with pytest.raises(ValueError, match="holds 0 to 10"):
        ring.read(Samples(start), Samples(end))


def test_zero_capacity_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1 sample"):
        Ring(0)
