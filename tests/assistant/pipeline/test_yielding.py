"""Sound and turns that a conversation leaves to a satellite in another room."""

from assistant.pipeline.unasked.yielding import YIELDED_S, Yielding
from audio.units import Samples, samples_of_s

NOW = Samples(16_000)


def yielding(awaited: int | None = None) -> Yielding:
    one = Yielding()
    one.begin()
    one.cleared(NOW, awaited)
    return one


def test_turn_that_is_cleared_is_answered_elsewhere() -> None:
    one = Yielding()
    assert not one.takes(3)
    one.begin()
    assert one.takes(3)


def test_awaited_turn_is_answered_elsewhere_and_no_other() -> None:
    one = yielding(awaited=3)
    assert not one.takes(4)
    assert one.takes(3)
    assert not one.takes(3)


def test_word_that_is_heard_again_keeps_what_follows() -> None:
    one = yielding(awaited=3)
    one.hear_again()
    assert not one.takes(3)
    assert not one.is_deaf(NOW)


def test_sound_under_way_is_not_heard() -> None:
    one = yielding()
    assert one.is_deaf(NOW)
    assert not one.is_deaf(Samples(NOW + samples_of_s(YIELDED_S) + 1))
