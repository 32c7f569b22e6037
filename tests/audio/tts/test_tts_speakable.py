"""Texts in scripts that a voice cannot speak, and texts that expand to far more sound than they have letters."""

import pytest

from audio.tts.speakable import speakable, unspoken_notice
from audio.tts.word_bounds import bounded_words


@pytest.mark.parametrize(
    ("text", "language", "spoken", "unspoken"),
    [
        ("Hello there.", "en", "Hello there.", ()),
        ("สวัสดีครับ", "en", "", ("Thai",)),
        ("The name is สมชาย, he said.", "en", "The name is , he said.", ("Thai",)),
        ("漢字です", "de", "", ("Chinese", "Japanese")),
        ("안녕하세요", "en", "", ("Korean",)),
        ("Привет, мир!", "en", ", !", ("Cyrillic letters",)),
        ("Привет, мир!", "ru", "Привет, мир!", ()),
        ("नमस्ते", "en", "", ("Hindi",)),
        ("नमस्ते", "hi", "नमस्ते", ()),
        ("مرحبا", "en-US", "", ("Arabic",)),
        ("漢字です", "ja", "漢字です", ()),
        ("Straße, café, Đặng, Łódź, ﬁn", "en", "Straße, café, Đặng, Łódź, ﬁn", ()),
        ("2 π r, 5 µm, 3 Ω, Ａ", "en", "2 π r, 5 µm, 3 Ω, Ａ", ()),
        ("Καλημέρα", "en", "", ("Greek",)),
    ],
)
def test_text_is_reduced_to_what_the_voice_speaks(
    text: str, language: str, spoken: str, unspoken: tuple[str, ...]
) -> None:
    found = speakable(text, language)
    assert " ".join(found.text.split()) == " ".join(spoken.split())
    assert found.unspoken == unspoken
    assert len(found.text) == len(text)


@pytest.mark.parametrize(
    ("text", "letters"), [("!" * 500, 3), ("a" + "\u0301" * 500, 4), ("Wait...... no", 9), ("☂" * 200, 3)]
)
def test_repeated_signs_are_spoken_three_times(text: str, letters: int) -> None:
    found = speakable(text, "en").text
    assert len(found) == len(text)
    assert len(found.replace(" ", "")) == letters


@pytest.mark.parametrize(
    ("word", "spoken"),
    [("9" * 5000, 50), ("x" * 10_000, 300), ("aGVsbG8gd29ybGQ/" * 40, 135), ("0f" * 32, 64), ("é" * 1000, 300)],
    ids=["digits", "letters", "base64", "hash", "accents"],
)
def test_sound_of_one_word_is_bounded(word: str, spoken: int) -> None:
    found = speakable(f"It is {word}, okay?", "en").text
    assert len(found) == len(word) + 13
    assert len(max(found.split(), key=len)) == pytest.approx(spoken, rel=0.1)
    assert found.endswith("okay?")


def test_scripts_without_blanks_have_no_long_words() -> None:
    assert speakable("漢字" * 500, "ja").text == "漢字" * 500


def test_word_in_parts_is_bounded_as_a_whole() -> None:
    first, begun_s = bounded_words("9" * 40)
    second, begun_s = bounded_words("9" * 40, begun_s)
    third, _ = bounded_words("9 is it.", begun_s)
    assert (first, second.strip(), third) == ("9" * 40, "9" * 10, "  is it.")


def test_notice_names_script_and_language_of_voice() -> None:
    notice = unspoken_notice(("Thai", "Korean"), "English")
    assert notice == "the reply is in Thai and Korean; this voice speaks English"
