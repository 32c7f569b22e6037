"""Finds the text of a PDF file, with the package pypdf (extra `documents`). Blocking, for a process with limits.

A PDF is not trusted: the number of pages and characters and the length of each page's operations are bounded.
"""

import io
import logging
import re

from assistant.documents import MAX_CHARS, DocumentError
from declarations.extra import installing

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
