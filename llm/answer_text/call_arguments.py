"""Repairs the arguments of function calls, and the names, as far as their meaning is certain. No I/O.

Services refuse every later request of a conversation whose history contains arguments that are no JSON object.
"""

import ast
import json
import re
from collections.abc import Collection

MAX_REPAIRED_CHARS = 64 << 10
"""Longer arguments are not repaired."""

NO_ARGUMENTS = "{}"
_COMPLETE_END = re.compile(r'["}\]]\s*\Z|\b(?:true|false|null)\s*\Z')
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_OPEN_STRING = re.compile(r'"(?:[^"\\]|\\.)*\Z', re.DOTALL)
_MARK = r"\s|```|;|</?[\w:=.|｜▁-]{1,60}>|<[|｜][^<>\s]{1,60}>|\[/?[A-Z_]{2,40}\]"
_MARKS = re.compile(f"(?:{_MARK})*")
_BEGIN = re.compile(f"(?:{_MARK}|json|arguments|[=:])*")
_REFUSED_IN_NAME = re.compile(r"[^A-Za-z0-9_-]")
_NAME_PREFIX = re.compile(r"(?:functions?|tools?|default_api|assistant|call)[.:](?=\w)")
_NAME_END = re.compile(r"<[|｜].*|\s*\(\)\s*\Z|:\d+\Z", re.DOTALL)


def _refused(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_refused)


def is_json_object(arguments: str) -> bool:
    """Returns whether this is a strict JSON object. NaN and lone surrogates, which Python accepts, are rejected.

    A message with a lone surrogate cannot be encoded as UTF-8, and the attempt closes the connection to the server.
    """
    try:
        value = json.loads(arguments, parse_constant=_refused)
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict)


def repaired_arguments(arguments: str) -> str | None:
    """Returns the arguments as a JSON object; None if their meaning is not certain.

    Repaired are: no arguments, a missing end after a whole value, an object in a string or in Python's notation,
    marks of a template around the object, and the same object twice.
    """
    if is_json_object(arguments):
        return arguments
    text = arguments.strip()
    if not text or text in {"null", "None"}:
        return NO_ARGUMENTS
    if len(text) > MAX_REPAIRED_CHARS:
        return None
    text = _BEGIN.sub("", text, count=1)
    inner = _text_of(text)
    if inner is not None:
        return inner if is_json_object(inner) else None
    if not text.startswith("{"):
        return None
    return _first_object(text) or _from_python(text) or _closed(text)


def split_arguments(arguments: str) -> list[str]:
    """Returns the different JSON objects that stand one after another in one call's arguments; [] if there is one.

    Services put the calls of one answer together if they give all of them the same index.
    """
    if is_json_object(arguments) or len(arguments) > MAX_REPAIRED_CHARS:
        return []
    objects = _objects(_BEGIN.sub("", arguments.strip(), count=1), whole=True) or []
    return objects if len(objects) > 1 and all(map(is_json_object, objects)) else []


def valid_arguments(arguments: str) -> str:
    """Returns the arguments as a JSON object for a request; an empty object if they cannot be repaired."""
    return repaired_arguments(arguments) or NO_ARGUMENTS


def valid_name(name: str) -> str:
    """Returns a name that services accept in a request."""
    return _REFUSED_IN_NAME.sub("_", name)[:64] or "unknown"


def cleaned_name(name: str, declared: Collection[str]) -> str:
    """Returns a function's name without marks of a template; the declared one if it differs only by them."""
    if name in declared:
        return name
    cleaned = _NAME_END.sub("", name.strip().strip("\"'`")).strip()
    for candidate in (cleaned, _NAME_PREFIX.sub("", cleaned, count=1), cleaned.rpartition(".")[2]):
        if candidate in declared:
            return candidate
    short = _NAME_PREFIX.sub("", cleaned, count=1)
    same = [known for known in declared if known.casefold() == short.casefold()]
    return same[0] if len(same) == 1 else short or name


def _text_of(text: str) -> str | None:
    """Returns the content of a JSON string; None if it is not one."""
    if not text.startswith('"'):
        return None
    try:
        value, _ = _DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, str) else None


def _first_object(text: str) -> str | None:
    """Returns the object at the beginning, if nothing but marks, an equal object or empty ones are beside it."""
    objects = _objects(text)
    if objects is None:
        return None
    first = objects[0] if len(objects) == 1 else NO_ARGUMENTS if not objects else ""
    return first if is_json_object(first) else None


def _objects(text: str, *, whole: bool = False) -> list[str] | None:
    """Returns the different objects of a text, without empty ones; None if something else than marks is beside them.

    Other text after the first object ends it, unless the `whole` text must be objects.
    """
    objects: list[str] = []
    position = 0
    while position < len(text):
        try:
            value, end = _DECODER.raw_decode(text, position)
        except (ValueError, RecursionError):
            if objects and text[position] not in "{[" and not whole:
                return objects
            return None
        if isinstance(value, dict) and value and text[position:end] not in objects:
            objects.append(text[position:end])
        elif not isinstance(value, dict):
            return None
        after = _MARKS.match(text, end)
        position = after.end() if after else end
    return objects


def _from_python(text: str) -> str | None:
    """Returns the object that a Python dictionary of plain values describes."""
    try:
        value = ast.literal_eval(text)
        rewritten = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None
    return rewritten if isinstance(value, dict) and is_json_object(rewritten) else None


def _closed(text: str) -> str | None:
    """Returns the object with its missing brackets. A cut string or number has lost an unknown part of its value."""
    text = text.rstrip().removesuffix(",").rstrip()
    if not _COMPLETE_END.search(text) or _OPEN_STRING.search(_STRING.sub("", text)):
        return None
    missing: list[str] = []
    for bracket in re.findall(r"[{}\[\]]", _STRING.sub("", text)):
        if bracket in "{[":
            missing.append("}" if bracket == "{" else "]")
        elif not missing or missing.pop() != bracket:
            return None
    closed = text + "".join(reversed(missing))
    return closed if missing and is_json_object(closed) else None
