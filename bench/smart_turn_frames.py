"""Runs Smart Turn so that it also gives the frames of its encoder, from which a head can be fitted."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime

from audio import onnx_messages as onnx
from audio.end_of_turn.smart_turn.graph import POSITIONS, NotSmartTurnError, shortened
from audio.end_of_turn.smart_turn.network import SHORT_POSITIONS, log_mel
from audio.units import Pcm

_FLOAT = 1  # TensorProto.DataType
_MIN_PROBABILITY = 1e-4  # bound on the probability before the logit


class SmartTurnFrames:
    """The network with its encoder's frames as a second output."""

    def __init__(self, path: Path, *, short: bool = False) -> None:
        """Loads the network on one thread. `short`: it gets the last 4 s of audio instead of 8 s."""
        self._positions = SHORT_POSITIONS if short else POSITIONS
        network = path.read_bytes()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        options.add_session_config_entry(
            "session.x64quantprecision", "1"
        )  # see audio/end_of_turn/smart_turn/network.py
        self._session = onnxruntime.InferenceSession(
            with_frames(shortened(network, self._positions) if short else network),
            options,
            providers=["CPUExecutionProvider"],
        )
        self._input = str(self._session.get_inputs()[0].name)

    def heard(self, pcm: Pcm) -> tuple[float, npt.NDArray[np.float32]]:
        """Returns the logit of the network's probability and the frames, shape (positions, width)."""
        outputs: list[Any] = self._session.run(None, {self._input: log_mel(pcm, self._positions)[np.newaxis]})
        probability = np.clip(np.asarray(outputs[0]).reshape(-1)[0], _MIN_PROBABILITY, 1 - _MIN_PROBABILITY)
        return float(np.log(probability / (1 - probability))), np.asarray(outputs[1])[0]


def with_frames(model: bytes) -> bytes:
    """Returns the network with one more output: the encoder's frames, shape (1, positions, width).

    They are what the attention pooling multiplies by its softmax, so they are computed anyway. Raises NotReadableError;
    NotSmartTurnError if the network has no such place.
    """
    parts: list[bytes | memoryview] = []
    graphs = 0
    for number, payload, whole in onnx.fields(memoryview(model)):
        graph = number == onnx.MODEL_GRAPH
        graphs += graph
        parts.append(onnx.message(number, _output_added(payload)) if graph else whole)
    if graphs != 1:
        raise NotSmartTurnError
    return b"".join(parts)


def _output_added(graph: memoryview) -> bytes:
    shares: set[str] = set()  # outputs of a softmax
    frames = ""
    for node in onnx.messages(graph, onnx.GRAPH_NODE):
        operator, inputs, outputs = onnx.read_node(node)
        if operator == "Softmax":
            shares.update(outputs)
        elif operator == "Mul" and len(inputs) == 2 and shares & set(inputs):
            frames = next((name for name in inputs if name not in shares), "")
    if not frames:
        raise NotSmartTurnError
    tensor = onnx.message(onnx.VALUE_TYPE, onnx.message(1, onnx.number(1, _FLOAT)))
    return bytes(graph) + onnx.message(onnx.GRAPH_OUTPUT, onnx.message(onnx.VALUE_NAME, frames.encode()) + tensor)
