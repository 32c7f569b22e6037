"""Files that a person names for what a command makes: whole or not at all, and never one that the command reads."""

import os
import secrets
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Make the file, or put this in its place; where that fails, what was there before stays. Raises OSError."""
    target = path.resolve()  # a link stays one
    if target.exists() and not target.is_file():  # a pipe, a terminal: nothing can take its place
        target.write_bytes(content)
        return
    # Beside it: only within one file system a file takes another's place in one step.
    # A name that nobody can guess, and a new file: one could have been put there as a link to another.
    draft = target.with_name(f".{target.name}.{secrets.token_hex(8)}.new")
    os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
    try:
        draft.write_bytes(content)
        with draft.open("rb+") as stream:
            os.fsync(stream.fileno())  # else its new name may outlive a power cut, and what is in it not
        if target.exists():
            draft.chmod(target.stat().st_mode & 0o777)
        draft.replace(target)
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def is_among(path: Path, others: Iterable[Path]) -> bool:
    """Whether it is one of these files, under whatever name; one that is not there is none of them."""
    for other in others:
        with suppress(OSError):
            if path.samefile(other):
                return True
    return False
