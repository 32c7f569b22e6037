"""Checks the fields of JSON objects against tables. An error names the field, its value and the allowed values.

Null counts as missing, unless null has its own meaning. Errors show only numbers and keywords, because other values may
be what people said.
"""

import dataclasses
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Check = Callable[[object, str], Any]
"""(value, path) -> the value converted to the program's types. Raises FieldError."""

PartCheck = Callable[[object, str, "Refusals"], Any]
"""The same for a value whose parts are checked one by one: errors are added to the refusals, valid parts are returned.
Raises FieldError if the value as a whole is invalid."""

MAX_ID_CHARS = 128
MAX_TEXT_CHARS = 1 << 20
MAX_DEPTH = 32
"""Deepest nesting of JSON that is passed on, such as a function's parameters."""

_SHOWN_CHARS = 40


class FieldError(Exception):
    """A field is invalid."""

    def __init__(self, code: str, message: str, param: str) -> None:
        super().__init__(message)
        self.code = code
        self.param = param


MAX_REFUSALS = 32
"""Errors sent for the fields of one event; the last one gives the number of the others."""


@dataclass(slots=True)
class Refusals:
    """Collects the errors of invalid fields of one event, whose other fields take effect."""

    errors: list[FieldError] = dataclasses.field(default_factory=list)
    more: int = 0

    @property
    def full(self) -> bool:
        """Whether further errors are only counted."""
        return len(self.errors) >= MAX_REFUSALS

    def add_error(self, error: FieldError) -> None:
        """Adds an error."""
        if self.full:
            self.more += 1
        else:
            self.errors.append(error)

    def for_client(self) -> list[FieldError]:
        """Returns the errors for the client, in order."""
        if not self.more:
            return self.errors
        *first, last = self.errors
        more = "1 more field is" if self.more == 1 else f"{self.more} more fields are"
        return [*first, FieldError(last.code, f"{last}; {more} refused as well", last.param)]


@dataclass(frozen=True, slots=True)
class Field:
    """Describes a field.

    Attributes:
        check: Converts the value or raises FieldError.
        required: Whether it must be present.
        null: Whether null has a meaning; otherwise null counts as missing.
        essential: Whether the meaning of other fields depends on it: if it is invalid, so is the whole object.
        parts: Checks its parts one by one, see `accepted`.
        listed: Whether error messages list it as allowed. If not, it is always an error, even as null.
    """

    check: Check
    required: bool = False
    null: bool = False
    essential: bool = False
    parts: PartCheck | None = None
    listed: bool = True


Table = Mapping[str, Field]


def checked(value: object, path: str, table: Table) -> dict[str, Any]:
    """Checks all fields of an object and returns the present ones.

    Raises:
        FieldError: A field is invalid, missing or unknown, or the value is not an object.
    """
    prefix = f"{path}." if path else ""
    if not isinstance(value, dict):
        raise wrong_type(path, value, "an object")
    for name in value:
        if name not in table:
            raise _unknown(prefix + name, table)
    result = {}
    for name, field in table.items():
        inner = value.get(name)
        if inner is None and not (field.null and name in value):
            if field.required:
                raise FieldError("missing_required_parameter", f"{prefix}{name} is missing", prefix + name)
            continue
        result[name] = None if inner is None else field.check(inner, prefix + name)
    return result


def accepted(value: object, path: str, table: Table, refusals: Refusals) -> dict[str, Any]:
    """Returns the valid fields of an object; adds an error for each invalid or unknown field.

    Raises:
        FieldError: The value is not an object, or one of its required or essential fields is invalid.
    """
    prefix = f"{path}." if path else ""
    if not isinstance(value, dict):
        raise wrong_type(path, value, "an object")
    result = {}
    for name, inner in value.items():
        field = table.get(name)
        if field is None and refusals.full:
            refusals.more += 1
        elif field is None:
            refusals.add_error(_unknown(prefix + name, table))
        elif inner is None and not field.null and field.listed:
            continue
        else:
            try:
                result[name] = _part(field, inner, prefix + name, refusals)
            except FieldError as error:
                if field.required or field.essential:
                    raise
                refusals.add_error(error)
    for name, field in table.items():
        if field.required and name not in result:
            raise FieldError("missing_required_parameter", f"{prefix}{name} is missing", prefix + name)
    return result


def _part(field: Field, value: object, path: str, refusals: Refusals) -> Any:
    if value is None and field.listed:
        return None
    return field.check(value, path) if field.parts is None else field.parts(value, path, refusals)


def _unknown(path: str, table: Table) -> FieldError:
    allowed = ", ".join(sorted(name for name, field in table.items() if field.listed))
    return FieldError("unknown_parameter", f"unknown field {shown(path)}; allowed are {allowed}", path[:MAX_ID_CHARS])


def nested(table: Table) -> Check:
    """Returns a check for an object with these fields."""
    return lambda value, path: checked(value, path, table)


def in_parts(table: Table, *, null: bool = False) -> Field:
    """Returns a field for an object whose fields are checked one by one."""
    return Field(nested(table), null=null, parts=lambda value, path, refusals: accepted(value, path, table, refusals))


def text(*, max_chars: int = MAX_TEXT_CHARS, min_chars: int = 0) -> Check:
    """Returns a check for a string of bounded length."""

    def check(value: object, path: str) -> str:
        if not isinstance(value, str):
            raise wrong_type(path, value, "a string")
        if not min_chars <= len(value) <= max_chars:
            raise wrong_value(path, f"has {len(value)} characters", f"{min_chars} to {max_chars}")
        return value

    return check


IDENTIFIER = text(min_chars=1, max_chars=MAX_ID_CHARS)
TEXT = text()


def one_of(*allowed: str, unsupported: Mapping[str, str] | None = None) -> Check:
    """Returns a check for one of a few keywords.

    `unsupported`: keywords of the protocol that this server lacks, and why.
    """

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
    """Checks a boolean."""
    if not isinstance(value, bool):
        raise wrong_type(path, value, "true or false")
    return value


def number(minimum: float, maximum: float) -> Check:
    """Returns a check for a finite number within bounds, converted to float."""

    def check(value: object, path: str) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise wrong_type(path, value, "a number")
        if not minimum <= value <= maximum:
            raise wrong_value(path, f"is {shown(value)}", f"{minimum:g} to {maximum:g}")
        return float(value)

    return check


def whole(minimum: int, maximum: int) -> Check:
    """Returns a check for a whole number within bounds; 20.0 is allowed."""
    within = number(minimum, maximum)

    def check(value: object, path: str) -> int:
        number: float = within(value, path)
        if not number.is_integer():
            raise wrong_value(path, f"is {shown(value)}", f"whole numbers from {minimum} to {maximum}")
        return int(number)

    return check


def listing(check: Check, *, maximum: int, minimum: int = 0) -> Check:
    """Returns a check for a list of bounded length."""

    def check_all(value: object, path: str) -> list[Any]:
        if not isinstance(value, list):
            raise wrong_type(path, value, "a list")
        if not minimum <= len(value) <= maximum:
            raise wrong_value(path, f"has {len(value)} entries", f"{minimum} to {maximum}")
        return [check(inner, f"{path}[{index}]") for index, inner in enumerate(value)]

    return check_all


def dropped_value(_value: object, _path: str) -> None:
    """Accepts any value and drops it, because it has no effect."""


def any_value(value: object, _path: str) -> object:
    """Accepts any value and keeps it; its check depends on other fields."""
    return value


def hint(check: Check) -> Check:
    """Returns a check for a wish that the server does not follow: a valid value is accepted and has no effect.

    Only for wishes whose fulfilment a client need not wait for. The session object shows what is in force instead.
    """

    def check_hint(value: object, path: str) -> None:
        check(value, path)

    return check_hint


def missing_here(reason: str) -> Check:
    """Returns a check for a field that this server does not support."""

    def check(_value: object, path: str) -> None:
        raise not_supported(path, reason)

    return check


def json_text(value: object, path: str) -> str:
    """Converts any object to JSON text."""
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
    """Builds the error for a value of the wrong type."""
    return FieldError("invalid_type", f"{path or 'the event'} is {_kind(value)}; it must be {expected}", path)


def wrong_value(path: str, seen: str, allowed: str) -> FieldError:
    """Builds the error for a value that is not allowed."""
    return FieldError("invalid_value", f"{path} {seen}; allowed: {allowed}", path)


def not_supported(path: str, reason: str) -> FieldError:
    """Builds the error for a part of the protocol that this server does not support."""
    return FieldError("not_supported", f"{path} is not supported: {reason}", path)


def shown(value: object) -> str:
    """Formats a number or keyword for an error message, shortened to a readable length."""
    whole_text = repr(value)
    return whole_text if len(whole_text) <= _SHOWN_CHARS else f"{whole_text[:_SHOWN_CHARS]}…"


def listed(words: tuple[str, ...]) -> str:
    """Formats keywords, quoted and separated by commas."""
    return ", ".join(repr(word) for word in words)


def _kind(value: object) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    kinds: list[tuple[type, str]] = [(str, "a string"), (dict, "an object"), (list, "a list")]
    return next((name for kind, name in kinds if isinstance(value, kind)), "a number")
