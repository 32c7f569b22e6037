"""Opens files, and finds the text in their content: plain text, markdown and PDF. Blocking.

Content is not trusted: `document_process` calls `text_of` in a process of its own. Of a PDF, the number of pages and
characters and the length of each page's operations are bounded.
"""

import errno
import io
import logging
import os
import re
import stat
from pathlib import Path

from assistant.documents import MAX_CHARS, DocumentError
from declarations.extra import installing

MARKDOWN = frozenset({".md", ".markdown", ".mdown", ".mkd"})
"""File name endings of markdown."""

SNIFFED_BYTES = 8192
"""Bytes at the beginning of a file that show whether it is text."""

_PDF = b"%PDF-"
_BOMS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
_NO_TEXT = frozenset(range(32)) - frozenset(b"\t\n\v\f\r\x1b")
_NON_BLOCKING = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


MAX_PAGES = 2000
"""Pages that are read."""

MAX_PAGE_BYTES = 8_000_000
"""Longest operations of one page, decompressed. A dense page of text has 100 kB, a detailed map some MB."""

_HYPHENATED = re.compile(r"(?<=[^\W\d_])-\n(?=[a-zà-öø-ÿ])")

logging.getLogger("pypdf").setLevel(logging.CRITICAL + 1)  # it logs details of a file's content


def pdf_text(content: bytes) -> str:
    """Returns the text of all pages, each a paragraph of its own.

    Raises DocumentError: pypdf is not installed, or the file is encrypted, damaged, without text or too long. The text
    of the error continues the file's name.
    """
    try:
        import pypdf  # noqa: PLC0415 - an optional extra
    except ImportError as error:
        raise DocumentError(
            f"is a PDF, which needs the package pypdf, which is not installed: {installing('documents')}"
        ) from error
    try:
        reader = pypdf.PdfReader(io.BytesIO(content))
        locked = bool(reader.is_encrypted and not reader.decrypt(""))
        pages = [] if locked else _pages(reader)
    except (DocumentError, MemoryError):
        raise
    except Exception as error:  # a damaged file makes pypdf raise many kinds
        what = "encrypted: save a copy without a password" if _about_keys(error) else "damaged: it is no readable PDF"
        raise DocumentError(f"is {what}") from error
    if locked:
        raise DocumentError("is encrypted: save a copy without a password")
    text = "\n\n".join(page for page in pages if page)
    if not text:
        raise DocumentError("has no text, only pictures: recognize its text first, for example with ocrmypdf")
    return text


def _pages(reader: object) -> list[str]:
    pages, chars = [], 0
    for number, page in enumerate(getattr(reader, "pages"), 1):  # noqa: B009 - pypdf is imported on use
        if number > MAX_PAGES:
            raise DocumentError(f"has more than {MAX_PAGES} pages: name a shorter file")
        contents = page.get_contents()
        if contents is not None and len(contents.get_data()) > MAX_PAGE_BYTES:
            raise DocumentError(
                f"has a page with more than {MAX_PAGE_BYTES // 1_000_000} MB of drawing operations (page {number}): "
                "save its text as a file, and name that"
            )
        text = _HYPHENATED.sub("", page.extract_text() or "").strip()
        chars += len(text)
        if chars > MAX_CHARS:
            raise DocumentError(f"has more than {MAX_CHARS} characters: name a shorter file")
        pages.append(text)
    return pages


def _about_keys(error: Exception) -> bool:
    """Returns whether pypdf failed because of encryption, for which it may need another package."""
    return "crypt" in f"{type(error).__name__} {error}".lower() or type(error).__name__ == "DependencyError"


def open_file(path: Path) -> int:
    """Returns the descriptor of a regular file, opened for reading. Raises DocumentError."""
    try:
        descriptor = os.open(path, os.O_RDONLY | _NON_BLOCKING)
    except OSError as error:
        raise DocumentError(_unopened(str(path), error)) from error
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return descriptor
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise DocumentError(f"{path} is a folder: name the files in it, as in {str(path).rstrip('/')}/*.md")
    raise DocumentError(f"{path} is no regular file: name a text, markdown or PDF file")


def text_of(content: bytes) -> str:
    """Returns the text of a file's content. Raises DocumentError; its text continues the file's name."""
    if not content.strip():
        raise DocumentError("is empty")
    if content.startswith(_PDF):
        return pdf_text(content)
    encoding = next((name for mark, name in _BOMS if content.startswith(mark)), "utf-8")
    if encoding != "utf-16" and any(byte in _NO_TEXT for byte in content[:SNIFFED_BYTES]):
        raise DocumentError("is a binary file: name a text, markdown or PDF file")
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        raise DocumentError(
            f"has an unknown encoding (it is not UTF-8, see byte {error.start}): convert it, for example with "
            "`iconv -f latin1 -t utf-8`"
        ) from error
    if not text.strip("\ufeff\0 \t\r\n"):
        raise DocumentError("is empty")
    if len(text) > MAX_CHARS:
        raise DocumentError(f"has more than {MAX_CHARS} characters: name a shorter file")
    return text


def _unopened(shown: str, error: OSError) -> str:
    match error.errno:
        case errno.ENOENT | errno.ENOTDIR:
            return f"{shown}: there is no such file"
        case errno.EACCES | errno.EPERM:
            return f"{shown} cannot be read: its permissions do not allow it"
        case errno.EISDIR:
            return f"{shown} is a folder: name the files in it"
        case _:
            return f"{shown} cannot be read ({error.strerror})"
