"""Tests of the tokens of a transcript: digits, letters and words."""

import pytest
from support.texts.text_cases import text_cases

from assistant.end_of_turn.dictation.dictation_words import dictation_words
from assistant.end_of_turn.dictation.spoken_tokens import tokens_of


def tokens(text: str, language: str = "en") -> str:
    """Returns the texts of the tokens, each with the first letter of its kind: "d555 l:a w:street"."""
    words = dictation_words(language)
    assert words is not None
    return " ".join(f"{token.kind[0]}:{token.text}" for token in tokens_of(text, words))


@text_cases(
    ("text", "expected"),
    [
        ("555-12", "d:555 d:12"),
        ("five, five um five", "d:5 d:5 d:5"),
        ("twenty five eleven", "d:25 d:11"),
        ("double five triple oh", "d:55 d:000"),
        ("five oh one", "d:5 d:0 d:1"),
        ("two hundred", "d:200"),
        ("5 for 5", "d:5 d:4 d:5"),
        ("wait for it", "w:wait w:for w:it"),
        ("A-B-C", "l:a l:b l:c"),
        ("ARJUN", "l:a l:r l:j l:u l:n"),
        ("OK", "w:ok"),
        ("double t", "l:t l:t"),
        ("S as in Sam, M as in Mary", "l:s l:m"),
        ("S for sugar", "l:s"),
        ("alpha bravo", "l:a l:b"),
        ("a table", "w:a w:table"),
        ("J are", "l:j l:r"),
        ("the 5th", "w:the w:5th"),
        ("+1 john@x", "s:+ d:1 w:john s:@ l:x"),
        ("", ""),
    ],
)
def test_written_forms_give_the_same_tokens(text: str, expected: str) -> None:
    assert tokens(text) == expected


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("de", "null eins siebenundzwanzig zwo", "d:0 d:1 d:27 d:2"),
        ("fr", "trente et un dix", "d:31 d:10"),
        ("es", "treinta y cinco veintidós", "d:35 d:22"),
    ],
)
def test_numbers_of_other_languages_are_digits(language: str, text: str, expected: str) -> None:
    assert tokens(text, language) == expected
