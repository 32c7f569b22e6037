"""Reading files: text, markdown, PDF, and what cannot be read."""

import io
import os
import sys
from pathlib import Path

import pypdf
import pytest
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

from assistant.documents import DocumentError
from assistant.documents.files import read_file


def pdf_of(*pages: str, password: str = "") -> bytes:
    """Returns a PDF with one line of text on each page."""
    writer = pypdf.PdfWriter()
    font = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type1"),
            NameObject("/BaseFont"): NameObject("/Helvetica"),
        }
    )
    for text in pages:
        page = writer.add_blank_page(300, 300)
        page[NameObject("/Resources")] = DictionaryObject(
            {NameObject("/Font"): DictionaryObject({NameObject("/F1"): font})}
        )
        stream = DecodedStreamObject()
        stream.set_data(f"BT /F1 12 Tf 20 200 Td ({text}) Tj ET".encode())
        page[NameObject("/Contents")] = writer._add_object(stream)
    if password:
        writer.encrypt(password, algorithm="RC4-128")
    file = io.BytesIO()
    writer.write(file)
    return file.getvalue()


def written(folder: Path, name: str, content: bytes) -> Path:
    file = folder / name
    file.write_bytes(content)
    return file


def problem(file: Path, max_mb: int = 1) -> str:
    with pytest.raises(DocumentError) as failure:
        read_file(file, max_mb)
    text = str(failure.value)
    assert "\n" not in text
    assert str(file) in text
    return text


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
def test_encodings(tmp_path: Path, content: bytes) -> None:
    document = read_file(written(tmp_path, "a.txt", content), 1)
    assert document.text == "Grüße."
    assert (document.name, document.is_markdown) == ("a.txt", False)


def test_markdown_is_known_by_its_ending(tmp_path: Path) -> None:
    assert read_file(written(tmp_path, "a.MD", b"# Title"), 1).is_markdown
    assert read_file(written(tmp_path, "a.md", b"# Title"), 1, "notes/a.md").name == "notes/a.md"


def test_pages_of_a_pdf_are_read(tmp_path: Path) -> None:
    document = read_file(written(tmp_path, "a.pdf", pdf_of("First page.", "Second page.")), 1)
    assert document.text == "First page.\n\nSecond page."


def test_what_cannot_be_read_says_why_and_what_to_do(tmp_path: Path) -> None:
    assert "no such file" in problem(tmp_path / "nothing.txt")
    assert "no such file" in problem(written(tmp_path, "a.txt", b"x") / "b")
    assert "is a folder: name the files in it" in problem(tmp_path)
    assert "is a binary file" in problem(written(tmp_path, "a.bin", b"\x7fELF\0\0\1"))
    assert "iconv" in problem(written(tmp_path, "latin.txt", "Grüße".encode("latin-1")))
    assert "is empty" in problem(written(tmp_path, "empty.txt", b" \n"))
    assert "is empty" in problem(written(tmp_path, "mark.txt", b"\xef\xbb\xbf\n"))
    assert "documents.max_file_mb" in problem(written(tmp_path, "large.txt", b"x" * 1_000_001))


def test_what_is_wrong_with_a_pdf_is_told(tmp_path: Path) -> None:
    assert "is damaged" in problem(written(tmp_path, "broken.pdf", b"%PDF-1.7\nnothing"))
    assert "has no text, only pictures" in problem(written(tmp_path, "scan.pdf", pdf_of("")))
    assert "is encrypted" in problem(written(tmp_path, "secret.pdf", pdf_of("Text.", password="x")))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="POSIX")
def test_pipe_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "no regular file" in problem(tmp_path / "pipe")


def test_pdf_without_the_extra_names_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = written(tmp_path, "a.pdf", pdf_of("Text."))
    monkeypatch.setitem(sys.modules, "pypdf", None)
    assert ".venv/bin/pip install -e '.[documents]'" in problem(file)
