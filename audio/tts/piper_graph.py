"""What a voice's ONNX file says of itself, read from its protobuf without the onnx package.

The durations of the phonemes are in every Piper voice, but as an inner tensor: the one `Ceil` of the graph rounds
them up to whole frames. Protobuf reads a message that comes twice as one, so that an output is added by appending a
graph that holds nothing but it (what piper.patch_voice_with_alignment does with the onnx package).
"""

from collections.abc import Iterator
from dataclasses import dataclass

_MODEL_GRAPH = 7
_GRAPH_NODE, _GRAPH_INITIALIZER, _GRAPH_OUTPUT = 1, 5, 12
_NODE_INPUT, _NODE_OUTPUT, _NODE_OPERATOR = 1, 2, 4
_TENSOR_DIMS, _TENSOR_NAME = 1, 8


@dataclass(frozen=True, slots=True)
class VoiceGraph:
    """What is read from a model before it is loaded.

    Attributes:
        durations: The tensor with the frames of every phoneme id; None where there is not exactly one candidate.
        symbols: How many phoneme ids the model knows; None where it looks them up in a way not understood.
        speakers: How many speakers it knows; None as above, and where it has no choice of speakers.
    """

    durations: str | None
    symbols: int | None
    speakers: int | None


class NotReadableError(Exception):
    """The bytes are no protobuf: the file is damaged or of another kind."""


def read_graph(model: bytes) -> VoiceGraph:
    """Look through the model's nodes. Raises NotReadableError."""
    view = memoryview(model)
    rounded: set[str] = set()
    tables: dict[str, str] = {}  # what ids are looked up with -> the table
    rows: dict[str, int] = {}
    outputs: set[str] = set()
    try:
        for graph in _messages(view, _MODEL_GRAPH):
            for field, payload in _fields(graph):
                if field == _GRAPH_NODE:
                    _read_node(payload, rounded, tables)
                elif field == _GRAPH_INITIALIZER:
                    _read_table(payload, rows)
                elif field == _GRAPH_OUTPUT:
                    outputs |= {_text(name) for name in _messages(payload, 1)}
    except (IndexError, UnicodeDecodeError) as damaged:
        raise NotReadableError from damaged
    durations = rounded.pop() if len(rounded) == 1 and len(outputs) == 1 else None
    return VoiceGraph(durations, rows.get(tables.get("input", "")), rows.get(tables.get("sid", "")))


def with_output(model: bytes, tensor: str) -> bytes:
    """The model with an inner tensor as one more output, after its own."""
    name = tensor.encode()
    value = b"\x0a" + _length(len(name)) + name
    graph = bytes([_GRAPH_OUTPUT << 3 | 2]) + _length(len(value)) + value
    return model + bytes([_MODEL_GRAPH << 3 | 2]) + _length(len(graph)) + graph


def _read_node(node: memoryview, rounded: set[str], tables: dict[str, str]) -> None:
    inputs: list[str] = []
    outputs: list[str] = []
    operator = ""
    for field, payload in _fields(node):
        if field == _NODE_INPUT:
            inputs.append(_text(payload))
        elif field == _NODE_OUTPUT:
            outputs.append(_text(payload))
        elif field == _NODE_OPERATOR:
            operator = _text(payload)
    if operator == "Ceil":
        rounded.update(outputs)
    elif operator == "Gather" and len(inputs) == 2:
        tables[inputs[1]] = inputs[0]


def _read_table(tensor: memoryview, rows: dict[str, int]) -> None:
    """The first dimension of a tensor; it comes before the name."""
    first: int | None = None
    for field, payload in _fields(tensor):
        if field == _TENSOR_DIMS and first is None and len(payload):
            first = _varint(payload, 0)[0]
        elif field == _TENSOR_NAME and first is not None:
            rows[_text(payload)] = first


def _messages(view: memoryview, wanted: int) -> Iterator[memoryview]:
    return (payload for field, payload in _fields(view) if field == wanted)


def _fields(view: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Number and payload of every field; a number's payload is its bytes. Raises IndexError where they run out."""
    at = 0
    while at < len(view):
        key, at = _varint(view, at)
        kind = key & 7
        if kind == 2:
            size, begin = _varint(view, at)
        elif kind == 0:
            begin, size = at, _varint(view, at)[1] - at
        elif kind in (1, 5):
            begin, size = at, 8 if kind == 1 else 4
        else:
            raise IndexError
        at = begin + size
        if at > len(view):
            raise IndexError
        yield key >> 3, view[begin:at]


def _varint(view: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = view[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise IndexError


def _length(size: int) -> bytes:
    out = bytearray()
    while size > 0x7F:
        out.append(size & 0x7F | 0x80)
        size >>= 7
    out.append(size)
    return bytes(out)


def _text(view: memoryview) -> str:
    return bytes(view).decode()
