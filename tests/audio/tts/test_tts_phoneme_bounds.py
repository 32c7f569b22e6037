"""Sentences are synthesized in parts of bounded size."""

import pytest

from audio.tts.streaming.phoneme_bounds import MAX_PHONEMES, bounded


def test_usual_sentence_stays_whole() -> None:
    assert bounded(["a"] * 250) == [["a"] * 250]


@pytest.mark.parametrize(
    ("sentence", "parts"),
    [
        pytest.param("abcdefg, hijk lmno", ["abcdefg,", " hijk lmno"], id="at a pause"),
        pytest.param("abcdefgh ijklmno", ["abcdefgh ", "ijklmno"], id="between words"),
        pytest.param("abcdefghijklmnopqrstu", ["abcdefghij", "klmnopqrst", "u"], id="anywhere"),
    ],
)
def test_long_sentence_is_cut_at_best_place(sentence: str, parts: list[str]) -> None:
    assert ["".join(part) for part in bounded(list(sentence), 10)] == parts


def test_nothing_is_lost_and_every_part_is_bounded() -> None:
    sentence = list("θɪs ɪz ə lɒŋ sɛntəns, " * 100)
    parts = bounded(sentence)
    assert [phoneme for part in parts for phoneme in part] == sentence
    assert max(map(len, parts)) <= MAX_PHONEMES
