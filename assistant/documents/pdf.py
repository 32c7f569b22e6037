"""The text of a PDF file, with the package pypdf (extra `documents`). Blocking: call it in a thread.

A PDF is not trusted: the number of pages and characters and the time are bounded.
"""

import io
import logging
import re
import time

from assistant.documents import DocumentError
from audio.extra import installing

MAX_PAGES = 2000
"""Pages that are read."""

MAX_CHARS = 5_000_000
"""Characters that are read, about 1500 pages of text."""

MAX_S = 60.0
"""Seconds after which no further page is read."""

_HYPHENATED = re.compile(r"(?<=[^\W\d_])-\n(?=[a-zà-öø-ÿ])")

logging.getLogger("pypdf").setLevel(logging.CRITICAL + 1)  # it logs details of a file's content


def pdf_text(content: bytes, shown: str) -> str:
    """Returns the text of all pages, each a paragraph of its own. `shown`: how errors name the file.

    Raises DocumentError: pypdf is not installed, or the file is encrypted, damaged, without text or too long.
    """
    try:
        import pypdf  # noqa: PLC0415 - an optional extra
    except ImportError as error:
        raise DocumentError(
            f"{shown} is a PDF, which needs the package pypdf, which is not installed: {installing('documents')}"
        ) from error
    try:
        reader = pypdf.PdfReader(io.BytesIO(content))
        locked = bool(reader.is_encrypted and not reader.decrypt(""))
        pages = [] if locked else _pages(reader, shown)
    except DocumentError:
        raise
    except Exception as error:  # a damaged file makes pypdf raise many kinds
        what = "encrypted: save a copy without a password" if _about_keys(error) else "damaged: it is no readable PDF"
        raise DocumentError(f"{shown} is {what}") from error
    if locked:
        raise DocumentError(f"{shown} is encrypted: save a copy without a password")
    text = "\n\n".join(page for page in pages if page)
    if not text:
        raise DocumentError(f"{shown} has no text, only pictures: recognize its text first, for example with ocrmypdf")
    return text


def _pages(reader: object, shown: str) -> list[str]:
    pages, chars, began_s = [], 0, time.monotonic()
    for number, page in enumerate(getattr(reader, "pages"), 1):  # noqa: B009 - pypdf is imported on use
        if number > MAX_PAGES:
            raise DocumentError(f"{shown} has more than {MAX_PAGES} pages: name a shorter file")
        text = _HYPHENATED.sub("", page.extract_text() or "").strip()
        chars += len(text)
        if chars > MAX_CHARS or time.monotonic() - began_s > MAX_S:
            raise DocumentError(
                f"{shown} is too long: its text cannot be read within {MAX_S:g} s and {MAX_CHARS} characters"
            )
        pages.append(text)
    return pages


def _about_keys(error: Exception) -> bool:
    """Returns whether pypdf failed because of encryption, for which it may need another package."""
    return "crypt" in f"{type(error).__name__} {error}".lower() or type(error).__name__ == "DependencyError"
