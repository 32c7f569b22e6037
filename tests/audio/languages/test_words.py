"""Words that are evidence for a language, and those that are not."""

import pytest

from audio.languages.words import evidence_words


@pytest.mark.parametrize(
    "text",
    [
        "", "Ja.", "OK", "Okay, okay.", "Nein, danke!", "Oui oui.", "No.", "23", "1984", "2, 3, 4", "D'accord.",
        "Hans Müller", "María García", "Anna.", "Buenos Aires!", "zwei drei vier", "ha ha ha", "S-A-F",
    ],
)  # fmt: skip
def test_short_answers_numbers_and_names_are_no_evidence(text: str) -> None:
    assert evidence_words(text) == 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Wie spät ist es?", 4), ("Multipliziere 6 mit 7.", 3), ("15% von 80", 2), ("Guten Morgen!", 2),
        ("die die die die", 1),
        ("¿Qué hora es?", 3), ("Mach das Licht an", 4), ("今何時ですか", 3), ("D'accord, quelle heure est-il ?", 3),
    ],
)  # fmt: skip
def test_different_words_are_counted(text: str, words: int) -> None:
    assert evidence_words(text) == words
