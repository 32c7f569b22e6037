"""Makes files and folders that only their owner can read, whatever the umask: they hold what people said."""

import errno
import os
from contextlib import suppress
from pathlib import Path

BINARY = getattr(os, "O_BINARY", 0)
"""For `os.open`: Windows would write other ends of lines without it."""


def open_private(path: Path, flags: int) -> int:
    """Open a file, or make it with mode 0600, and return its descriptor. Raises OSError.

    A file that is there keeps its mode, which its owner may have chosen, unless `flags` have O_TRUNC: then its content
    is new, and so is its mode.
    """
    flags |= BINARY
    try:
        file = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        file = os.open(path, flags | os.O_CREAT, 0o600)
        if not flags & os.O_TRUNC:
            return file
    with suppress(OSError, AttributeError):  # another's file, a file system without modes, or Windows
        os.fchmod(file, 0o600)
    return file


def make_private_folder(path: Path) -> None:
    """Make a folder and those above it that are missing, with mode 0700. One that is there stays as it is.

    Raises OSError.
    """
    if path.is_dir():
        return
    if path.parent != path:
        make_private_folder(path.parent)
    try:
        path.mkdir(0o700)
    except FileExistsError:
        if not path.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path)) from None
        return  # somebody else has just made it
    with suppress(OSError):
        path.chmod(0o700)
