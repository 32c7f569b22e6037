"""Describes one setting: its meaning and allowed values, read from the annotation of its field."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, get_args, get_origin, get_type_hints
from urllib.parse import urlsplit

from assistant.config.toml_table import TomlTable
from assistant.support.paths import HomeError, at_home
from declarations.settings import KeyInfo

Value = bool | int | float | str | Path | TomlTable


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a section.

    Attributes:
        name: Name within the section.
        kind: Type of the value.
        choices: The only strings allowed. If empty, `about` describes what is allowed.
        about: Meaning and allowed values.
    """

    name: str
    kind: type
    choices: tuple[str, ...]
    about: KeyInfo

    @property
    def allowed(self) -> str:
        """Describes the allowed values, as the end of a sentence that begins "must be"."""
        about = self.about
        if self.choices:
            *most, last = (f'"{choice}"' for choice in self.choices)
            return f"{', '.join(most)} or {last}" if most else last
        if self.kind is bool:
            return "true or false"
        if issubclass(self.kind, TomlTable):
            return self.kind.form()
        if self.kind in (int, float):
            number = "a whole number" if self.kind is int else "a number"
            zero = "0 or " if about.zero else ""
            return f"{zero}{number} from {about.low:.10g} to {about.high:.10g}{about.unit and ' ' + about.unit}"
        return about.form or "a text"

    def read(self, text: str) -> Value:
        """Parses the value of an environment variable or flag. Raises ValueError with the allowed values."""
        raw: object = text
        if issubclass(self.kind, TomlTable):
            return self.kind.read(text)
        if self.kind is bool:
            raw = {"true": True, "1": True, "false": False, "0": False}.get(text.strip().lower())
        elif self.kind in (int, float):
            try:
                raw = self.kind(text)
            except ValueError:
                raw = None
        return self.check(raw)

    def check(self, raw: object) -> Value:
        """Returns the value if it is allowed. Raises ValueError with the allowed values."""
        if issubclass(self.kind, TomlTable):
            return self.kind.of(raw)
        if self.about.listed and isinstance(raw, list) and all(isinstance(item, str) for item in raw):
            raw = " ".join(raw)
        if self._fits(raw):
            if self.kind is float:
                assert isinstance(raw, int | float)
                return float(raw)
            if self.kind is Path:
                assert isinstance(raw, str | Path)
                return _with_home(Path(raw))
            assert isinstance(raw, bool | int | str)
            return raw
        if isinstance(raw, str) and raw in self.about.retired:
            raise ValueError(self.about.retired[raw])
        raise ValueError(f"must be {self.allowed}")

    def _fits(self, raw: object) -> bool:
        if isinstance(raw, bool) or self.kind is bool:
            return isinstance(raw, bool) and self.kind is bool
        if isinstance(raw, int | float):
            return self._number_fits(raw)
        if isinstance(raw, Path):
            return self.kind is Path
        if not isinstance(raw, str) or self.kind not in (str, Path) or "\0" in raw:
            return False
        if self.choices:
            return raw in self.choices
        return not self.about.pattern or re.fullmatch(self.about.pattern, raw, re.DOTALL) is not None

    def _number_fits(self, number: float) -> bool:
        about = self.about
        if self.kind not in (int, float) or (self.kind is int and not isinstance(number, int)):
            return False
        assert about.low is not None
        assert about.high is not None
        return about.low <= number <= about.high or (about.zero and number == 0)


def _with_home(path: Path) -> Path:
    try:
        return at_home(str(path))
    except HomeError:
        own = path.parts[0] == "~"
        why = "no home folder is known: set HOME" if own else "there is no such home folder"
        raise ValueError(f"must be a folder's path; {why}") from None


def has_host(url: str) -> bool:
    """Returns whether an address has a host and, if it has a port, a valid one."""
    try:
        address = urlsplit(url)
        return bool(address.hostname) and address.port != 0
    except ValueError:
        return False


def keys_of(section: type) -> tuple[Key, ...]:
    """Returns the keys of a section in order, without fields that are lists, such as `llm.endpoints`."""
    return _keys_of(section)


@cache
def _keys_of(section: type) -> tuple[Key, ...]:
    keys = []
    for name, hint in get_type_hints(section, include_extras=True).items():
        if get_origin(hint) is Annotated:
            kind, about = get_args(hint)
            choices = about.choices() if about.choices else get_args(kind)
            keys.append(Key(name, str if choices else kind, choices, about))
    return tuple(keys)


def check_section(section: object) -> None:
    """Checks all values of a section. Raises ValueError with the key and the allowed values."""
    for key in keys_of(type(section)):
        try:
            key.check(getattr(section, key.name))
        except ValueError as error:
            raise ValueError(f"{key.name} {error}") from None


class ConfigSection:
    """Base of every section. Checks all values on construction."""

    __slots__ = ()

    def __post_init__(self) -> None:
        """Raises ValueError with the key and the allowed values."""
        check_section(self)
