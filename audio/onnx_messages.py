"""Reads and writes the parts of ONNX protobuf files that this package needs, without the onnx package.

Field numbers are those of onnx.proto.
"""

from collections.abc import Iterator

MODEL_GRAPH = 7
GRAPH_NODE, GRAPH_NAME, GRAPH_INITIALIZER, GRAPH_INPUT, GRAPH_OUTPUT, GRAPH_VALUE_INFO = 1, 2, 5, 11, 12, 13
NODE_INPUT, NODE_OUTPUT, NODE_OPERATOR = 1, 2, 4
TENSOR_DIMS, TENSOR_KIND, TENSOR_NAME, TENSOR_RAW = 1, 2, 8, 9
KIND_FLOAT, KIND_INT64 = 1, 7
VALUE_NAME, VALUE_TYPE = 1, 2


class NotReadableError(Exception):
    """The bytes are not protobuf: the file is damaged or of another kind."""


def messages(view: memoryview, number: int) -> Iterator[memoryview]:
    """Yields the payloads of one field, in order. Raises NotReadableError."""
    return (payload for field, payload, _ in fields(view) if field == number)


def fields(view: memoryview) -> Iterator[tuple[int, memoryview, memoryview]]:
    """Yields number, payload and complete encoding of every field; the payload of a number is its encoded bytes.

    Raises NotReadableError if the data is truncated.
    """
    position = 0
    while position < len(view):
        start = position
        key, position = _varint(view, position)
        kind = key & 7
        if kind == 2:
            size, begin = _varint(view, position)
        elif kind == 0:
            begin, size = position, _varint(view, position)[1] - position
        elif kind in (1, 5):
            begin, size = position, 8 if kind == 1 else 4
        else:
            raise NotReadableError
        position = begin + size
        if position > len(view):
            raise NotReadableError
        yield key >> 3, view[begin:position], view[start:position]


def numbers(payload: memoryview) -> list[int]:
    """Decodes the numbers of a field, which may hold several. Raises NotReadableError."""
    values, position = [], 0
    while position < len(payload):
        value, position = _varint(payload, position)
        values.append(value)
    return values


def text(payload: memoryview) -> str:
    """Decodes a field's text. Raises NotReadableError."""
    try:
        return bytes(payload).decode()
    except UnicodeDecodeError as damaged:
        raise NotReadableError from damaged


def message(field: int, payload: bytes) -> bytes:
    """Encodes a field with bytes: a message, a text, or raw data."""
    return _encoded(field << 3 | 2) + _encoded(len(payload)) + payload


def number(field: int, value: int) -> bytes:
    """Encodes a field with a non-negative number."""
    return _encoded(field << 3) + _encoded(value)


def _varint(view: memoryview, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if position >= len(view) or shift > 63:
            raise NotReadableError
        byte = view[position]
        value |= (byte & 0x7F) << shift
        position += 1
        if byte < 0x80:
            return value, position
        shift += 7


def _encoded(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def read_node(node: memoryview) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Returns the operator of a node, and the names of its inputs and outputs."""
    inputs: list[str] = []
    outputs: list[str] = []
    operator = ""
    for number, payload, _ in fields(node):
        if number == NODE_INPUT:
            inputs.append(text(payload))
        elif number == NODE_OUTPUT:
            outputs.append(text(payload))
        elif number == NODE_OPERATOR:
            operator = text(payload)
    return operator, tuple(inputs), tuple(outputs)


def with_output(model: bytes, tensor: str) -> bytes:
    """Returns the model with an inner tensor as an additional last output.

    Protobuf merges a message that occurs twice, so a graph with only that output is appended.
    """
    value = message(1, tensor.encode())
    return model + message(MODEL_GRAPH, message(GRAPH_OUTPUT, value))
