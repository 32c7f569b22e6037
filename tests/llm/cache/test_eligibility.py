"""Requests and answers that may be cached."""

import pytest
from support.texts.sentence_table import Section, sentence_cases

from llm.cache.eligibility import answer_exclusion, exclusion, lexicon_of
from llm.cache.lexicon import Lexicon

ASKED_BEFORE = {
    "en": "What is the capital of Italy?",
    "de": "Was ist die Hauptstadt von Italien?",
    "fr": "Quelle est la capitale de l'Italie ?",
}


def lexicon(language: str) -> Lexicon:
    found = lexicon_of(language)
    assert found is not None
    return found


@sentence_cases("answer cache")
def test_request_is_excluded(section: Section, row: list[str]) -> None:
    language, request_text, _ = row
    why = section.expected(row)["excluded"].strip("-")
    assert exclusion(request_text, [], lexicon(language)) == why


def test_long_request_is_excluded() -> None:
    assert exclusion("How " + "very " * 50 + "long is the Nile?", [], lexicon("en")) == "long"


@sentence_cases("answer cache, second turn")
def test_request_that_refers_back_is_excluded_after_the_first_turn(section: Section, row: list[str]) -> None:
    language, request_text, _ = row
    why = section.expected(row)["excluded"].strip("-")
    assert exclusion(request_text, [ASKED_BEFORE[language]], lexicon(language)) == why


@pytest.mark.parametrize(
    "earlier", ["I am a vegetarian.", "From now on answer in French.", "My car is broken.", "Talk like a pirate."]
)
def test_nothing_is_looked_up_after_a_statement(earlier: str) -> None:
    assert exclusion("What is a compass?", [earlier], lexicon("en")) == "conversation has context"


@pytest.mark.parametrize(
    ("answer", "reason", "why"),
    [
        ("Paris.", "stop", ""),
        ("Paris.", "end_turn", ""),
        ("Paris.", "done", ""),
        ("Paris and", "done", "incomplete"),
        ("Paris", "length", "incomplete"),
        ("Paris.", "content_filter", "incomplete"),
        ("", "stop", "length"),
        ("Word. " * 500, "stop", "length"),
        ("Which one do you mean?", "stop", "asks back"),
        ("Currently it is Paris.", "stop", "time or person"),
        ("Sorry, I cannot help with that.", "stop", "time or person"),
        ("I don’t know.", "stop", "time or person"),
        ("As I said, it is Paris.", "stop", "time or person"),
        ("Derzeit ist es Paris.", "stop", "time or person"),
        ("Je ne sais pas.", "stop", "time or person"),
    ],
)
def test_answer_is_stored_only_if_it_holds_for_everybody(answer: str, reason: str, why: str) -> None:
    assert answer_exclusion(answer, reason) == why


def test_language_without_a_lexicon_has_no_cache() -> None:
    assert lexicon_of("de-AT") is lexicon_of("de")
    assert lexicon_of("nl") is None
