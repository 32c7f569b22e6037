"""When a command is believed, without a decoder."""

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
)
def test_a_command_is_believed_that_is_known_and_sounds_like_it(
    command: Hypothesis, general: Hypothesis, expected: bool
) -> None:
    assert choose_result(command, general, SHAPES) is expected


@pytest.mark.parametrize("command", [STORY, DRAWN_OUT, SILENCE])
def test_phones_are_compared_only_where_that_may_decide(command: Hypothesis, monkeypatch: pytest.MonkeyPatch) -> None:
    """In minutes of speech it takes longer than there is until the next partial."""
    monkeypatch.setattr(sphinx_pair, "phone_distance", lambda *_: pytest.fail("compared"))
    assert not choose_result(command, FAR, SHAPES)
