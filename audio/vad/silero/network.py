"""Computes Silero VAD v6 with numpy, for which a call costs a quarter less CPU time than for onnxruntime.

    window ─▶ four spectra ─▶ four convolutions ─▶ LSTM ─▶ speech probability

Another version of the network runs in onnxruntime.
"""

import importlib.util
import logging
import math
import threading
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np
import numpy.typing as npt

from audio.errors import EngineLoadError, VadError
from audio.onnx_messages import NotReadableError
from audio.vad.silero.weights import SPECTRUM_SAMPLES, SileroWeights, read_weights

if TYPE_CHECKING:
    import onnxruntime

log = logging.getLogger(__name__)

Float32 = npt.NDArray[np.float32]

WINDOW_SAMPLES = 512
CONTEXT_SAMPLES = 64
STATE_SHAPE = (1, 1, 128)

Runtime = Literal["numpy", "onnxruntime"]

_SAMPLES = CONTEXT_SAMPLES + WINDOW_SAMPLES
_MIRRORED = 64
"""Number of samples before the last one that are appended in reverse order."""
_SPECTRA, _STEP, _BINS = 4, 128, 129
"""Spectra of a window, the distance between them in samples, and their length."""


def network_path() -> Path:
    """Returns the path of the network inside faster-whisper without importing it (190 ms). Raises EngineLoadError."""
    spec = importlib.util.find_spec("faster_whisper")
    if spec is None or not spec.submodule_search_locations:
        raise EngineLoadError(
            "Silero VAD needs the network in faster-whisper, which is not installed: run `pip install faster-whisper`."
        )
    return Path(spec.submodule_search_locations[0]) / "assets" / "silero_vad_v6.onnx"


@cache
def shared_network() -> "SileroNetwork":
    """Returns the network of this process, loaded at the first call. Raises EngineLoadError."""
    return SileroNetwork()


class _Run(Protocol):
    def __call__(self, window: Float32, h: Float32, c: Float32) -> tuple[float, Float32, Float32]: ...


class SileroNetwork:
    """The network without its state. Loaded once and shared by all conversations. Thread-safe.

    Attributes:
        runtime: The library that computes it.
    """

    runtime: Runtime = "numpy"

    def __init__(self, path: Path | None = None) -> None:
        """Loads the network, by default the one inside faster-whisper. Raises EngineLoadError."""
        path = path or network_path()
        if not path.is_file():
            raise EngineLoadError(
                f"Silero VAD's network is missing at {path}: reinstall faster-whisper (1.2.1 or newer), or set "
                "vad.engine to webrtc."
            )
        weights = _weights(path)
        self._run: _Run
        if weights is not None:
            self._run = _NumpyRun(weights)
        else:
            self.runtime = "onnxruntime"
            self._run = _OnnxRun(_session(path))
            log.warning("the network of Silero VAD is of an unknown version, and is computed by onnxruntime")

    def run(self, window: Float32, h: Float32, c: Float32) -> tuple[float, Float32, Float32]:
        """Returns the speech probability of a window, shape (1, 576), and the two new states. Raises VadError."""
        try:
            return self._run(window, h, c)
        except Exception as error:
            raise VadError(
                f"Silero VAD failed inside {self.runtime}: restart Repartee, or set vad.engine to webrtc."
            ) from error


def _weights(path: Path) -> SileroWeights | None:
    try:
        return read_weights(path.read_bytes())
    except (NotReadableError, OSError):
        return None  # onnxruntime reports what is wrong with the file


class _OnnxRun:
    """Computes a window in onnxruntime."""

    def __init__(self, session: "onnxruntime.InferenceSession") -> None:
        self._session = session

    def __call__(self, window: Float32, h: Float32, c: Float32) -> tuple[float, Float32, Float32]:
        probabilities, h, c = self._session.run(None, {"input": window, "h": h, "c": c})
        return float(probabilities[0]), h, c


def _session(path: Path) -> "onnxruntime.InferenceSession":
    try:
        import onnxruntime  # noqa: PLC0415

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise EngineLoadError(
            f"onnxruntime cannot load {path} ({type(error).__name__}): reinstall onnxruntime and faster-whisper."
        ) from error


class _Buffers(threading.local):
    """Inner results of one thread, allocated once. Names ending in `_rows` are overlapping views for a convolution."""

    def __init__(self) -> None:
        self.sound = np.zeros(_SAMPLES + _MIRRORED, np.float32)
        self.sound_rows = _rows(self.sound, _SPECTRA, SPECTRUM_SAMPLES, _STEP)
        self.windowed = np.empty((_SPECTRA, SPECTRUM_SAMPLES), np.float32)
        # The rows of zeros around the spectra and before the next layer are the convolutions' padding.
        padded = np.zeros((_SPECTRA + 2, _BINS), np.float32)
        self.spectra, self.spectra_rows = padded[1:-1], _rows(padded, _SPECTRA, 3 * _BINS, _BINS)
        padded = np.zeros((_SPECTRA + 1, 128), np.float32)
        self.first, self.first_rows = padded[1:], _rows(padded, 2, 3 * 128, 2 * 128)
        self.second = np.empty((2, 64), np.float32)
        self.second_row = self.second.reshape(-1)
        self.third = np.empty(64, np.float32)
        self.lstm = np.empty(256, np.float32)  # its inputs, then its previous outputs
        self.fourth, self.before = self.lstm[:128], self.lstm[128:]
        self.gates = np.empty(512, np.float32)
        self.sigmoids = self.gates[:384]
        self.opened, self.shown, self.kept, self.new = np.split(self.gates, 4)
        self.added = np.empty(128, np.float32)


def _rows(array: Float32, rows: int, length: int, step: int) -> Float32:
    """Returns a view of overlapping rows of a contiguous array; `length` and `step` in elements."""
    size = array.itemsize
    return np.lib.stride_tricks.as_strided(array, (rows, length), (step * size, size), writeable=False)


class _NumpyRun:
    """Computes a window in numpy. Calls functions with `out`, because most of the time is spent between the sums."""

    def __init__(self, weights: SileroWeights) -> None:
        self._weights = weights
        self._buffers = _Buffers()

    def __call__(self, window: Float32, h: Float32, c: Float32) -> tuple[float, Float32, Float32]:
        weights, buffers = self._weights, self._buffers
        first, second, third, fourth = weights.convolutions
        buffers.sound[:_SAMPLES] = window[0]
        buffers.sound[_SAMPLES:] = window[0, -2 : -2 - _MIRRORED : -1]
        np.multiply(buffers.sound_rows, weights.window, out=buffers.windowed)
        np.abs(np.fft.rfft(buffers.windowed), out=buffers.spectra)
        _convolve(buffers.spectra_rows, first, buffers.first)
        _convolve(buffers.first_rows, second, buffers.second)
        _convolve(buffers.second_row, third, buffers.third)
        _convolve(buffers.third, fourth, buffers.fourth)
        buffers.before[:] = h.reshape(128)
        matrix, bias = weights.lstm
        np.matmul(buffers.lstm, matrix, out=buffers.gates)
        np.add(buffers.gates, bias, out=buffers.gates)
        np.tanh(buffers.gates, out=buffers.gates)
        np.add(buffers.sigmoids, 1, out=buffers.sigmoids)
        np.multiply(buffers.sigmoids, 0.5, out=buffers.sigmoids)
        new_c = buffers.kept * c.reshape(128)
        np.multiply(buffers.opened, buffers.new, out=buffers.added)
        np.add(new_c, buffers.added, out=new_c)
        new_h = np.tanh(new_c)
        np.multiply(new_h, buffers.shown, out=new_h)
        out, out_bias = weights.output
        odds = math.exp(float(np.maximum(new_h, 0) @ out) + out_bias)
        return odds / (1 + odds), new_h.reshape(STATE_SHAPE), new_c.reshape(STATE_SHAPE)


def _convolve(rows: Float32, layer: tuple[Float32, Float32], out: Float32) -> None:
    matrix, bias = layer
    np.matmul(rows, matrix, out=out)
    np.add(out, bias, out=out)
    np.maximum(out, 0, out=out)
