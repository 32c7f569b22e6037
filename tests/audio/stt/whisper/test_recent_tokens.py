"""The tokens of the last transcripts, and their probabilities."""

import math

import numpy as np

from audio.stt import SegmentId, TokenProbability
from audio.stt.whisper.recent_tokens import RecentTokens, token_probabilities

FIRST, SECOND = SegmentId(100), SegmentId(200)


def tokens(*texts: str) -> tuple[TokenProbability, ...]:
    return tuple(TokenProbability(text, -0.1) for text in texts)


def test_nothing_is_kept_unless_it_is_wanted() -> None:
    recent = RecentTokens()
    recent.add_transcript(FIRST, tokens(" yes"))
    assert recent.of("yes") is None


def test_transcript_is_found_by_its_words() -> None:
    recent = RecentTokens(enabled=True)
    recent.add_transcript(FIRST, tokens(" It", " is", " noon."))
    recent.add_transcript(SECOND, tokens(" yes"))
    assert recent.of("It is noon.") == tokens(" It", " is", " noon.")
    assert recent.of("It is late.") is None
    for _ in range(4):
        recent.add_transcript(SECOND, tokens(" yes"))
    assert recent.of("It is noon.") is None, "only the last few are kept"


def test_settled_beginning_belongs_to_its_segment_only() -> None:
    recent = RecentTokens(enabled=True)
    recent.settle(FIRST, tokens(" one"))
    recent.settle(FIRST, tokens(" two"))
    recent.add_transcript(FIRST, tokens(" three"))
    recent.add_transcript(SECOND, tokens(" four"))
    assert recent.of("one two three") == tokens(" one", " two", " three")
    assert recent.of("four") == tokens(" four")


def test_probabilities_are_those_of_the_softmax() -> None:
    rows = [np.array([1.0, 2.0, 3.0], np.float32), np.array([0.0, 0.0, 0.0], np.float32)]
    first, second = token_probabilities([2, 0], rows, str)
    assert first.text == "2"
    assert math.isclose(first.log_probability, math.log(math.e**3 / sum(math.e**n for n in (1, 2, 3))), rel_tol=1e-5)
    assert math.isclose(second.log_probability, math.log(1 / 3), rel_tol=1e-5)
