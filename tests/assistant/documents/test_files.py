"""Reading files: text, markdown, PDF, and what cannot be read."""

import os
import sys
from pathlib import Path

import pytest
from support.texts.pdf_files import pdf_of

from assistant.documents import MAX_CHARS, DocumentError
from assistant.documents.files import open_file, text_of


def text_problem(content: bytes) -> str:
    with pytest.raises(DocumentError) as failure:
        text_of(content)
    assert "\n" not in str(failure.value)
    return str(failure.value)


def open_problem(file: Path) -> str:
    with pytest.raises(DocumentError) as failure:
        open_file(file)
    assert str(file) in str(failure.value)
    return str(failure.value)


@pytest.mark.parametrize(
    "content",
    [
        "Grüße.".encode(),
        b"\xef\xbb\xbf" + "Grüße.".encode(),
        "Grüße.".encode("utf-16"),
        "\ufeffGrüße.".encode("utf-16-be"),
    ],
    ids=["utf-8", "utf-8 with a mark", "utf-16", "utf-16, big end first"],
)
def test_encodings(content: bytes) -> None:
    assert text_of(content) == "Grüße."


def test_pages_of_a_pdf_are_read() -> None:
    assert text_of(pdf_of("First page.", "Second page.")) == "First page.\n\nSecond page."


def test_what_cannot_be_opened_says_why_and_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    assert "no such file" in open_problem(tmp_path / "nothing.txt")
    assert "no such file" in open_problem(tmp_path / "a.txt" / "b")
    assert "is a folder: name the files in it" in open_problem(tmp_path)


def test_what_is_no_text_says_why_and_what_to_do() -> None:
    assert "is a binary file" in text_problem(b"\x7fELF\0\0\1")
    assert "iconv" in text_problem("Grüße".encode("latin-1"))
    assert "is empty" in text_problem(b" \n")
    assert "is empty" in text_problem(b"\xef\xbb\xbf\n")
    assert f"more than {MAX_CHARS} characters" in text_problem(b"x" * (MAX_CHARS + 1))


def test_what_is_wrong_with_a_pdf_is_told() -> None:
    assert "is damaged" in text_problem(b"%PDF-1.7\nnothing")
    assert "has no text, only pictures" in text_problem(pdf_of(""))
    assert "is encrypted" in text_problem(pdf_of("Text.", password="x"))


def test_page_of_millions_of_operations_is_refused_before_it_is_read() -> None:
    assert "drawing operations (page 1)" in text_problem(pdf_of("Text." + ") Tj (" * 1_500_000))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="POSIX")
def test_pipe_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "no regular file" in open_problem(tmp_path / "pipe")


def test_pdf_without_the_extra_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypdf", None)
    assert ".venv/bin/pip install -e '.[documents]'" in text_problem(pdf_of("Text."))
