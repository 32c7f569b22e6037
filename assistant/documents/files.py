"""Opens files, and finds the text in their content: plain text, markdown and PDF. Blocking.

Content is not trusted: `document_process` calls `text_of` in a process of its own.
"""

import errno
import os
import stat
from pathlib import Path

from assistant.documents import MAX_CHARS, DocumentError
from assistant.documents.pdf import pdf_text

MARKDOWN = frozenset({".md", ".markdown", ".mdown", ".mkd"})
"""File name endings of markdown."""

SNIFFED_BYTES = 8192
"""Bytes at the beginning of a file that show whether it is text."""

_PDF = b"%PDF-"
_BOMS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
_NO_TEXT = frozenset(range(32)) - frozenset(b"\t\n\v\f\r\x1b")
_NON_BLOCKING = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


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
