"""The hysteresis: two thresholds and two durations."""

from audio.units import Samples
from audio.vad.hysteresis import Hysteresis, HysteresisSettings

SETTINGS = HysteresisSettings(open_score=0.5, close_score=0.35, open_samples=Samples(960), hold_samples=Samples(1280))


def states(hysteresis: Hysteresis, scores: str) -> str:
    """One step of 320 samples per character: h above opening, m between the thresholds, . below; S = speaking."""
    states = ""
    for i, score in enumerate(scores):
        hysteresis.step({"h": 0.9, "m": 0.4, ".": 0.1}[score], Samples(i * 320), Samples((i + 1) * 320))
        states += "S" if hysteresis.speaking else "."
    return states


def test_opens_after_enough_consecutive_steps() -> None:
    assert states(Hysteresis(SETTINGS), "hh.hhh") == ".....S"


def test_scores_between_thresholds_keep_state() -> None:
    assert states(Hysteresis(SETTINGS), "mmmhhhmmmmmm") == ".....SSSSSSS"


def test_closes_after_hold() -> None:
    assert states(Hysteresis(SETTINGS), "hhh...h......") == "..SSSSSSSS..."


def test_both_ends_are_dated_to_steps() -> None:
    hysteresis = Hysteresis(SETTINGS)
    states(hysteresis, ".hhhm")
    assert (hysteresis.began, hysteresis.voiced_until) == (320, 5 * 320)
