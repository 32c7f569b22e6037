"""Reads the text of files: plain text, markdown and PDF. Blocking: call it in a thread."""

import errno
import os
import stat
from pathlib import Path

from assistant.documents import Document, DocumentError

MARKDOWN = frozenset({".md", ".markdown", ".mdown", ".mkd"})
"""File name endings of markdown."""

SNIFFED_BYTES = 8192
"""Bytes at the beginning of a file that show whether it is text."""

_PDF = b"%PDF-"
_BOMS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
_NO_TEXT = frozenset(range(32)) - frozenset(b"\t\n\v\f\r\x1b")
_NON_BLOCKING = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def read_file(path: Path, max_mb: int, name: str = "") -> Document:
    """Returns the text of a file. `name`: how it is told; "" for the file's own name. Raises DocumentError."""
    name = name or path.name or str(path)
    try:
        descriptor = os.open(path, os.O_RDONLY | _NON_BLOCKING)
    except OSError as error:
        raise DocumentError(_unopened(str(path), error)) from error
    return read_descriptor(descriptor, str(path), max_mb, name)


def read_descriptor(descriptor: int, shown: str, max_mb: int, name: str) -> Document:
    """Returns the text of an open file, and closes it.

    Args:
        descriptor: The open file.
        shown: How errors name it.
        max_mb: Largest size in MB (1,000,000 bytes).
        name: Name of the document; its ending tells whether it is markdown.

    Raises:
        DocumentError: It is no regular file, too large, empty, no text, or cannot be read.
    """
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        if stat.S_ISDIR(mode):
            raise DocumentError(f"{shown} is a folder: name the files in it, as in {shown.rstrip('/')}/*.md")
        raise DocumentError(f"{shown} is no regular file: name a text, markdown or PDF file")
    max_bytes = max_mb * 1_000_000
    try:
        with open(descriptor, "rb") as file:
            content = file.read(max_bytes + 1)
    except OSError as error:
        raise DocumentError(_unopened(shown, error)) from error
    if len(content) > max_bytes:
        raise DocumentError(f"{shown} is larger than {max_mb} MB: raise documents.max_file_mb, or name a smaller file")
    if not content.strip():
        raise DocumentError(f"{shown} is empty")
    return Document(name, _text_of(content, shown), Path(name).suffix.lower() in MARKDOWN)


def _text_of(content: bytes, shown: str) -> str:
    if content.startswith(_PDF):
        from assistant.documents.pdf import pdf_text  # noqa: PLC0415 - an optional extra

        return pdf_text(content, shown)
    encoding = next((name for mark, name in _BOMS if content.startswith(mark)), "utf-8")
    if encoding != "utf-16" and any(byte in _NO_TEXT for byte in content[:SNIFFED_BYTES]):
        raise DocumentError(f"{shown} is a binary file: name a text, markdown or PDF file")
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        raise DocumentError(
            f"{shown} has an unknown encoding (it is not UTF-8, see byte {error.start}): convert it, for example with "
            "`iconv -f latin1 -t utf-8`"
        ) from error
    if not text.strip("\ufeff\0 \t\r\n"):
        raise DocumentError(f"{shown} is empty")
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
