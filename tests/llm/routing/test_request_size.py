"""The score that chooses a small or a large model."""

from support.texts.sentence_table import Section, sentence_cases

from bench.language_models.tiers import FILE, Labelled, confusion, labelled
from llm.chat import Message
from llm.routing.request_size import LARGE_FROM, RequestSize, request_size
from llm.routing.request_words import LANGUAGES, NUMBER_WORDS, QUESTION_WORDS

REQUESTS = labelled(FILE.read_text(encoding="utf-8"))


def scored(said: str, *before: str, language: str = "en") -> RequestSize:
    earlier = [message for text in before for message in (Message("user", text), Message("assistant", "Yes."))]
    return request_size([Message("system", "Be brief."), *earlier, Message("user", said)], language)


@sentence_cases("size of a request")
def test_request_has_its_size(section: Section, row: list[str]) -> None:
    language, said, _ = row
    size, _, reason = section.expected(row)["size"].partition(", ")
    result = scored(said, language=language)
    assert result.size == size
    assert not reason or reason in [one.name for one in result.reasons]


def test_follow_up_to_hard_request_is_harder() -> None:
    hard, easy = "Should I lease a car or buy one if I drive a lot?", "How tall is the Eiffel Tower?"
    alone, after_hard, after_easy = scored("And if I keep it?"), scored("And if I keep it?", hard), scored("And?", easy)
    assert alone.size == after_easy.size == "small"
    assert after_hard.size == "large"
    assert after_hard.points > alone.points
    assert scored("Thanks a lot.", hard).size == "small"


def test_reasons_add_up_and_quote_nothing() -> None:
    result = scored("Compare Zanzibar with Madagascar, and think about it carefully, please, for a trip in two weeks.")
    assert result.points == sum(reason.points for reason in result.reasons) >= LARGE_FROM
    assert result.why.startswith(f"{result.points:g} points: ")
    assert "zanzibar" not in result.why.lower()
    assert scored("Hm").why == "0 points"


def test_conversation_without_words_is_small() -> None:
    assert request_size([Message("system", "Be brief.")], "en").size == "small"
    assert request_size([], "en").size == "small"
    assert scored("").size == "small"


def test_long_text_is_scored_in_bounded_time() -> None:
    assert scored("if a train should i better how many " * 3000).size == "large"


def test_typed_code_and_formulas_are_hard() -> None:
    assert scored("x = [n for n in range(3)] is that right").size == "large"


def test_every_language_has_the_same_features() -> None:
    assert all(set(words) == set(LANGUAGES["en"]) for words in LANGUAGES.values())
    assert set(QUESTION_WORDS) == set(NUMBER_WORDS) == set(LANGUAGES)


def of_half(half: str) -> list[Labelled]:
    return [request for request in REQUESTS if request.half == half]


def test_labelled_set_is_complete() -> None:
    assert len(REQUESTS) >= 200
    assert len({(one.before, one.text) for one in REQUESTS}) == len(REQUESTS)
    assert len(of_half("make")) == len(of_half("judge"))
    for code in LANGUAGES:
        labels = [request.label for request in REQUESTS if request.language == code]
        assert labels.count("small") == labels.count("large") >= 25


def test_score_agrees_with_labels() -> None:
    """The bounds are a little below the figures of docs/lab/tiers.md."""
    judged = confusion(of_half("judge"))
    assert judged.right / judged.total >= 0.85
