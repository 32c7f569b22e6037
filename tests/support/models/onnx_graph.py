"""Writes ONNX graphs without the onnx package, with the part of its protobuf that the synthetic voices need."""

import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

_FLOAT, _INT64 = 1, 7  # TensorProto.DataType
_ATTRIBUTE_FLOAT, _ATTRIBUTE_INT, _ATTRIBUTE_INTS = 1, 2, 7  # AttributeProto.AttributeType

OPSET = 15
IR_VERSION = 8

Attribute = int | float | Sequence[int]


class OnnxGraph:
    """A graph that grows node by node. Every operator returns the name of its output."""

    def __init__(self) -> None:
        self._nodes: list[bytes] = []
        self._constants: list[bytes] = []
        self._inputs: list[bytes] = []
        self._outputs: list[bytes] = []
        self._count = 0

    def input(self, name: str, *, integer: bool, shape: Sequence[str | int]) -> str:
        self._inputs.append(_value(name, _INT64 if integer else _FLOAT, shape))
        return name

    def output(self, name: str, tensor: str, shape: Sequence[str | int]) -> None:
        """Makes `tensor` an output with its own name."""
        self._nodes.append(_node("Identity", (tensor,), name, {}))
        self._outputs.append(_value(name, _FLOAT, shape))

    def constant(self, array: npt.ArrayLike, name: str | None = None) -> str:
        """Adds a constant: whole numbers as int64, all others as float32."""
        values = np.asarray(array)
        integer = values.dtype.kind in "iu"
        values = values.astype(np.int64 if integer else np.float32)
        name = name or self._fresh("constant")
        dims = b"".join(_number(1, size) for size in values.shape)
        kind = _number(2, _INT64 if integer else _FLOAT)
        self._constants.append(dims + kind + _text(8, name) + _bytes(9, values.tobytes()))
        return name

    def op(self, operator: str, *inputs: str, name: str | None = None, **attributes: Attribute) -> str:
        output = name or self._fresh(operator)
        self._nodes.append(_node(operator, inputs, output, attributes))
        return output

    def bytes(self) -> bytes:
        graph = b"".join(_bytes(1, node) for node in self._nodes) + _text(2, "voice")
        graph += b"".join(_bytes(5, constant) for constant in self._constants)
        graph += b"".join(_bytes(11, value) for value in self._inputs)
        graph += b"".join(_bytes(12, value) for value in self._outputs)
        return _number(1, IR_VERSION) + _bytes(7, graph) + _bytes(8, _number(2, OPSET))

    def write(self, path: Path) -> None:
        path.write_bytes(self.bytes())

    def _fresh(self, stem: str) -> str:
        self._count += 1
        return f"{stem}_{self._count}"


def _node(operator: str, inputs: Sequence[str], output: str, attributes: dict[str, Attribute]) -> bytes:
    node = b"".join(_text(1, name) for name in inputs) + _text(2, output) + _text(4, operator)
    return node + b"".join(_bytes(5, _attribute(name, value)) for name, value in attributes.items())


def _attribute(name: str, value: Attribute) -> bytes:
    head = _text(1, name)
    if isinstance(value, float):
        return head + _varint(2 << 3 | 5) + struct.pack("<f", value) + _number(20, _ATTRIBUTE_FLOAT)
    if isinstance(value, int):
        return head + _number(3, value) + _number(20, _ATTRIBUTE_INT)
    return head + b"".join(_number(8, item) for item in value) + _number(20, _ATTRIBUTE_INTS)


def _value(name: str, kind: int, shape: Sequence[str | int]) -> bytes:
    dims = b"".join(_bytes(1, _text(2, size) if isinstance(size, str) else _number(1, size)) for size in shape)
    return _text(1, name) + _bytes(2, _bytes(1, _number(1, kind) + _bytes(2, dims)))


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, payload: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(payload)) + payload


def _text(field: int, value: str) -> bytes:
    return _bytes(field, value.encode())
