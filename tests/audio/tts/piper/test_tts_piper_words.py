"""Assignment of phonemes to words, with phonemes as espeak-ng produces them."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from audio.tts.piper.words import place_words
from audio.tts.streaming.phonemes import WordPhonemes, is_audible
from audio.tts.text_pieces import words


def place(text: str, sentences: Sequence[str], alone: dict[str, str] | None = None) -> list[tuple[str, str, bool]]:
    """Returns every word with its phonemes."""
    placed = place_words(text, words(text), sentences, lambda word: [(alone or {})[word]])
    return [
        (text[word.text_start : word.text_end], sentences[word.sentence][word.begin : word.end], word.guessed)
        for word in placed
    ]


def test_equal_number_of_groups_are_the_words() -> None:
    assert place("Wait, stop!", ["wˈeɪt, stˈɑːp!"]) == [("Wait,", "wˈeɪt", False), ("stop!", "stˈɑːp", False)]


def test_words_of_several_sentences_are_placed() -> None:
    assert place("Go. Now go.", ["ɡˈoʊ.", "nˈaʊ ɡˈoʊ."]) == [
        ("Go.", "ɡˈoʊ", False),
        ("Now", "nˈaʊ", False),
        ("go.", "ɡˈoʊ", False),
    ]


def test_two_words_in_one_group_are_aligned() -> None:
    alone = {"half": "hˈæf", "of": "ˈʌv", "the": "ðə", "time": "tˈaɪm"}
    assert place("half of the time", ["hˈæf əvðə tˈaɪm"], alone) == [
        ("half", "hˈæf", True),
        ("of", "əv", True),
        ("the", "ðə", True),
        ("time", "tˈaɪm", True),
    ]


def test_number_of_several_groups_is_one_word() -> None:
    alone = {"it": "ɪt", "is": "ɪz", "12.5": "twˈɛlv pɔɪnt fˈaɪv", "now": "nˈaʊ"}
    assert place("it is 12.5 now", ["ɪt ɪz twˈɛlv pɔɪnt fˈaɪv nˈaʊ"], alone) == [
        ("it", "ɪt", True),
        ("is", "ɪz", True),
        ("12.5", "twˈɛlv pɔɪnt fˈaɪv", True),
        ("now", "nˈaʊ", True),
    ]


def test_word_without_sound_is_between_its_neighbours() -> None:
    alone = {"a": "ˈeɪ", "+": "", "b": "bˈiː"}
    assert place("a + b", ["ɐ bˈiː"], alone) == [("a", "ɐ", True), ("+", "", True), ("b", "bˈi", True)]
    alone = {"a": "ˈeɪ", "+": ""}
    assert place("a +", ["ˈeɪ"], alone)[1] == ("+", "", True)


def test_no_audible_phonemes_give_no_words() -> None:
    assert place_words("a", ((0, 1),), ["ˈ., "], lambda _: []) == []
    assert place_words("", (), ["ab"], lambda _: []) == []


@given(
    st.lists(st.text("abcː ˈ", max_size=6), max_size=6),
    st.lists(st.text("abc ˈ,.", max_size=12), max_size=4),
    st.data(),
)
def test_every_word_is_placed_once_and_in_order(solo: list[str], sentences: list[str], data: st.DataObject) -> None:
    text = " ".join("x" * data.draw(st.integers(1, 4)) for _ in solo)
    spans = words(text)
    waiting = iter(solo)
    placed = place_words(text, spans, sentences, lambda _word: [next(waiting)])
    if not any(is_audible(symbol) for sentence in sentences for symbol in sentence):
        assert placed == []
        return
    assert [(word.text_start, word.text_end) for word in placed] == list(spans)
    ends = [(word.sentence, word.begin) for word in placed]
    assert ends == sorted(ends)
    assert all(inside(word, sentences) for word in placed)


def inside(word: WordPhonemes, sentences: Sequence[str]) -> bool:
    return 0 <= word.begin <= word.end <= len(sentences[word.sentence])
