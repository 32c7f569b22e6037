import pytest
from text_cases import text_cases

from audio.stt.hypothesis import MAX_FRAMES_PER_PHONE, Hypothesis, is_filler, plain


@pytest.mark.parametrize(
    "word",
    ["<s>", "</s>", "<sil>", "[NOISE]", "[SPEECH]", "++breath++"],
    ids=["sentence start", "sentence end", "silence", "noise", "speech", "breath"],
)
def test_filler_words_are_recognized(word: str) -> None:
    assert is_filler(word)


@text_cases(("word", "text"), [("the(2)", "the"), ("what's", "what's"), ("a(12)", "a"), ("Lamp", "lamp")])
def test_dictionary_word_is_converted_to_plain_text(word: str, text: str) -> None:
    assert not is_filler(word)
    assert plain(word) == text


def test_hypothesis_with_too_few_or_too_long_phones_is_not_paced_like_speech() -> None:
    assert Hypothesis(("no",), ("N", "OW"), 37).paced_like_speech
    assert not Hypothesis(("if",), ("IH", "F"), 81).paced_like_speech
    assert Hypothesis(("if",), ("IH", "F"), int(2 * MAX_FRAMES_PER_PHONE)).paced_like_speech
    assert not Hypothesis().paced_like_speech


def test_function_words_alone_have_no_content() -> None:
    assert not Hypothesis(("and",), ("AH", "N", "D"), 30).says_something
    assert not Hypothesis(("if", "the"), ("IH", "F", "DH", "AH"), 30).says_something
    assert Hypothesis(("the", "lamp"), ("DH", "AH"), 30).says_something
    assert not Hypothesis().says_something


def test_text_joins_the_words() -> None:
    assert Hypothesis(("turn", "on"), (), 0).text == "turn on"
