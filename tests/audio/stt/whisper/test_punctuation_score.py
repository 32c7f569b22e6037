"""Expected punctuation after the last word: its tokens and its decoding step."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.texts.text_cases import text_cases

from audio.stt.whisper.punctuation_score import PunctuationTokens

WORDS = [
    "what",
    "\u0120time",
    "\u0120is",
    "\u0120it",
    ".",
    "?",
    "?!",
    '."',
    "\u0120.",
    ",",
    "...",
    "\u0120-",
    "'s",
    "3",
    "%",
]
VOCABULARY = {token: number for number, token in enumerate(WORDS)} | {
    "<|endoftext|>": len(WORDS),
    "<|0.00|>": len(WORDS) + 1,
}
EOT = len(WORDS)
MARKS = PunctuationTokens(VOCABULARY, EOT)
ENDS = {".", "?", "?!", '."', "\u0120.", "<|endoftext|>"}
GOES_ON = {",", "...", "\u0120-"}


def ids(*tokens: str) -> list[int]:
    return [VOCABULARY[token] for token in tokens]


@text_cases("token", VOCABULARY)
def test_tokens_are_classified_as_punctuation(token: str) -> None:
    logits = np.full(len(VOCABULARY), -100, np.float32)
    logits[VOCABULARY[token]] = 0
    found = MARKS.punctuation(logits)
    assert (found.sentence_end, found.continuation) == pytest.approx((float(token in ENDS), float(token in GOES_ON)))


@given(st.lists(st.floats(-50, 50, width=32), min_size=len(VOCABULARY), max_size=len(VOCABULARY)))
def test_scores_are_probabilities(values: list[float]) -> None:
    logits = np.array(values, np.float32)
    found, shifted = MARKS.punctuation(logits), MARKS.punctuation(logits + np.float32(8))
    assert 0 <= found.sentence_end <= 1
    assert 0 <= found.continuation <= 1
    assert found.sentence_end + found.continuation <= 1 + 1e-9
    assert (shifted.sentence_end, shifted.continuation) == pytest.approx(
        (found.sentence_end, found.continuation), abs=1e-4
    )


@pytest.mark.parametrize(
    ("said", "step"),
    [
        pytest.param(["what", "\u0120time"], 2, id="two words"),
        pytest.param(["what", "\u0120time", "?"], 2, id="question mark at the end"),
        pytest.param(["what", "...", "\u0120time", ".", '."'], 3, id="punctuation within"),
        pytest.param(["what", "'s"], 2, id="apostrophe"),
        pytest.param(["."], 0, id="punctuation only"),
        pytest.param([], 0, id="empty"),
    ],
)
def test_step_is_after_last_word(said: list[str], step: int) -> None:
    assert MARKS.step_after_words(ids(*said)) == step
