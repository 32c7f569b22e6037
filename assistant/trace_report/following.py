"""Follows traces while they are written: one file, or all files of a folder, including files created later."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from assistant.trace.record import SCHEMA
from assistant.trace_report.reading import Record, newer_schema, parse_line, read_error, traces_at

POLL_S = 0.2
"""Poll interval in seconds. A record is on disk within a second after its turn ends; a poll costs one `stat` per file.
"""

MAX_BYTES = 1 << 22
"""Maximum number of bytes read from one file at a time. A record has about 5 kB."""


class FileTail:
    """Reads the lines appended to one file. Not thread-safe."""

    def __init__(self, path: Path, *, from_start: bool) -> None:
        """Follows `path` from its start, or from its current end."""
        self.path = path
        self._position = 0 if from_start else path.stat().st_size
        self._begun = b""
        self._number = 0  # number of lines read since following began
        self._newer_said = False

    def read_new(self, warn: Callable[[str], None]) -> list[Record]:
        """Returns the records written since the last call, from complete lines only. Raises TraceError for no trace."""
        size = self.path.stat().st_size
        if size < self._position:
            self._position, self._begun = (
                size,
                b"",
            )  # scrubbed, or half a line was taken back: the rest was already returned
        if size == self._position:
            return []
        with self.path.open("rb") as file:
            file.seek(self._position)
            read = file.read(MAX_BYTES)
        self._position += len(read)
        *lines, self._begun = (self._begun + read).split(b"\n")
        read_lines = [parse_line(line, self.path, self._number + place, warn) for place, line in enumerate(lines, 1)]
        self._number += len(lines)
        records = [record for record in read_lines if record is not None]
        newer = next((record for record in records if record["schema"] > SCHEMA), None)
        if newer is not None and not self._newer_said:
            self._newer_said = True
            warn(newer_schema(self.path, newer))
        return records


def follow(
    path: Path, warn: Callable[[str], None], pause: Callable[[float], None], *, to_come: bool = False
) -> Iterator[Record]:
    """Yields new records, without end. Reads files created in the meantime from their start.

    Args:
        path: A trace, or a folder of traces.
        warn: Called with a message about torn lines.
        pause: Called with the number of seconds to sleep between polls.
        to_come: Whether `path` may not exist yet, such as a trace folder that was never written to.

    Raises:
        TraceError: `path` does not exist and `to_come` is false, cannot be read, or is no trace.
    """
    try:
        for file in [] if to_come and not path.exists() else traces_at(path):
            if file.is_file():  # opening a pipe would block until a writer opens it
                file.open("rb").close()  # fails early: an unreadable file has a size, but would never yield a record
    except OSError as error:
        raise read_error(Path(error.filename or path), error) from error
    tails: dict[Path, FileTail] = {}
    started = False
    while True:
        try:
            files = traces_at(path)
            # A file that disappears and comes back counts as new.
            tails = {file: tail for file, tail in tails.items() if file in files}
            for file in files:
                if file not in tails:
                    tails[file] = FileTail(file, from_start=started)
                yield from tails[file].read_new(warn)
        except FileNotFoundError:  # removed between two polls
            tails = {file: tail for file, tail in tails.items() if os.access(file, os.F_OK)}
        except OSError as error:
            raise read_error(Path(error.filename or path), error) from error
        started = True
        pause(POLL_S)
