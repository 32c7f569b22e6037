"""Reads a voice's ONNX file, and finds the tensor with the durations of its phonemes.

Every Piper voice computes them, but as an inner tensor: the only `Ceil` of the graph rounds them up to whole frames.
"""

from dataclasses import dataclass

from audio import onnx_messages as onnx


@dataclass(frozen=True, slots=True)
class VoiceGraph:
    """Facts about a model before it is loaded.

    Attributes:
        durations: Name of the tensor with the frames of every phoneme id, to be added to the outputs; None if there is
            not exactly one candidate, or the model has another output besides the sound.
        frames_of_ids: The same tensor, also if the model has other outputs.
        symbols: Number of phoneme ids the model knows; None if it looks them up in an unknown way.
        speakers: Number of speakers; None as above, and for a model without a choice of speakers.
    """

    durations: str | None
    frames_of_ids: str | None
    symbols: int | None
    speakers: int | None


def read_graph(model: bytes) -> VoiceGraph:
    """Reads the model's nodes. Raises NotReadableError."""
    view = memoryview(model)
    rounded: set[str] = set()
    tables: dict[str, str] = {}  # name of the index input -> name of the table
    rows: dict[str, int] = {}
    outputs: set[str] = set()
    for graph in onnx.messages(view, onnx.MODEL_GRAPH):
        for field, payload, _ in onnx.fields(graph):
            if field == onnx.GRAPH_NODE:
                _read_node(payload, rounded, tables)
            elif field == onnx.GRAPH_INITIALIZER:
                _read_table(payload, rows)
            elif field == onnx.GRAPH_OUTPUT:
                outputs |= {onnx.text(name) for name in onnx.messages(payload, 1)}
    frames_of_ids = rounded.pop() if len(rounded) == 1 else None
    durations = frames_of_ids if len(outputs) == 1 else None
    return VoiceGraph(durations, frames_of_ids, rows.get(tables.get("input", "")), rows.get(tables.get("sid", "")))


def _read_node(node: memoryview, rounded: set[str], tables: dict[str, str]) -> None:
    operator, inputs, outputs = onnx.read_node(node)
    if operator == "Ceil":
        rounded.update(outputs)
    elif operator == "Gather" and len(inputs) == 2:
        tables[inputs[1]] = inputs[0]


def _read_table(tensor: memoryview, rows: dict[str, int]) -> None:
    """Notes the first dimension of a tensor; dimensions come before the name."""
    first: int | None = None
    for field, payload, _ in onnx.fields(tensor):
        if field == onnx.TENSOR_DIMS and first is None and len(payload):
            first = onnx.numbers(payload)[0]
        elif field == onnx.TENSOR_NAME and first is not None:
            rows[onnx.text(payload)] = first
