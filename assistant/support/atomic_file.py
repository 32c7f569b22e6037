"""Writes output files atomically, and detects an output path that is also an input."""

import os
import secrets
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


def write_whole(path: Path, content: bytes, *, private: bool = False, durable: bool = True) -> None:
    """Creates or replaces the file. On failure the previous content stays. Raises OSError.

    Args:
        path: The file.
        content: What it contains afterwards.
        private: Whether only the owner may read it, whatever its mode was before.
        durable: Whether it waits for the disk, so that the content survives a power cut.
    """
    target = path.resolve()  # a link stays a link
    if target.exists() and not target.is_file():  # a pipe or a terminal, which cannot be replaced
        target.write_bytes(content)
        return
    # In the same folder, because a rename is atomic only within one file system. The name is random and the file is
    # new: another user could have placed a link to another file there.
    draft = target.with_name(f".{target.name}.{secrets.token_hex(8)}.new")
    created = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS, 0o600 if private else 0o666)
    try:
        with os.fdopen(created, "wb") as stream:
            if private:
                with suppress(OSError, AttributeError):  # a file system without modes, or Windows
                    os.fchmod(created, 0o600)  # whatever the umask
            stream.write(content)
            stream.flush()
            if durable:
                os.fsync(created)  # otherwise the new name may survive a power cut without the content
        if target.exists() and not private:
            draft.chmod(target.stat().st_mode & 0o777)
        draft.replace(target)
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def is_among(path: Path, others: Iterable[Path]) -> bool:
    """Returns whether the path is one of these files, under any name. False if the file does not exist."""
    for other in others:
        with suppress(OSError):
            if path.samefile(other):
                return True
    return False
