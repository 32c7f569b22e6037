"""Languages that the user names."""

import pytest

from assistant.commands.first_run.language_names import language_code, offered_language, unknown_language
from assistant.models.language_hint import NAMES


@pytest.mark.parametrize(
    ("typed", "code"),
    [
        ("de", "de"),
        ("DE", "de"),
        ("de_AT", "de-AT"),
        ("de-CH", "de-CH"),
        ("Deutsch", "de"),
        ("german", "de"),
        (" français ", "fr"),
        ("francais", "fr"),
        ("Spanisch", "es"),
        ("русский", "ru"),
        ("日本語", "ja"),
        ("haw", "haw"),
    ],
)
def test_language_is_found_by_code_or_name(typed: str, code: str) -> None:
    assert language_code(typed) == code


def test_every_named_language_is_known_by_code_and_name() -> None:
    assert [language_code(code) for code in NAMES] == list(NAMES)
    assert [language_code(name) for name in NAMES.values()] == list(NAMES)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("dee", "de (German)"), ("eng", "en (English)"), ("germna", "de (German)"), ("fracais", "fr (French)")],
)
def test_misspelled_language_gets_a_suggestion(typed: str, meant: str) -> None:
    assert language_code(typed) is None
    assert unknown_language(typed) == f'the language "{typed}" is not known; did you mean {meant}?'


@pytest.mark.parametrize("typed", ["", "xx", "qwertyuiop", "7"])
def test_unknown_language_gets_an_example(typed: str) -> None:
    assert language_code(typed) is None
    assert "known" in unknown_language(typed)


@pytest.mark.parametrize(
    ("environ", "language"),
    [
        ({"LANG": "de_DE.UTF-8"}, "de"),
        ({"LANG": "fr"}, "fr"),
        ({"LANG": "de_DE.UTF-8", "LC_ALL": "es_ES@euro"}, "es"),
        ({"LANG": "C.UTF-8"}, ""),
        ({"LANG": "pl_PL.UTF-8"}, ""),
        ({}, ""),
    ],
)
def test_language_of_the_environment(environ: dict[str, str], language: str) -> None:
    assert offered_language(environ) == language
