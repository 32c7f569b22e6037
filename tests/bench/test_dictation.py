"""Tests of the dictation bench."""

from math import isnan

from assistant.end_of_turn.dictation import NOTHING, Dictation
from assistant.end_of_turn.estimator import BALANCED
from assistant.end_of_turn.questions import NO_QUESTION
from audio.end_of_turn.prosody_features import Prosody
from bench.dictation import Clip, Played, Rules, play, row_of
from bench.turn_end_moments import Moment

SILENT = dict.fromkeys(Prosody.__dataclass_fields__, 0.0)
INCOMPLETE = Dictation("phone number", "incomplete")


def moment(number: int, label: str, lasts_ms: float, text: str) -> Moment:
    return Moment(0, "s", "", "", label, False, number, 100, 100.0, lasts_ms, SILENT, 0.9, text, False)


def clip(text: str) -> Clip:
    return Clip("c", "s", "a phone number", [[moment(0, "pause", 900.0, text)], [moment(1, "end", 2000.0, text)]], True)


def always(dictation: Dictation) -> Rules:
    return lambda _text, _question, _earlier: dictation


def test_incomplete_value_is_not_talked_over() -> None:
    assert play(clip("555"), BALANCED, always(NOTHING), NO_QUESTION).cut
    waited = play(clip("555"), BALANCED, always(INCOMPLETE), NO_QUESTION)
    assert (waited.cut, waited.wait_ms) == (False, BALANCED.dictating_ms)


def test_pause_without_words_is_not_counted() -> None:
    assert not play(clip(" "), BALANCED, always(NOTHING), NO_QUESTION).cut


def test_row_has_share_interval_and_waits_of_the_others() -> None:
    nan = float("nan")
    played = [Played("a", True, 220.0), Played("b", False, 400.0), Played("b", False, 600.0), Played("c", False, nan)]
    assert row_of(played).startswith("25 % (0\u2013")
    assert row_of(played).endswith("; 500 / 590")
    assert isnan(played[-1].wait_ms)
