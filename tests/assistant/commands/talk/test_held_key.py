"""Two presses, or a held key: recording lasts from the first press to the second, or to the release."""

from hypothesis import given
from hypothesis import strategies as st

from assistant.commands.talk.keys import RELEASED_S, REPEATS_WITHIN_S, SINGLE_PRESS_S, HeldKey


def talking(presses_s: list[float], until_s: float) -> list[tuple[float, bool]]:
    """Returns when recording changed, polled every 10 ms as the conversation does."""
    key, at = HeldKey(), 0.0
    changes: list[tuple[float, bool]] = []
    while at <= until_s:
        while presses_s and presses_s[0] <= at:
            key.press(presses_s.pop(0), talking=key.talking)
        key.wait(at)
        if key.talking != (changes[-1][1] if changes else False):
            changes.append((round(at, 2), key.talking))
        at = round(at + 0.01, 2)
    return changes


def test_two_presses_start_and_end_recording() -> None:
    assert talking([1.0, 3.0], 5.0) == [(1.0, True), (3.0, False)]


def test_short_word_between_two_presses_is_recorded() -> None:
    assert talking([1.0, 1.5], 5.0) == [(1.0, True), (1.5 + SINGLE_PRESS_S, False)]


def test_held_key_records_until_released() -> None:
    repeated = [1.0] + [1.5 + 0.03 * at for at in range(60)]
    (began, _), (ended, on) = talking(repeated, 5.0)
    assert began == 1.0
    assert not on
    assert 1.5 + 0.03 * 59 + RELEASED_S <= ended <= 1.5 + 0.03 * 59 + RELEASED_S + 0.02


def test_ending_press_may_be_held_briefly() -> None:
    assert talking([1.0, 3.0, 3.03, 3.06], 5.0) == [(1.0, True), (3.0, False)]


def test_recording_ended_by_the_conversation_restarts() -> None:
    key = HeldKey()
    key.press(1.0, talking=False)
    key.press(5.0, talking=False)  # the conversation ended recording meanwhile
    assert key.talking


@given(st.lists(st.floats(0.01, 3.0), max_size=30))
def test_recording_can_always_be_ended(gaps_s: list[float]) -> None:
    key, at_s = HeldKey(), 0.0
    for gap_s in gaps_s:
        at_s += gap_s
        key.wait(at_s)
        key.press(at_s, talking=key.talking)
    key.wait(at_s + 1.0)
    assert key.due_s() is None
    on = key.talking
    key.press(at_s + REPEATS_WITHIN_S + 0.5, talking=on)
    assert key.talking is not on
