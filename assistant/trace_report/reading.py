"""Traces from disk, one record after another: whole files are never held, and a torn last line is no obstacle."""

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
"""A turn's record as it was written (docs/traces.md); fields of newer versions stay in it."""


class _Placed(dict[str, Any]):
    """A record that knows where it stands."""

    __slots__ = ("place",)
    place: str


Made = TypeVar("Made")

BEGINNING = b'{"schema":'
"""Of every line: what a torn line is known by."""

READ_BYTES = 1 << 18
"""At a time: in steps of the usual 8 kB, reading a turn takes a fifth of the time that understanding it takes."""

LINES_TO_BEGIN = 8
"""Of a file, one of which is no torn line."""

NEEDED = frozenset(
    "conversation turn outcome speech_end_ms endpoint_ms response_latency_ms stages spans events attempts engines "
    "fallbacks error".split()
)
"""Fields without which a record says nothing; those that a newer version adds are not asked for."""


class TraceError(Exception):
    """A file that is no trace, or cannot be read: one sentence that names it and says what to do."""


def trace_files(paths: Sequence[Path]) -> list[Path]:
    """The files that are meant: a folder stands for the .jsonl files in it, by name, and so by age.

    Raises:
        TraceError: One does not exist or cannot be looked at, or a folder holds none.
    """
    files: list[Path] = []
    for path in paths:
        try:
            inside = traces_at(path)
        except OSError as error:
            raise unreadable(path, error) from error
        if not inside:
            raise TraceError(f"{path} holds no traces (*.jsonl); name another folder, or a file.")
        files += inside
    return files


def traces_at(path: Path) -> list[Path]:
    """A file itself, or the traces in a folder, by name. Raises OSError where it cannot be looked at."""
    if not stat.S_ISDIR(path.stat().st_mode):
        return [path]
    return sorted(file for file in path.iterdir() if file.name.endswith(".jsonl"))


def distinct(files: Sequence[Path], warn: Callable[[str], None]) -> list[Path]:
    """For whoever counts: without files that begin with the turn that another begins with.

    A copy, as the demo leaves one beside its sound; one that was scrubbed; one that was made while the conversation
    was held: that with the most turns stays.

    Args:
        files: As `trace_files` names them.
        warn: Hears one sentence where any is left out.

    Raises:
        TraceError: A file cannot be read.
    """
    kept: list[Path] = []
    at: dict[tuple[str, str], int] = {}
    twice: list[str] = []
    for path in files:
        try:
            first = _first_turn(path)
            if first not in at:
                at[first] = len(kept)
                kept.append(path)
                continue
            other = kept[at[first]]
            if not path.samefile(other) and _lines(path) > _lines(other):
                kept[at[first]], path, other = path, other, path  # noqa: PLW2901 - it takes the other's place
        except OSError as error:
            raise unreadable(path, error) from error
        twice.append(f"{path} ({other})")
    if twice:
        more = f" and {len(twice) - 3:,} more" if len(twice) > 3 else ""
        warn(f"left out, as the same turns are in another file: {', '.join(twice[:3])}{more}.")
    return kept


def _first_turn(path: Path) -> tuple[str, str]:
    """What a file begins with: conversation and turn; where it cannot be told, which file it is. Raises OSError."""
    status = path.stat()
    if stat.S_ISREG(status.st_mode):  # what is read of a pipe is gone
        with path.open("rb") as file:
            for line in islice(file, LINES_TO_BEGIN):
                with suppress(ValueError, TypeError, LookupError):
                    record: Any = _loaded(line)
                    return str(record["conversation"]), str(record["turn"])
    return str(status.st_dev), str(status.st_ino)


def _lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(1 for _ in file)


def unreadable(path: Path, error: OSError) -> TraceError:
    """What is said of a trace, or a folder of traces, that cannot be read."""
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return TraceError(f"{path} does not exist; `repartee config` shows where traces are written (trace.dir).")
    return TraceError(f"{path} cannot be read ({error.strerror}).")


def read_records(files: Sequence[Path], warn: Callable[[str], None]) -> Iterator[Record]:
    """Every record of every file, in order.

    Args:
        files: As `trace_files` names them.
        warn: Hears one sentence for each line that is left out, and for a file of a newer version.

    Raises:
        TraceError: A file cannot be read, or is no trace.
    """
    for path in files:
        try:
            with path.open("rb", buffering=READ_BYTES) as file:
                newer = False
                for number, line in enumerate(file, 1):
                    record = record_of(line, path, number, warn)
                    if record is None:
                        continue
                    if record["schema"] > SCHEMA and not newer:
                        newer = True
                        warn(newer_schema(path, record))
                    yield record
        except OSError as error:
            raise unreadable(path, error) from error


def newer_schema(path: Path | str, record: Record) -> str:
    """What is said, once a file, of records that a later version has written."""
    return f"{path} is of schema {record['schema']}; this version knows {SCHEMA} and ignores the rest."


def record_of(line: bytes, path: Path | str, number: int, warn: Callable[[str], None]) -> Record | None:
    """The line with this number; None for an empty or a torn one. Raises TraceError where it is something else."""
    try:
        record = _loaded(line)
    except ValueError as error:
        if not line.strip():
            return None
        # Where the power failed, some file systems leave zeros.
        if line[: len(BEGINNING)] == BEGINNING[: len(line)] or not line.strip(b"\0\r\n"):
            warn(f"{path}, line {number} is torn: left out. A crash or a full disk leaves such a line.")
            return None
        raise TraceError(
            f"{path}, line {number} is no JSON: not a trace. Traces are .jsonl files of trace.dir."
        ) from error
    if not isinstance(record, dict) or not isinstance(record.get("schema"), int):
        raise TraceError(
            f"{path}, line {number} is no turn's record: not a trace. Traces are .jsonl files of trace.dir."
        )
    if not record.keys() >= NEEDED:
        lacking = ", ".join(sorted(NEEDED - record.keys()))
        raise TraceError(f"{path}, line {number} lacks {lacking}: not a whole record of a turn.")
    placed = _Placed(record)
    placed.place = f"{path}, line {number}"
    return placed


def _loaded(line: bytes) -> object:
    """What the line says. Raises ValueError where it is no JSON.

    Half of a character (a model may have been cut off in the midst of one) is written as JSON has it, but is no text
    to orjson: it becomes a question mark, and the turn is not lost.
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


def understood(make: Callable[[Record], Made], record: Record, *, begins: bool = False) -> Made:
    """What is made of a record; raises TraceError where its fields are not what they should be.

    `begins`: it is the first of several of which something is made.
    """
    try:
        return make(record)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        place = record.place if isinstance(record, _Placed) else f"turn {record['turn']} of {record['conversation']}"
        place += ", or a later one of its conversation," if begins else ""
        what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise TraceError(f"{place} is no record as docs/traces.md has it: {what}.") from error
