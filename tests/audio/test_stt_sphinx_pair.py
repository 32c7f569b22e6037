"""Tests which recognized commands are accepted, without a decoder."""

import pytest

from audio.stt import sphinx_pair
from audio.stt.hypothesis import Hypothesis
from audio.stt.sphinx_pair import choose_result

SHAPES = frozenset({"what time is it", "stop"})
TIME = Hypothesis(("what", "time", "is", "it"), tuple("W AH T T AY M IH Z IH T".split()), 100)
STOP = Hypothesis(("stop",), tuple("S T AA P".split()), 40)
DRAWN_OUT = Hypothesis(STOP.words, STOP.phones, 400)
STORY = Hypothesis(("what", "time", "stop"), (*TIME.phones[:6], *STOP.phones), 100)
"""The command decoder makes commands of everything, but not always whole ones."""
NEAR = Hypothesis(("what", "time", "is", "at"), (*TIME.phones[:-2], "AE", "T"), 100)
FAR = Hypothesis(("once", "upon", "a", "time"), tuple("W AH N S AH P AA N AH T AY M".split()), 120)
SILENCE = Hypothesis()


@pytest.mark.parametrize(
    ("command", "general", "expected"),
    [
        (TIME, TIME, True),
        (TIME, NEAR, True),
        (TIME, FAR, False),
        (TIME, SILENCE, False),
        (STOP, STOP, True),
        (STOP, FAR, False),
        (DRAWN_OUT, DRAWN_OUT, False),
        (STORY, STORY, False),
        (SILENCE, SILENCE, False),
        (SILENCE, FAR, False),
    ],
    ids=[
        "same words",
        "similar phones",
        "different phones",
        "no general words",
        "short command",
        "short command with different phones",
        "drawn-out word",
        "unknown sentence",
        "silence",
        "no command",
    ],
)
def test_command_is_accepted_if_known_and_confirmed_by_phones(
    command: Hypothesis, general: Hypothesis, expected: bool
) -> None:
    assert choose_result(command, general, SHAPES) is expected


@pytest.mark.parametrize("command", [STORY, DRAWN_OUT, SILENCE], ids=["unknown sentence", "drawn-out word", "silence"])
def test_phones_are_not_compared_for_unacceptable_commands(
    command: Hypothesis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For minutes of speech, the comparison takes longer than the interval of interim transcripts."""
    monkeypatch.setattr(sphinx_pair, "phone_distance", lambda *_: pytest.fail("compared"))
    assert not choose_result(command, FAR, SHAPES)
