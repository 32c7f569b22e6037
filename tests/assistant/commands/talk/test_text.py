"""Text of users and models: one line, no control characters, and of the expected width."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from support.texts.text_cases import named_cases

from assistant.commands.talk.text import CUT, MAX_MARKS, REPLACED, printable


@named_cases(
    ("said", "shown"),
    {
        "plain": ("what time is it", "what time is it"),
        "terminal sequences": ("\x1b[2J\x1b]0;title\x07gone", "[2J]0;titlegone"),
        "line breaks and tabs": ("a\r\nb\tc\u2028d\u00a0e  f", "a b c d e f"),
        "bidirectional override": ("\u202eright to left\u202c", "right to left"),
        "lone surrogate": ("\ud800", REPLACED),
        "private use": ("\ue000 \U0010ffff", f"{REPLACED} {REPLACED}"),
        "joined emoji": ("👩\u200d👧", "👩👧"),
        "emoji modifiers": ("👍🏽 ❤\ufe0f", "👍 ❤"),
        "flag": ("🇩🇪", "DE"),
        "combining marks": ("\u0301e\u0301", "e\u0301"),
        "zero-width non-joiner": ("می\u200cخواهم", "می\u200cخواهم"),
        "markup": ("[bold red]not markup[/]", "[bold red]not markup[/]"),
    },
)
def test_text_is_made_printable(said: str, shown: str) -> None:
    assert printable(said) == shown


def test_combining_marks_are_limited() -> None:
    assert printable("e" + "\u0301" * 50) == "e" + "\u0301" * MAX_MARKS


def test_long_text_is_cut_with_an_ellipsis() -> None:
    assert printable("word " * 100, 20) == "word word word wor" + CUT
    assert printable("x" * 20, 20) == "x" * 20


@given(st.text(st.characters(), max_size=60), st.integers(4, 80))
def test_text_cannot_move_the_cursor(said: str, most: int) -> None:
    shown = printable(said, most)
    assert len(shown) <= most
    assert all(unicodedata.category(char) not in {"Cc", "Cs", "Co", "Cn", "Zl", "Zp"} for char in shown)
    assert not any(char in shown for char in "\u202a\u202b\u202d\u202e\u2066\u2067\u2068")
    assert printable(shown, most) == shown
    assert cell_len(shown) <= 2 * len(shown)
    shown.encode()
