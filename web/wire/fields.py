"""Checks of a JSON object's fields, put together in tables. An error names the field, what it is and what it may be.

Null counts as left out, unless null has a meaning of its own. A value is shown only where it is a number or one of a
few words: the rest may be what people said.
"""

import dataclasses
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Check = Callable[[object, str], Any]
"""(value, path) -> the value in the types of the program. Raises FieldError."""

PartCheck = Callable[[object, str, "Refusals"], Any]
"""The same for a value of several parts, each judged by itself: what is wrong in it is added to the refusals, and the
rest is returned. Raises FieldError where the value as a whole is wrong."""

MAX_ID_CHARS = 128
MAX_TEXT_CHARS = 1 << 20
MAX_DEPTH = 32
"""JSON that is handed on (a function's parameters) is not nested deeper."""

_SHOWN_CHARS = 40


class FieldError(Exception):
    """A field is not as it may be."""

    def __init__(self, code: str, message: str, param: str) -> None:
        super().__init__(message)
        self.code = code
        self.param = param


MAX_REFUSALS = 32
"""Fields of one event that are refused one by one; the last error counts the others."""


@dataclass(slots=True)
class Refusals:
    """Fields of one event that are refused while the others take effect."""

    errors: list[FieldError] = dataclasses.field(default_factory=list)
    more: int = 0

    @property
    def full(self) -> bool:
        """No more are told one by one."""
        return len(self.errors) >= MAX_REFUSALS

    def add(self, error: FieldError) -> None:
        """Another one."""
        if self.full:
            self.more += 1
        else:
            self.errors.append(error)

    def told(self) -> list[FieldError]:
        """What the client is told, in order."""
        if not self.more:
            return self.errors
        *first, last = self.errors
        return [*first, FieldError(last.code, f"{last}; {self.more} more fields are refused as well", last.param)]


@dataclass(frozen=True, slots=True)
class Field:
    """What a field may be.

    Attributes:
        required: It must be there.
        null: Null means something; otherwise it counts as left out.
        essential: The meaning of the others depends on it: where it is wrong, the object as a whole is.
        parts: Judges each of its parts by itself, see `accepted`.
        listed: Named among the allowed fields; else it is never right, not even as null.
    """

    check: Check
    required: bool = False
    null: bool = False
    essential: bool = False
    parts: PartCheck | None = None
    listed: bool = True


Table = Mapping[str, Field]


def checked(value: object, path: str, table: Table) -> dict[str, Any]:
    """The fields of an object that are there, each checked.

    Raises:
        FieldError: a field is wrong, missing or unknown, or the value is no object.
    """
    prefix = f"{path}." if path else ""
    if not isinstance(value, dict):
        raise wrong_type(path, value, "an object")
    for name in value:
        if name not in table:
            raise _unknown(prefix + name, table)
    found = {}
    for name, field in table.items():
        inner = value.get(name)
        if inner is None and not (field.null and name in value):
            if field.required:
                raise FieldError("missing_required_parameter", f"{prefix}{name} is missing", prefix + name)
            continue
        found[name] = None if inner is None else field.check(inner, prefix + name)
    return found


def accepted(value: object, path: str, table: Table, refusals: Refusals) -> dict[str, Any]:
    """The fields of an object that are right; each that is wrong or unknown is refused by itself.

    Raises:
        FieldError: the value is no object, or one of its required or essential fields is wrong.
    """
    prefix = f"{path}." if path else ""
    if not isinstance(value, dict):
        raise wrong_type(path, value, "an object")
    found = {}
    for name, inner in value.items():
        field = table.get(name)
        if field is None and refusals.full:
            refusals.more += 1
        elif field is None:
            refusals.add(_unknown(prefix + name, table))
        elif inner is None and not field.null and field.listed:
            continue
        else:
            try:
                found[name] = _part(field, inner, prefix + name, refusals)
            except FieldError as error:
                if field.required or field.essential:
                    raise
                refusals.add(error)
    for name, field in table.items():
        if field.required and name not in found:
            raise FieldError("missing_required_parameter", f"{prefix}{name} is missing", prefix + name)
    return found


def _part(field: Field, value: object, path: str, refusals: Refusals) -> Any:
    if value is None and field.listed:
        return None
    return field.check(value, path) if field.parts is None else field.parts(value, path, refusals)


def _unknown(path: str, table: Table) -> FieldError:
    allowed = ", ".join(sorted(name for name, field in table.items() if field.listed))
    return FieldError("unknown_parameter", f"unknown field {shown(path)}; allowed are {allowed}", path[:MAX_ID_CHARS])


def nested(table: Table) -> Check:
    """An object with these fields."""
    return lambda value, path: checked(value, path, table)


def in_parts(table: Table, *, null: bool = False) -> Field:
    """A field that is an object with these fields, each judged by itself."""
    return Field(nested(table), null=null, parts=lambda value, path, refusals: accepted(value, path, table, refusals))


def moved(place: str) -> Field:
    """A field of the beta protocol, which is somewhere else now, or nowhere ("")."""

    def check(_value: object, path: str) -> None:
        remedy = f"use {place}" if place else "leave it out"
        raise FieldError("unknown_parameter", f"unknown field {shown(path)} of the beta protocol; {remedy}", path)

    return Field(check, listed=False)


def text(*, most_chars: int = MAX_TEXT_CHARS, least_chars: int = 0) -> Check:
    """A string of bounded length."""

    def check(value: object, path: str) -> str:
        if not isinstance(value, str):
            raise wrong_type(path, value, "a string")
        if not least_chars <= len(value) <= most_chars:
            raise wrong_value(path, f"has {len(value)} characters", f"{least_chars} to {most_chars}")
        return value

    return check


IDENTIFIER = text(least_chars=1, most_chars=MAX_ID_CHARS)
TEXT = text()


def one_of(*allowed: str, unsupported: Mapping[str, str] | None = None) -> Check:
    """One of a few words; those of `unsupported` exist in the protocol but not here, and a sentence says so."""

    def check(value: object, path: str) -> str:
        if not isinstance(value, str):
            raise wrong_type(path, value, f"one of {listed(allowed)}")
        if unsupported and value in unsupported:
            raise not_supported(path, unsupported[value])
        if value not in allowed:
            raise wrong_value(path, f"is {shown(value)}", listed(allowed))
        return value

    return check


def flag(value: object, path: str) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise wrong_type(path, value, "true or false")
    return value


def number(least: float, most: float) -> Check:
    """A finite number within bounds, as a float."""

    def check(value: object, path: str) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise wrong_type(path, value, "a number")
        if not least <= value <= most:
            raise wrong_value(path, f"is {shown(value)}", f"{least:g} to {most:g}")
        return float(value)

    return check


def whole(least: int, most: int) -> Check:
    """A whole number within bounds; 20.0 is one."""
    within = number(least, most)

    def check(value: object, path: str) -> int:
        found: float = within(value, path)
        if not found.is_integer():
            raise wrong_value(path, f"is {shown(value)}", f"whole numbers from {least} to {most}")
        return int(found)

    return check


def listing(check: Check, *, most: int, least: int = 0) -> Check:
    """A list of bounded length."""

    def check_all(value: object, path: str) -> list[Any]:
        if not isinstance(value, list):
            raise wrong_type(path, value, "a list")
        if not least <= len(value) <= most:
            raise wrong_value(path, f"has {len(value)} entries", f"{least} to {most}")
        return [check(inner, f"{path}[{index}]") for index, inner in enumerate(value)]

    return check_all


def anything(_value: object, _path: str) -> None:
    """Accepted and without effect."""


def missing_here(reason: str) -> Check:
    """Part of the protocol, but not of this server."""

    def check(_value: object, path: str) -> None:
        raise not_supported(path, reason)

    return check


def json_text(value: object, path: str) -> str:
    """Any object, as JSON text."""
    if not isinstance(value, dict):
        raise wrong_type(path, value, "an object")
    waiting: list[tuple[object, int]] = [(value, 1)]
    while waiting:
        inner, depth = waiting.pop()
        if depth > MAX_DEPTH:
            raise wrong_value(path, f"is nested deeper than {MAX_DEPTH} levels", f"{MAX_DEPTH} levels")
        if isinstance(inner, dict):
            waiting += [(entry, depth + 1) for entry in inner.values()]
        elif isinstance(inner, list):
            waiting += [(entry, depth + 1) for entry in inner]
    try:
        return json.dumps(value, allow_nan=False)
    except ValueError as error:
        raise wrong_value(path, "has a number too large for JSON", "finite numbers") from error


def wrong_type(path: str, value: object, expected: str) -> FieldError:
    """It should have been something else altogether."""
    return FieldError("invalid_type", f"{path or 'the event'} is {_kind(value)}; it must be {expected}", path)


def wrong_value(path: str, seen: str, allowed: str) -> FieldError:
    """It is of the right type, but not allowed."""
    return FieldError("invalid_value", f"{path} {seen}; allowed: {allowed}", path)


def not_supported(path: str, reason: str) -> FieldError:
    """It is in the protocol, but not here."""
    return FieldError("not_supported", f"{path} is not supported: {reason}", path)


def shown(value: object) -> str:
    """A number or a word for an error message, cut to a readable length."""
    whole_text = repr(value)
    return whole_text if len(whole_text) <= _SHOWN_CHARS else f"{whole_text[:_SHOWN_CHARS]}…"


def listed(words: tuple[str, ...]) -> str:
    """The words, quoted, with commas."""
    return ", ".join(repr(word) for word in words)


def _kind(value: object) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    kinds: list[tuple[type, str]] = [(str, "a string"), (dict, "an object"), (list, "a list")]
    return next((name for kind, name in kinds if isinstance(value, kind)), "a number")
