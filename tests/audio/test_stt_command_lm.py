import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from text_cases import text_cases

from audio.stt.command_lm import agrees, arpa, known_words, phone_distance, possessive, shape

SENTENCES = st.lists(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=6).map(" ".join), min_size=1)
PHONES = st.lists(st.sampled_from(["AH", "B", "K", "S"]), max_size=8)


def read_arpa(text: str) -> dict[tuple[str, ...], tuple[float, float]]:
    """Probability and back-off weight of every n-gram."""
    grams: dict[tuple[str, ...], tuple[float, float]] = {}
    order = 0
    for line in text.splitlines():
        if line.endswith("-grams:"):
            order = int(line[1])
        elif order and line and not line.startswith("\\"):
            first, *rest = line.split()
            backoff = 10 ** float(rest[order]) if len(rest) > order else 1.0
            grams[tuple(rest[:order])] = (10 ** float(first), backoff)
    return grams


def test_every_distinct_continuation_counts_once() -> None:
    grams = read_arpa(arpa(["what time is it", *(f"what is {n} plus two" for n in ("one", "three", "four", "five"))]))
    assert grams["what", "time"][0] == pytest.approx(grams["what", "is"][0])
    assert grams["<s>", "what"][0] == pytest.approx(0.5, rel=1e-3)
    assert grams["what", "is", "one"][0] == pytest.approx(0.125, rel=1e-3)


def test_header_counts_the_ngrams() -> None:
    text = arpa(["turn on the lamp", "turn off the lamp"])
    counts = [line for line in text.splitlines() if line.startswith("ngram")]
    grams = read_arpa(text)
    assert counts == [f"ngram {n}={sum(len(gram) == n for gram in grams)}" for n in (1, 2, 3)]


@given(SENTENCES)
def test_probabilities_after_any_history_sum_to_at_most_one(sentences: list[str]) -> None:
    grams = read_arpa(arpa(sentences))
    for history in {gram[:-1] for gram in grams}:
        assert sum(p for gram, (p, _) in grams.items() if gram[:-1] == history) <= 1.001


@given(SENTENCES)
def test_backing_off_gives_away_exactly_what_was_kept(sentences: list[str]) -> None:
    grams = read_arpa(arpa(sentences))
    words = {gram[0] for gram in grams if len(gram) == 1}
    missing_mass = 1 - sum(grams[(w,)][0] for w in words)
    for word in {gram[0] for gram in grams if len(gram) == 2}:
        seen = {w for w in words if (word, w) in grams}
        total = sum(grams[word, w][0] for w in seen)
        total += grams[(word,)][1] * (missing_mass + sum(grams[(w,)][0] for w in words - seen))
        assert total == pytest.approx(1.0, abs=2e-3)


def test_empty_sentence_list_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        arpa(["", "  "])


def test_known_words_are_those_of_the_sentences() -> None:
    assert known_words(["turn on the lamp", "the lamp"]) == {"turn", "on", "the", "lamp"}


@given(PHONES, PHONES)
def test_distance_is_an_edit_distance(a: list[str], b: list[str]) -> None:
    if not a:
        assert phone_distance(a, b) == math.inf
        return
    edits = phone_distance(a, b) * len(a)
    assert edits == pytest.approx(round(edits))
    assert abs(len(a) - len(b)) <= round(edits) <= max(len(a), len(b))
    assert (edits == 0) == (a == b)
    if b:
        assert edits == pytest.approx(phone_distance(b, a) * len(b))


def test_distance_of_known_pairs() -> None:
    assert phone_distance("TH AE NG K S".split(), "S IH K S".split()) == pytest.approx(0.6)
    assert phone_distance("L AE M P".split(), "L AE M".split()) == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("words", "distance", "believed"),
    [(1, 0.4, True), (1, 0.6, False), (2, 0.7, True), (4, 0.7, True), (4, 0.71, False), (3, math.inf, False)],
    ids=[
        "one word, near",
        "one word, far",
        "two words at the limit",
        "four words at the limit",
        "four words beyond the limit",
        "no phones",
    ],
)
def test_phone_distance_limit_depends_on_word_count(words: int, distance: float, believed: bool) -> None:
    assert agrees(words, distance) is believed


@pytest.mark.parametrize(
    ("phones", "ending"),
    [("L AE M P", ["S"]), ("B AH S", ["IH", "Z"]), ("D EY", ["Z"]), ("JH AH JH", ["IH", "Z"])],
    ids=["lamp", "bus", "day", "judge"],
)
def test_possessive_ending_follows_the_last_phone(phones: str, ending: list[str]) -> None:
    assert list(possessive(phones.split())) == phones.split() + ending


@text_cases(
    ("sentence", "shaped"),
    [
        ("what is twelve plus thirty one", "what is # plus #"),
        ("set a timer for one hundred and six minutes", "set a timer for # minutes"),
        ("what is three point five times two", "what is # times #"),
        ("what is two and a half", "what is # and a half"),
        ("turn on the lamp", "turn on the lamp"),
        ("and two", "and #"),
        ("two and", "# and"),
        ("", ""),
    ],
)
def test_numbers_in_a_sentence_are_replaced_by_a_placeholder(sentence: str, shaped: str) -> None:
    assert shape(sentence) == shaped
