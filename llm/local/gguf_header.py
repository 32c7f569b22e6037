"""Reads the metadata of a GGUF file: kind of model, size of its cache, chat template. Blocking; up to 0.2 s.

Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO

MAX_KEYS = 10_000
MAX_STRING_BYTES = 10_000_000
MAX_ITEMS = 5_000_000
"""Limits, so that a damaged file is refused instead of read for minutes. Vocabularies have up to 300,000 tokens."""

_STRING, _ARRAY = 8, 9
_FORMATS: Mapping[int, str] = MappingProxyType(
    {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
)
"""Formats of the single values, by GGUF's number of the type."""

CACHE_BYTES_PER_VALUE = 2
"""The cache of the attention is float16."""


class GgufError(Exception):
    """A file that is no usable chat model. The text is a clause."""


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """The metadata of a chat model.

    Attributes:
        architecture: As in "qwen3".
        context_tokens: Longest prompt and answer that the model was made for.
        cache_bytes_per_token: Memory that each token of a conversation takes.
        has_template: Whether it has a chat template. Without one it is not made for conversations.
    """

    architecture: str
    context_tokens: int
    cache_bytes_per_token: int
    has_template: bool


def read_header(path: Path) -> GgufHeader:
    """Returns the metadata of a file.

    Raises:
        GgufError: It is not a GGUF file of a language model.
        OSError: It cannot be read.
    """
    with path.open("rb") as file:
        try:
            return _header_of(_metadata(file))
        except (struct.error, UnicodeError, KeyError, TypeError, ValueError) as error:
            raise GgufError("is damaged or not a GGUF file of a language model") from error


def _metadata(file: BinaryIO) -> dict[str, object]:
    if file.read(4) != b"GGUF":
        raise GgufError("is not a GGUF file")
    version, _, keys = struct.unpack("<IQQ", file.read(20))
    if version not in {2, 3} or keys > MAX_KEYS:
        raise GgufError(f"has GGUF version {version}, which is not supported")
    fields: dict[str, object] = {}
    for _ in range(keys):
        key = _string(file)
        fields[key] = _value(file, _number(file, "<I"))
    return fields


def _value(file: BinaryIO, kind: int) -> object:
    """Returns a value; of an array only its first item, because vocabularies are long."""
    if kind == _STRING:
        return _string(file)
    if kind != _ARRAY:
        return _number(file, _FORMATS[kind])
    kind, count = struct.unpack("<IQ", file.read(12))
    if count > MAX_ITEMS:
        raise ValueError("too long")
    if kind == _STRING:
        for _ in range(count):
            length = _number(file, "<Q")
            if length > MAX_STRING_BYTES:
                raise ValueError("too long")
            file.seek(length, 1)
        return None
    size = struct.calcsize(_FORMATS[kind])
    first = _number(file, _FORMATS[kind]) if count else None
    file.seek(size * max(0, count - 1), 1)
    return first


def _string(file: BinaryIO) -> str:
    length = _number(file, "<Q")
    if length > MAX_STRING_BYTES:
        raise ValueError("too long")
    return file.read(length).decode()


def _number(file: BinaryIO, form: str) -> int:
    (number,) = struct.unpack(form, file.read(struct.calcsize(form)))
    return number  # type: ignore[no-any-return] # floats are never used


def _header_of(fields: Mapping[str, object]) -> GgufHeader:
    architecture = str(fields["general.architecture"])

    def number(key: str, default: int = 0) -> int:
        value = fields.get(f"{architecture}.{key}", default)
        if not isinstance(value, int):
            raise TypeError(key)
        return value

    if not number("block_count") or not number("embedding_length") or "tokenizer.ggml.model" not in fields:
        raise GgufError(f"is no language model (architecture {architecture})")
    heads = number("attention.head_count") or 1
    of_head = number("embedding_length") // heads
    values = number("attention.key_length", of_head) + number("attention.value_length", of_head)
    cached = number("block_count") * number("attention.head_count_kv", heads) * values * CACHE_BYTES_PER_VALUE
    return GgufHeader(architecture, number("context_length"), cached, "tokenizer.chat_template" in fields)
