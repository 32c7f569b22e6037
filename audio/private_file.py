"""Creates files and folders that only their owner can read, whatever the umask: they contain conversations."""

import errno
import os
from contextlib import suppress
from pathlib import Path

BINARY = getattr(os, "O_BINARY", 0)
"""Flag for `os.open`: without it Windows converts line ends."""


def open_private(path: Path, flags: int) -> int:
    """Opens a file, creating it with mode 0600 if needed, and returns its descriptor. Raises OSError.

    An existing file keeps its mode, which its owner may have chosen. With O_TRUNC in `flags` its content is new, and it
    gets mode 0600.
    """
    flags |= BINARY
    try:
        file = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        file = os.open(path, flags | os.O_CREAT, 0o600)
        if not flags & os.O_TRUNC:
            return file
    with suppress(OSError, AttributeError):  # another user's file, a file system without modes, or Windows
        os.fchmod(file, 0o600)
    return file


def make_private_folder(path: Path) -> None:
    """Creates a folder and its missing parents with mode 0700. An existing folder is unchanged.

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
        return  # created concurrently
    with suppress(OSError):
        path.chmod(0o700)
