"""Reads the weights of Silero VAD v6 from its ONNX file, if the graph is the one that `network` computes."""

import hashlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from audio import onnx_messages as onnx

Float32 = npt.NDArray[np.float32]

SPECTRUM_SAMPLES = 256
"""Length of one spectrum's window in samples."""

_STRUCTURE = "2a03d1e27cfa5b6e8449a297612ec861591bf1e62c4db4d101631666a819a89f"
"""SHA-256 of the graph without its trained weights: nodes, shapes and constants."""

_LARGEST_BASIS_ERROR = 1e-6


@dataclass(frozen=True, slots=True)
class SileroWeights:
    """The trained weights, arranged for products with rows of inputs.

    Attributes:
        convolutions: Weights, shape (taps x inputs, outputs), and bias, shape (outputs,), of each convolution. The last
            two have a single output in time; their taps that only meet padding are left out.
        lstm: Weights of the inputs and the previous outputs, shape (256, 512), and bias, shape (512,). The gates are in
            the order input, output, forget, cell. The first three are halved, because sigmoid(2x) = (tanh(x) + 1) / 2.
        output: Weights, shape (128,), and bias of the output.
        window: The window of a spectrum, shape (SPECTRUM_SAMPLES,).
    """

    convolutions: tuple[tuple[Float32, Float32], ...]
    lstm: tuple[Float32, Float32]
    output: tuple[Float32, float]
    window: Float32


def read_weights(model: bytes) -> SileroWeights | None:
    """Returns the weights; None if the graph is another one. Raises NotReadableError."""
    digest = hashlib.sha256()
    tensors: dict[str, npt.NDArray[np.generic]] = {}
    for graph in onnx.messages(memoryview(model), onnx.MODEL_GRAPH):
        for number, payload, _ in onnx.fields(graph):
            if number == onnx.GRAPH_NODE:
                digest.update(payload)
            elif number == onnx.GRAPH_INITIALIZER:
                name, tensor = _tensor(payload)
                tensors[name] = tensor
                digest.update(f"{name} {tensor.shape} {tensor.dtype}".encode())
                if tensor.dtype == np.int64 or not tensor.shape:
                    digest.update(tensor.tobytes())
    return _arranged(tensors) if digest.hexdigest() == _STRUCTURE else None


def _tensor(payload: memoryview) -> tuple[str, npt.NDArray[np.generic]]:
    shape: list[int] = []
    name, kind, raw = "", 0, memoryview(b"")
    for number, part, _ in onnx.fields(payload):
        if number == onnx.TENSOR_DIMS:
            shape += onnx.numbers(part)
        elif number == onnx.TENSOR_KIND:
            kind = onnx.numbers(part)[0]
        elif number == onnx.TENSOR_NAME:
            name = onnx.text(part)
        elif number == onnx.TENSOR_RAW:
            raw = part
    stored: type[np.float32 | np.int64]
    match kind:
        case onnx.KIND_FLOAT:
            stored = np.float32
        case onnx.KIND_INT64:
            stored = np.int64
        case _:
            raise onnx.NotReadableError
    try:
        return name, np.frombuffer(raw, stored).reshape(shape)
    except ValueError as damaged:
        raise onnx.NotReadableError from damaged


def _arranged(tensors: dict[str, npt.NDArray[np.generic]]) -> SileroWeights | None:
    arrays = {name: tensor.astype(np.float32) for name, tensor in tensors.items() if tensor.dtype == np.float32}
    window = np.hanning(SPECTRUM_SAMPLES + 1)[:-1]
    if not _is_fourier_basis(arrays["encoder.feature_extractor.forward_basis_buffer"][:, 0], window):
        return None
    convolutions = []
    for layer, taps in enumerate((slice(0, 3), slice(0, 3), slice(1, 3), slice(1, 2))):
        weight, bias = (arrays[f"encoder.conv_layers.{layer}.{what}"] for what in ("weight", "bias"))
        rows = weight[:, :, taps].transpose(2, 1, 0).reshape(-1, weight.shape[0])
        convolutions.append((np.ascontiguousarray(rows), bias))
    inputs, outputs, biases = (arrays[f"onnx::LSTM_{number}"][0] for number in (209, 210, 211))
    lstm = np.ascontiguousarray(np.concatenate((inputs, outputs), axis=1).T)
    lstm_bias = biases[:512] + biases[512:]
    lstm[:, :384] *= 0.5
    lstm_bias[:384] *= 0.5
    weight, bias = (arrays[f"decoder.conv1d.{what}"] for what in ("weight", "bias"))
    output = np.ascontiguousarray(weight[0, :, 0]), float(bias[0])
    return SileroWeights(tuple(convolutions), (lstm, lstm_bias), output, window.astype(np.float32))


def _is_fourier_basis(basis: Float32, window: "npt.NDArray[np.float64]") -> bool:
    """Returns whether a convolution with `basis` is the Fourier transform of windowed sound."""
    angles = 2 * np.pi / SPECTRUM_SAMPLES * np.outer(np.arange(129), np.arange(SPECTRUM_SAMPLES))
    expected = np.concatenate((window * np.cos(angles), -window * np.sin(angles)))
    return bool(np.abs(basis - expected).max() <= _LARGEST_BASIS_ERROR)
