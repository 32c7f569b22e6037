"""Follows traces while they are written: one file, or every file of a folder, also those that are yet to come."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from assistant.trace.record import SCHEMA
from assistant.trace_report.reading import Record, newer_schema, record_of, traces_at, unreadable

POLL_S = 0.2
"""A record is on disk within a second of its turn's end; looking for it costs one `stat` a file."""

MOST_BYTES = 1 << 22
"""Read of one file at a time; a record is some 5 kB."""


class FileTail:
    """The end of one file. Not thread-safe."""

    def __init__(self, path: Path, *, from_start: bool) -> None:
        """Follow `path`, from its start or from where it ends now."""
        self.path = path
        self._at = 0 if from_start else path.stat().st_size
        self._begun = b""
        self._number = 0  # of lines read: since it is followed
        self._newer_said = False

    def news(self, warn: Callable[[str], None]) -> list[Record]:
        """What was written since the last call, whole lines only. Raises TraceError for what is no trace."""
        size = self.path.stat().st_size
        if size < self._at:
            self._at, self._begun = size, b""  # scrubbed, or half a line was taken back: what is left was shown
        if size == self._at:
            return []
        with self.path.open("rb") as file:
            file.seek(self._at)
            read = file.read(MOST_BYTES)
        self._at += len(read)
        *lines, self._begun = (self._begun + read).split(b"\n")
        read_lines = [record_of(line, self.path, self._number + place, warn) for place, line in enumerate(lines, 1)]
        self._number += len(lines)
        found = [record for record in read_lines if record is not None]
        newer = next((record for record in found if record["schema"] > SCHEMA), None)
        if newer is not None and not self._newer_said:
            self._newer_said = True
            warn(newer_schema(self.path, newer))
        return found


def follow(
    path: Path, warn: Callable[[str], None], pause: Callable[[float], None], *, to_come: bool = False
) -> Iterator[Record]:
    """New records, without end: from now on, and whole files of conversations that begin meanwhile.

    Args:
        path: A trace, or a folder of traces.
        warn: Hears of torn lines.
        pause: Waits for so many seconds: between looks.
        to_come: It may not be there yet, as a folder in which nothing was ever written.

    Raises:
        TraceError: It does not exist and is not to come, cannot be read, or is no trace.
    """
    try:
        for file in [] if to_come and not path.exists() else traces_at(path):
            if file.is_file():  # a pipe would wait for whoever writes into it
                file.open("rb").close()  # a size can be seen of what cannot be read: there would never be news
    except OSError as error:
        raise unreadable(Path(error.filename or path), error) from error
    tails: dict[Path, FileTail] = {}
    started = False
    while True:
        try:
            files = traces_at(path)
            tails = {file: tail for file, tail in tails.items() if file in files}  # one that comes back is a new one
            for file in files:
                if file not in tails:
                    tails[file] = FileTail(file, from_start=started)
                yield from tails[file].news(warn)
        except FileNotFoundError:  # removed between two looks
            tails = {file: tail for file, tail in tails.items() if os.access(file, os.F_OK)}
        except OSError as error:
            raise unreadable(Path(error.filename or path), error) from error
        started = True
        pause(POLL_S)
