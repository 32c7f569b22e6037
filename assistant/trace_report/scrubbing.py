"""Removes the words from traces that were written with `trace.words = true`."""

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import orjson

from assistant.trace.record import SCHEMA, without_name
from assistant.trace_report.reading import TraceError, parse_line


@dataclass(frozen=True, slots=True)
class Scrubbed:
    """Result of scrubbing a file: the number of turns, and of turns that held words."""

    turns: int
    held_words: int


def scrub(path: Path, warn: Callable[[str], None]) -> Scrubbed:
    """Rewrites a trace without words, atomically. Leaves a file without words unchanged.

    Drops torn lines, because they may hold words. Keeps everything else, including lines without words, byte for byte.

    Args:
        path: A trace.
        warn: Called with one message for each dropped line.

    Raises:
        TraceError: The file is no trace, cannot be read or written, or was written to in the meantime.
    """
    try:
        path = path.resolve()  # a link stays a link: the words are in its target
        before = path.stat()
        if before.st_nlink > 1:
            warn(f"{path} has other hard links ({before.st_nlink - 1}), which keep the words; scrub them too.")
        # In the same folder: replacing a file is atomic only within one file system.
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
        raise TraceError(f"{path} cannot be rewritten ({error.strerror}); it is unchanged.") from error
    return done


def _copy(path: Path, draft: IO[bytes], warn: Callable[[str], None]) -> tuple[Scrubbed, bool]:
    turns = held = 0
    changed = False
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            record = parse_line(line, path, number, warn)
            if record is None:
                changed = True
                continue
            if record["schema"] > SCHEMA:
                raise TraceError(f"{path} has schema {record['schema']}, which only a newer version can scrub.")
            turns += 1
            if record.get("words") is None:
                draft.write(line)
            else:
                held, changed = held + 1, True
                scrubbed = record | {"words": None}
                if "speaker" in record:
                    scrubbed["speaker"] = without_name(str(record["speaker"]))
                draft.write(orjson.dumps(scrubbed, option=orjson.OPT_APPEND_NEWLINE))
    return Scrubbed(turns, held), changed
