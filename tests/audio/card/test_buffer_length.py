"""Tests when the loudspeaker's buffer is lengthened, in virtual time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audio.card.buffer_length import MAX_BUFFER_MS, STEADY_S, UNDERRUN_COUNT, UNDERRUN_WINDOW_S, BufferLength


def opened(holds_ms: float = 40.0) -> BufferLength:
    buffer = BufferLength()
    buffer.opened(holds_ms, 0.0)
    return buffer


def after_underruns(buffer: BufferLength, *at_s: float) -> BufferLength:
    for count, now_s in enumerate(at_s, 1):
        buffer.note_underflows(count, now_s)
    return buffer


@pytest.mark.parametrize(
    ("at_s", "too_short"),
    [
        pytest.param((5.0, 6.0, 7.0), True, id="three underruns"),
        pytest.param((5.0, 6.0), False, id="two underruns"),
        pytest.param((5.0, 5.0 + UNDERRUN_WINDOW_S / 2, 5.0 + UNDERRUN_WINDOW_S), True, id="three within the window"),
        pytest.param((5.0, 10.0, 5.1 + UNDERRUN_WINDOW_S), False, id="three beyond the window"),
        pytest.param((5.0, 14.0, 16.0, 18.0), True, id="three later ones"),  # the last three are close together
        pytest.param(
            (0.1, 0.2, STEADY_S / 2, 5.0, 6.0), False, id="underruns at the start"
        ),  # within the first second after opening
    ],
)
def test_repeated_underruns_make_buffer_too_short(at_s: tuple[float, ...], too_short: bool) -> None:
    assert after_underruns(opened(), *at_s).too_short is too_short


def test_too_short_persists_until_buffer_is_lengthened() -> None:
    buffer = after_underruns(opened(), 5.0, 6.0, 7.0)
    buffer.note_underflows(3, 100.0)
    assert buffer.too_short
    assert buffer.lengthen() == 80.0
    assert not buffer.too_short
    buffer.opened(80.0, 101.0)
    assert not buffer.too_short
    assert after_underruns(buffer, 105.0, 106.0, 107.0).too_short  # the count starts again for another stream


def test_buffer_that_does_not_grow_is_not_lengthened_again() -> None:
    buffer = after_underruns(opened(), 5.0, 6.0, 7.0)
    buffer.lengthen()
    buffer.opened(46.0, 8.0)
    assert not after_underruns(buffer, 15.0, 16.0, 17.0).too_short


@pytest.mark.parametrize("holds_ms", [0.0, MAX_BUFFER_MS], ids=["unknown", "maximal"])
def test_unknown_or_maximal_buffer_is_not_lengthened(holds_ms: float) -> None:
    assert not after_underruns(opened(holds_ms), 5.0, 6.0, 7.0).too_short


def test_buffer_still_grows_after_device_was_lost_and_recovered() -> None:
    buffer = opened()
    buffer.opened(40.0, 20.0)
    assert after_underruns(buffer, 25.0, 26.0, 27.0).too_short


@given(st.floats(1.0, 2 * MAX_BUFFER_MS), st.lists(st.floats(0.0, 30.0), max_size=60))
def test_buffer_never_shrinks_or_exceeds_maximum(holds_ms: float, pauses_s: list[float]) -> None:
    buffer, now_s, count = BufferLength(), 0.0, 0
    buffer.opened(holds_ms, now_s)
    first_ms = holds_ms
    for pause_s in pauses_s:
        now_s, count = now_s + pause_s, count + 1
        buffer.note_underflows(count, now_s)
        if buffer.too_short:
            asked_ms = buffer.lengthen()
            assert holds_ms < asked_ms <= MAX_BUFFER_MS
            holds_ms, count = asked_ms, 0
            buffer.opened(holds_ms, now_s)
            assert not buffer.too_short
    assert first_ms <= holds_ms <= max(first_ms, MAX_BUFFER_MS)
    assert len(pauses_s) >= UNDERRUN_COUNT or holds_ms == first_ms
