"""Documents of the allowed folders, by a name or pattern of the language model. Blocking: call it in a thread.

The model's words are not trusted. A name is a path below an allowed folder: it is not absolute and has no ".." and no
hidden component. No component may be a symbolic link. Files are opened component by component, so that nothing can be
exchanged between the check and the opening.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from assistant.documents import DocumentError
from assistant.documents.files import MARKDOWN

MAX_FILES = 2000
"""Files that are listed in all folders together."""

MAX_DEPTH = 6
"""Levels of folders below an allowed one that are listed."""

MAX_MATCHES = 8
"""Documents that one call may name."""

SUFFIXES = MARKDOWN | {".txt", ".text", ".rst", ".pdf"}
"""File name endings that are listed and read."""

_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_FOLDER = getattr(os, "O_DIRECTORY", 0)
_FILE = os.O_RDONLY | _NO_FOLLOW | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def find(folders: Sequence[Path], names: Sequence[str]) -> list[tuple[Path, str]]:
    """Returns the files that names or patterns mean, each once: its allowed folder, and its path below it.

    Raises DocumentError with what may be named, if something is not found or not allowed.
    """
    listed = list(listing(folders))
    files: list[tuple[Path, str]] = []
    for name in names:
        _check(name)
        matches = [entry for entry in listed if _matches(entry[1], name)]
        if not matches:
            some = ", ".join(path for _, path in listed[:20]) or "none"
            raise DocumentError(f"there is no such document in the allowed folders; there are: {some}")
        files += [entry for entry in matches if entry not in files]
    if len(files) > MAX_MATCHES:
        raise DocumentError(f"{len(files)} documents match: name at most {MAX_MATCHES} at a time")
    return files


def listing(folders: Sequence[Path]) -> Iterator[tuple[Path, str]]:
    """Yields the documents of the allowed folders: the folder, and the path below it with slashes."""
    left = MAX_FILES
    for folder in folders:
        for path in _below(folder, (), left):
            left -= 1
            yield folder, path


def open_document(folder: Path, path: str) -> int:
    """Returns the descriptor of a file of `listing`, opened for reading. Raises DocumentError."""
    _check(path)
    try:
        return _open(folder, PurePosixPath(path).parts)
    except OSError as error:
        raise DocumentError(f"{path} cannot be read: it is no document of the allowed folders") from error


def _check(name: str) -> None:
    """Raises DocumentError unless this is a harmless path or pattern below a folder."""
    parts = name.split("/")
    harmful = "\\" in name or "\0" in name or ":" in name or name.startswith(("/", "~"))
    if harmful or any(part in {"", ".."} or part.startswith(".") for part in parts):
        raise DocumentError("a document is named by its path in the allowed folders, as in notes/today.md")


def _matches(path: str, name: str) -> bool:
    """Returns whether a pattern means a path. Without a slash it may mean the file name alone. Case does not count."""
    path, name = path.casefold(), name.casefold()
    return fnmatchcase(path, name) or ("/" not in name and fnmatchcase(path.rpartition("/")[2], name))


def _below(folder: Path, parts: tuple[str, ...], left: int) -> Iterator[str]:
    try:
        with os.scandir(folder.joinpath(*parts)) as entries:
            visible = sorted(
                (entry for entry in entries if not entry.name.startswith(".")), key=lambda entry: entry.name
            )
    except OSError:
        return
    for entry in visible:
        path = (*parts, entry.name)
        if entry.is_symlink():
            continue
        if entry.is_dir(follow_symlinks=False):
            if len(path) <= MAX_DEPTH:
                for child in _below(folder, path, left):
                    left -= 1
                    yield child
        elif entry.is_file(follow_symlinks=False) and Path(entry.name).suffix.lower() in SUFFIXES and left > 0:
            left -= 1
            yield "/".join(path)


def _open(folder: Path, parts: Sequence[str]) -> int:
    """Opens a file below a folder, without following links. Raises OSError."""
    if os.open not in os.supports_dir_fd or not _NO_FOLLOW:
        path = folder.joinpath(*parts)
        steps = [folder.joinpath(*parts[: end + 1]) for end in range(len(parts))]
        if any(step.is_symlink() for step in steps) or not path.resolve().is_relative_to(folder.resolve()):
            raise PermissionError(str(path))
        return os.open(path, _FILE)
    folder_descriptor = os.open(folder, os.O_RDONLY | _FOLDER)
    try:
        for part in parts[:-1]:
            below = os.open(part, os.O_RDONLY | _FOLDER | _NO_FOLLOW, dir_fd=folder_descriptor)
            os.close(folder_descriptor)
            folder_descriptor = below
        descriptor = os.open(parts[-1], _FILE, dir_fd=folder_descriptor)
    finally:
        os.close(folder_descriptor)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise PermissionError(parts[-1])
    return descriptor
