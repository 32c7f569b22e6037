"""Takes the words out of traces that were written with `trace.words = true`."""

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import orjson

from assistant.trace.record import SCHEMA
from assistant.trace_report.reading import TraceError, record_of


@dataclass(frozen=True, slots=True)
class Scrubbed:
    """What became of a file: its turns, and those among them that held words."""

    turns: int
    held_words: int


def scrub(path: Path, warn: Callable[[str], None]) -> Scrubbed:
    """Rewrite a trace without words, whole or not at all; a file without words stays as it is.

    A torn line is left out: it may hold words. Everything else stays to the letter, lines without words included.

    Args:
        path: A trace.
        warn: Hears one sentence for each line that is left out.

    Raises:
        TraceError: It is no trace, cannot be read or written, or was written to meanwhile.
    """
    try:
        path = path.resolve()  # a link stays one: the words are in what it leads to
        before = path.stat()
        if before.st_nlink > 1:
            warn(
                f"{path} has {before.st_nlink - 1} more names (hard links): under those the words stay; scrub them too."
            )
        # Beside it: only within one file system a file takes another's place in one step.
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
        draft = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                done, changed = _copy(path, file, warn)
                file.flush()
                os.fsync(handle)
            draft.chmod(before.st_mode & 0o777)
            os.utime(draft, ns=(before.st_atime_ns, before.st_mtime_ns))
            if (now := path.stat()).st_mtime_ns != before.st_mtime_ns or now.st_size != before.st_size:
                raise TraceError(f"{path} is being written; scrub it when its conversation has ended.")
            if changed:
                draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise TraceError(f"{path} cannot be rewritten ({error.strerror}); it is as it was.") from error
    return done


def _copy(path: Path, draft: IO[bytes], warn: Callable[[str], None]) -> tuple[Scrubbed, bool]:
    turns = held = 0
    changed = False
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            record = record_of(line, path, number, warn)
            if record is None:
                changed = True
                continue
            if record["schema"] > SCHEMA:
                raise TraceError(
                    f"{path} is of schema {record['schema']}: where it keeps words, a newer version knows."
                )
            turns += 1
            if record.get("words") is None:
                draft.write(line)
            else:
                held, changed = held + 1, True
                draft.write(orjson.dumps(record | {"words": None}, option=orjson.OPT_APPEND_NEWLINE))
    return Scrubbed(turns, held), changed
