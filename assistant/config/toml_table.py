"""A TOML table as the value of one setting: hashable, compared and copied by value. Pure."""

import json
import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

from audio.pronunciation import problem

MAX_CHARS = 4000
"""Characters of the table as JSON."""

MAX_DEPTH = 8

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_HEADER_VALUE = re.compile(r"[ -~]+")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass(frozen=True, slots=True)
class TomlTable:
    """Names and values. The subclasses define what is allowed.

    Attributes:
        max_chars: Longest `text`.
        text: The table as JSON, in the order given.
    """

    max_chars: ClassVar[int] = MAX_CHARS

    text: str = "{}"

    @classmethod
    def of(cls, raw: object) -> Self:
        """Returns the table if it is allowed. Raises ValueError: what is allowed, to follow the key's name."""
        if isinstance(raw, TomlTable):
            raw = raw.values
        table = raw if isinstance(raw, dict) else None
        if table is None:
            raise ValueError(f"must be {cls.form()}")
        cls._check(table)
        text = json.dumps(table, ensure_ascii=False)
        if len(text) > cls.max_chars:
            raise ValueError(f"must have at most {cls.max_chars} characters")
        return cls(text)

    @classmethod
    def read(cls, text: str) -> Self:
        """Parses the TOML text of an environment variable or a flag. Raises ValueError as `of` does."""
        try:
            raw: object = tomllib.loads(f"table = {text}").get("table")
        except (ValueError, RecursionError):
            raw = None
        return cls.of(raw)

    @classmethod
    def form(cls) -> str:
        """Describes in words what is allowed."""
        raise NotImplementedError

    @classmethod
    def _check(cls, raw: Mapping[str, object]) -> None:
        """Raises ValueError with what is allowed."""
        raise NotImplementedError

    @property
    def values(self) -> dict[str, object]:
        """The content as a new dictionary."""
        table: dict[str, object] = json.loads(self.text)
        return table

    def __str__(self) -> str:
        """Returns the table as TOML on one line."""
        return _inline(self.values)


class Parameters(TomlTable):
    """Fields of a request: any JSON values."""

    __slots__ = ()

    @classmethod
    def form(cls) -> str:
        """See `TomlTable.form`."""
        return "a table of texts, numbers, booleans, lists and tables, as in { top_p = 0.9 }"

    @classmethod
    def _check(cls, raw: Mapping[str, object]) -> None:
        if not _is_json(raw, MAX_DEPTH):
            raise ValueError(f"must be {cls.form()}")


class Headers(TomlTable):
    """Headers of a request: names and texts, in which ${NAME} stands for an environment variable."""

    __slots__ = ()

    @classmethod
    def form(cls) -> str:
        """See `TomlTable.form`."""
        return 'a table of texts, as in { "x-team" = "voice", "api-key" = "${MY_KEY}" }'

    @classmethod
    def _check(cls, raw: Mapping[str, object]) -> None:
        for name, value in raw.items():
            fits = isinstance(value, str) and _HEADER_VALUE.fullmatch(value) and value.strip() == value
            if not _HEADER_NAME.fullmatch(name) or not fits:
                raise ValueError(f"must be {cls.form()}, without characters that HTTP does not allow")
        if len({name.lower() for name in raw}) < len(raw):
            raise ValueError("must have each name once; HTTP does not distinguish upper and lower case")

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of the environment variables used in the values, each once."""
        return tuple(dict.fromkeys(name for value in self.values.values() for name in _VARIABLE.findall(str(value))))

    def expanded(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Returns the headers as they are sent. Raises KeyError for a variable that is not set or empty."""

        def value_of(match: re.Match[str]) -> str:
            # A value read from a file or a shell often ends in a newline.
            if value := environ.get(match[1], "").strip():
                return value
            raise KeyError(match[1])

        return {name: _VARIABLE.sub(value_of, str(value)) for name, value in self.values.items()}

    @property
    def shown(self) -> str:
        """For display: the names, and of the values only the variables, because the rest may be secret."""
        parts = []
        for name, value in self.values.items():
            named = _VARIABLE.findall(str(value))
            parts.append(f"{name} ({', '.join(named)})" if named else name)
        return ", ".join(parts)


class Lexicon(TomlTable):
    """Words with another spelling or with phonemes."""

    __slots__ = ()
    max_chars = 40_000

    @classmethod
    def form(cls) -> str:
        """See `TomlTable.form`."""
        return 'a table of words, as in { Niamh = "Neev", nginx = "/ˈɛndʒɪnˌɛks/" }'

    @classmethod
    def _check(cls, raw: Mapping[str, object]) -> None:
        for word, spelling in raw.items():
            if wrong := problem(word, spelling):
                raise ValueError(f'is wrong at "{word}", which {wrong}')

    @property
    def entries(self) -> dict[str, str]:
        """The text that is spoken for each word."""
        return {word: str(spelling) for word, spelling in self.values.items()}


NO_LEXICON = Lexicon()
NO_PARAMETERS = Parameters()
NO_HEADERS = Headers()


def _is_json(value: object, depth: int) -> bool:
    if isinstance(value, Mapping):
        return depth > 0 and all(name and _is_json(inner, depth - 1) for name, inner in value.items())
    if isinstance(value, list):
        return depth > 0 and all(_is_json(inner, depth - 1) for inner in value)
    return isinstance(value, str | bool | int) or (isinstance(value, float) and math.isfinite(value))


def _inline(value: object) -> str:
    if isinstance(value, dict):
        pairs = [
            f"{name if _BARE.fullmatch(name) else _quoted(name)} = {_inline(item)}" for name, item in value.items()
        ]
        return f"{{ {', '.join(pairs)} }}" if pairs else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(_inline, value))}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return _quoted(value) if isinstance(value, str) else repr(value)


def _quoted(text: str) -> str:
    """Returns the text as a JSON string, which is valid TOML except for U+007F."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
