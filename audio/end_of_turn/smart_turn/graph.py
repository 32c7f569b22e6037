"""Shortens Smart Turn's network to less audio: same weights, fewer positions.

Its encoder is Whisper's. Time enters through a position table that is added to the audio; the audio ends at the last
row, with zeros in front. The cost grows with the number of rows. Three places in the file contain that number: the
table, the shape into which the attention heads are joined, and the input. Intermediate sizes are annotations only.
"""

from audio import onnx_messages as onnx

MELS = 80
POSITIONS = 400
"""Positions of the published network, 20 ms each."""

FRAMES_PER_POSITION = 2

_FLOAT, _INT64 = 1, 7  # TensorProto.DataType


class NotSmartTurnError(Exception):
    """The network is not a Smart Turn v3 network."""


def shortened(model: bytes, positions: int) -> bytes:
    """Returns the network reduced to the last `positions`: its input has shape (1, MELS, 2 * positions).

    Raises NotReadableError; NotSmartTurnError if one of the three places is not found exactly once.
    """
    changed: list[str] = []
    parts: list[bytes | memoryview] = []
    for number, payload, whole in onnx.fields(memoryview(model)):
        graph = number == onnx.MODEL_GRAPH
        parts.append(onnx.message(number, _graph(payload, positions, changed)) if graph else whole)
    if sorted(changed) != ["input", "shape", "table"]:
        raise NotSmartTurnError
    return b"".join(parts)


def _graph(graph: memoryview, positions: int, changed: list[str]) -> bytes:
    parts: list[bytes | memoryview] = []
    for number, payload, whole in onnx.fields(graph):
        if number == onnx.GRAPH_VALUE_INFO:
            continue
        what, content = "", b""
        if number == onnx.GRAPH_INPUT:
            what, content = "input", _input(payload, positions)
        elif number == onnx.GRAPH_INITIALIZER:
            what, content = _initializer(payload, positions)
        if what:
            changed.append(what)
        parts.append(onnx.message(number, content) if what else whole)
    return b"".join(parts)


def _input(value: memoryview, positions: int) -> bytes:
    (name,) = onnx.messages(value, onnx.VALUE_NAME)
    shape = (1, MELS, FRAMES_PER_POSITION * positions)
    dims = b"".join(onnx.message(1, onnx.number(1, size)) for size in shape)
    tensor = onnx.number(1, _FLOAT) + onnx.message(2, dims)
    return onnx.message(onnx.VALUE_NAME, bytes(name)) + onnx.message(onnx.VALUE_TYPE, onnx.message(1, tensor))


def _initializer(tensor: memoryview, positions: int) -> tuple[str, bytes]:
    """Returns the kind of a constant that depends on time and its new content; empty for all others."""
    shape: list[int] = []
    kind, name, raw = 0, b"", memoryview(b"")
    for number, value, _ in onnx.fields(tensor):
        if number == onnx.TENSOR_DIMS:
            shape += onnx.numbers(value)
        elif number == onnx.TENSOR_KIND:
            (kind,) = onnx.numbers(value)
        elif number == onnx.TENSOR_NAME:
            name = bytes(value)
        elif number == onnx.TENSOR_RAW:
            raw = value
    if kind == _FLOAT and shape[:1] == [POSITIONS] and len(shape) == 2:
        row_bytes = len(raw) // POSITIONS
        last = bytes(raw[(POSITIONS - positions) * row_bytes :])
        return "table", _tensor((positions, shape[1]), kind, name, last)
    if kind == _INT64 and shape == [1] and raw == POSITIONS.to_bytes(8, "little"):
        return "shape", _tensor((1,), kind, name, positions.to_bytes(8, "little"))
    return "", b""


def _tensor(shape: tuple[int, ...], kind: int, name: bytes, raw: bytes) -> bytes:
    dims = b"".join(onnx.number(onnx.TENSOR_DIMS, size) for size in shape)
    head = dims + onnx.number(onnx.TENSOR_KIND, kind) + onnx.message(onnx.TENSOR_NAME, name)
    return head + onnx.message(onnx.TENSOR_RAW, raw)
