"""Encodes the objects of a snapshot as JSON and back. Pure.

An object becomes `{"": "UserMessage", "id": "item_1", …}`; fields with their default value are left out. Only objects
of known classes can be decoded. Lists and dictionaries, which hold JSON of a client, stay as they are.
"""

import json
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from typing import Any

_CLASS, _ENUM, _JSON, _SET = "", "enum", "json", "set"


class CodecError(ValueError):
    """The text does not describe the objects of a snapshot, or an object cannot be described."""


class Codec:
    """Encodes and decodes objects of the given dataclasses and enumerations."""

    def __init__(self, *classes: type) -> None:
        """`classes`: all that may occur; their names must differ."""
        self.classes: Mapping[str, type] = {kind.__name__: kind for kind in classes}
        assert len(self.classes) == len(classes)

    def encode(self, value: object) -> bytes:
        """Returns the JSON text. Half a surrogate pair, which a model may write, stays as it is. Raises CodecError."""
        return json.dumps(self._to_json(value), separators=(",", ":")).encode()

    def decode(self, text: bytes) -> Any:
        """Returns the object. Raises CodecError."""
        try:
            return self._from_json(json.loads(text))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise CodecError(f"not a snapshot of this version ({type(error).__name__})") from error

    def _to_json(self, value: object) -> object:
        if value is None or isinstance(value, str | bool | int | float):
            return value
        if isinstance(value, tuple):
            return [self._to_json(part) for part in value]
        if isinstance(value, frozenset):
            return {_CLASS: _SET, "value": [self._to_json(part) for part in sorted(value)]}
        if isinstance(value, list | dict):
            return {_CLASS: _JSON, "value": json.dumps(value)}
        name = type(value).__name__
        if self.classes.get(name) is not type(value):
            raise CodecError(f"a snapshot cannot hold a {name}")
        if isinstance(value, Enum):
            return {_CLASS: name, _ENUM: value.name}
        assert is_dataclass(value)
        given = {part.name: getattr(value, part.name) for part in fields(value) if not _is_default(part, value)}
        return {_CLASS: name, **{key: self._to_json(part) for key, part in given.items()}}

    def _from_json(self, value: object) -> object:
        if isinstance(value, list):
            return tuple(self._from_json(part) for part in value)
        if not isinstance(value, dict):
            return value
        name = value.pop(_CLASS)
        if name == _JSON:
            return json.loads(value["value"])
        if name == _SET:
            return frozenset(self._from_json(part) for part in value["value"])
        made = self.classes[name]
        if issubclass(made, Enum):
            return made[value[_ENUM]]
        return made(**{key: self._from_json(part) for key, part in value.items()})


def _is_default(field: Field[Any], value: object) -> bool:
    return field.default is not MISSING and bool(getattr(value, field.name) == field.default)
