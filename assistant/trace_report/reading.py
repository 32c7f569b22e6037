"""Reads trace records one at a time. Never holds a whole file; skips a torn last line."""

import json
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import orjson

from assistant.trace.record import SCHEMA

Record = dict[str, Any]
"""A turn's record as it was written (docs/lab/trace-record.md). Keeps the fields of newer versions."""


class _Placed(dict[str, Any]):
    """A record with its position in the file."""

    __slots__ = ("place",)
    place: str


Made = TypeVar("Made")

BEGINNING = b'{"schema":'
"""Prefix of every line. Identifies torn lines."""

READ_BYTES = 1 << 18
"""Number of bytes per read. With the default of 8 kB, reading a turn takes a fifth of the time that parsing it takes.
"""

LINES_TO_BEGIN = 8
"""Number of lines at the start of a file, one of which must not be torn."""

NEEDED = frozenset(
    "conversation turn outcome speech_end_ms endpoint_ms response_latency_ms stages spans events attempts engines "
    "fallbacks error".split()
)
"""Required fields. A record without them is useless; fields added by newer versions are not required."""

_OLD_NAMES = {"told": "turn_events", "told_before": "turn_events_before"}
"""Names of fields in records of schema 1 and 2, with the present ones. Below: of their events and counters."""

_OLD_EVENTS = {"judged": "estimate"}
_OLD_COUNTERS = {"invented_frames": "inserted_frames"}


class TraceError(Exception):
    """A file is no trace or cannot be read. The message names the file and says what to do."""


def trace_files(paths: Sequence[Path]) -> list[Path]:
    """Returns the trace files for the given paths. A folder stands for its .jsonl files, by name and so by age.

    Raises:
        TraceError: A path does not exist or cannot be accessed, or a folder holds no trace.
    """
    files: list[Path] = []
    for path in paths:
        try:
            inside = traces_at(path)
        except OSError as error:
            raise read_error(path, error) from error
        if not inside:
            raise TraceError(f"{path} contains no traces (*.jsonl); name another folder, or a file.")
        files += inside
    return files


def traces_at(path: Path) -> list[Path]:
    """Returns the file itself, or the traces of a folder by name. Raises OSError if the path cannot be accessed."""
    if not stat.S_ISDIR(path.stat().st_mode):
        return [path]
    return sorted(file for file in path.iterdir() if file.name.endswith(".jsonl"))


def distinct(files: Sequence[Path], warn: Callable[[str], None]) -> list[Path]:
    """Removes files that begin with the same turn as another file, so that no turn counts twice.

    Such files are copies: the demo leaves one next to its sound; others were scrubbed, or copied while the conversation
    was still going on. Keeps the copy with the most turns.

    Args:
        files: As returned by `trace_files`.
        warn: Called with one message if any file is left out.

    Raises:
        TraceError: A file cannot be read.
    """
    kept: list[Path] = []
    places: dict[tuple[str, str], int] = {}
    twice: list[str] = []
    for path in files:
        try:
            first = _first_turn(path)
            if first not in places:
                places[first] = len(kept)
                kept.append(path)
                continue
            other = kept[places[first]]
            if not path.samefile(other) and _lines(path) > _lines(other):
                kept[places[first]], path, other = path, other, path  # noqa: PLW2901 - it takes the other's place
        except OSError as error:
            raise read_error(path, error) from error
        twice.append(f"{path} ({other})")
    if twice:
        more = f" and {len(twice) - 3:,} more" if len(twice) > 3 else ""
        warn(f"left out, because another file has the same turns: {', '.join(twice[:3])}{more}.")
    return kept


def _first_turn(path: Path) -> tuple[str, str]:
    """Returns conversation and turn of a file's first record, or else the file's identity. Raises OSError."""
    status = path.stat()
    if stat.S_ISREG(status.st_mode):  # reading a pipe would consume its data
        with path.open("rb") as file:
            for line in islice(file, LINES_TO_BEGIN):
                with suppress(ValueError, TypeError, LookupError):
                    record: Any = _loaded(line)
                    return str(record["conversation"]), str(record["turn"])
    return str(status.st_dev), str(status.st_ino)


def _lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(1 for _ in file)


def read_error(path: Path, error: OSError) -> TraceError:
    """Returns the error for a trace, or a folder of traces, that cannot be read."""
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return TraceError(f"{path} does not exist; `repartee config` shows where traces are written (trace.dir).")
    return TraceError(f"{path} cannot be read ({error.strerror}).")


def read_records(files: Sequence[Path], warn: Callable[[str], None]) -> Iterator[Record]:
    """Yields every record of every file, in order.

    Args:
        files: As returned by `trace_files`.
        warn: Called with one message for each skipped line, and for a file of a newer version.

    Raises:
        TraceError: A file cannot be read, or is no trace.
    """
    for path in files:
        try:
            with path.open("rb", buffering=READ_BYTES) as file:
                newer = False
                for number, line in enumerate(file, 1):
                    record = parse_line(line, path, number, warn)
                    if record is None:
                        continue
                    if record["schema"] > SCHEMA and not newer:
                        newer = True
                        warn(newer_schema(path, record))
                    yield record
        except OSError as error:
            raise read_error(path, error) from error


def newer_schema(path: Path | str, record: Record) -> str:
    """Returns the warning for records of a newer version. It is shown once per file."""
    return f"{path} has schema {record['schema']}; this version supports {SCHEMA} and ignores other fields."


def parse_line(line: bytes, path: Path | str, number: int, warn: Callable[[str], None]) -> Record | None:
    """Parses one line. Returns None for an empty or torn line; raises TraceError for any other invalid line."""
    try:
        record = _loaded(line)
    except ValueError as error:
        if not line.strip():
            return None
        # After a power failure some file systems leave zero bytes.
        if line[: len(BEGINNING)] == BEGINNING[: len(line)] or not line.strip(b"\0\r\n"):
            warn(f"{path}, line {number} is incomplete and left out. A crash or a full disk leaves such a line.")
            return None
        raise TraceError(
            f"{path}, line {number} is not JSON, so this is not a trace. Traces are .jsonl files of trace.dir."
        ) from error
    if not isinstance(record, dict) or not isinstance(record.get("schema"), int):
        raise TraceError(
            f"{path}, line {number} is not a turn record, so this is not a trace. Traces are .jsonl files of trace.dir."
        )
    if not record.keys() >= NEEDED:
        lacking = ", ".join(sorted(NEEDED - record.keys()))
        raise TraceError(f"{path}, line {number} lacks {lacking}, so it is not a complete turn record.")
    placed = _Placed(record)
    if placed["schema"] < SCHEMA:
        _rename(placed)
    placed.place = f"{path}, line {number}"
    return placed


def _rename(record: Record) -> None:
    """Gives the present names to what a record of schema 1 or 2 names otherwise."""
    for old, name in _OLD_NAMES.items():
        if old in record:
            record[name] = record.pop(old)
    with suppress(AttributeError, LookupError, TypeError):  # its reader reports a record of another form
        for event in record["events"]:
            event["name"] = _OLD_EVENTS.get(event["name"], event["name"])
        record["counters"] = {_OLD_COUNTERS.get(name, name): count for name, count in record["counters"].items()}


def _loaded(line: bytes) -> object:
    """Parses a line as JSON. Raises ValueError if it is no JSON.

    A model may be cut off within a character. JSON can express the lone surrogate, but orjson rejects it. It is
    replaced by a question mark, so that the turn is not lost.
    """
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        if b"\\ud" not in line:
            raise
    try:
        text = json.dumps(json.loads(line), ensure_ascii=False)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    return orjson.loads(text.encode(errors="replace"))


def convert_record(make: Callable[[Record], Made], record: Record, *, begins: bool = False) -> Made:
    """Returns `make(record)`. Raises TraceError if the fields of the record are not valid.

    `begins`: the record is the first of several from which something is made.
    """
    try:
        return make(record)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        place = record.place if isinstance(record, _Placed) else f"turn {record['turn']} of {record['conversation']}"
        place += ", or a later one of its conversation," if begins else ""
        what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise TraceError(f"{place} is not a record as in docs/lab/trace-record.md: {what}.") from error
