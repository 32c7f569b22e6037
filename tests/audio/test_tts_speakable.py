"""Texts in scripts that a voice cannot speak, and texts that expand to far more sound than they have letters."""

import pytest

from audio.tts.speakable import speakable, unspoken_notice


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


def test_notice_names_script_and_language_of_voice() -> None:
    notice = unspoken_notice(("Thai", "Korean"), "English")
    assert notice == "the reply is in Thai and Korean; this voice speaks English"
