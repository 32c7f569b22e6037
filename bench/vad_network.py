"""Measures the CPU time of a window of Silero VAD in numpy and onnxruntime, shared or one for each conversation.

    python -m bench.vad_network [--conversations 16] [--windows 200]

The conversations take turns, as in a server, so a network of each conversation finds its weights outside of the
processor's caches. `batched` computes the windows of all conversations by one call, which a server could do only if
it let them wait for each other.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from audio import onnx_messages as onnx
from audio.vad.silero.network import CONTEXT_SAMPLES, STATE_SHAPE, WINDOW_SAMPLES, SileroNetwork, network_path
from audio.vad.silero.weights import Float32, SileroWeights, read_weights

_SEED = 7


def other_version() -> bytes:
    """Returns the network file with one more node, whose result is not used: onnxruntime computes it."""
    node = onnx.message(onnx.NODE_INPUT, b"h") + onnx.message(onnx.NODE_OUTPUT, b"unused")
    node += onnx.message(onnx.NODE_OPERATOR, b"Identity")
    graph = onnx.message(onnx.MODEL_GRAPH, onnx.message(onnx.GRAPH_NODE, node))
    return network_path().read_bytes() + graph


def onnx_network() -> SileroNetwork:
    """Returns the network in onnxruntime."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "silero.onnx")
        path.write_bytes(other_version())
        return SileroNetwork(path)


class BatchedNetwork:
    """Computes one window of every conversation by one call."""

    def __init__(self, weights: SileroWeights, conversations: int) -> None:
        """Allocates the states."""
        self._weights = weights
        self._c = np.zeros((conversations, 128), np.float32)
        self._h = np.zeros((conversations, 128), np.float32)

    def run(self, windows: Float32) -> Float32:
        """Returns the probabilities, shape (conversations,), of windows of shape (conversations, 576)."""
        count = len(windows)
        sound = np.concatenate((windows, windows[:, -2:-66:-1]), axis=1)
        spectra = np.abs(np.fft.rfft(_rows(sound, 4, 256, 128) * self._weights.window, axis=2))
        first, second, third, fourth = self._weights.convolutions
        out = _convolved(_rows(np.pad(spectra, ((0, 0), (1, 1), (0, 0))).reshape(count, -1), 4, 387, 129), first)
        out = _convolved(_rows(np.pad(out, ((0, 0), (1, 0), (0, 0))).reshape(count, -1), 2, 384, 256), second)
        out = _convolved(_convolved(out.reshape(count, 128), third), fourth)
        matrix, bias = self._weights.lstm
        gates = np.tanh(np.concatenate((out, self._h), axis=1) @ matrix + bias)
        gates[:, :384] = (gates[:, :384] + 1) * np.float32(0.5)
        self._c = gates[:, 256:384] * self._c + gates[:, :128] * gates[:, 384:]
        self._h = np.tanh(self._c) * gates[:, 128:256]
        weight, output_bias = self._weights.output
        probabilities: Float32 = 1 / (1 + np.exp(-(np.maximum(self._h, 0) @ weight + np.float32(output_bias))))
        return probabilities


def _rows(array: Float32, rows: int, length: int, step: int) -> Float32:
    windows = np.lib.stride_tricks.sliding_window_view(array, length, axis=1)
    return windows[:, : rows * step : step]


def _convolved(rows: Float32, layer: tuple[Float32, Float32]) -> Float32:
    matrix, bias = layer
    out: Float32 = np.maximum(rows.reshape(-1, len(matrix)) @ matrix + bias, 0)
    return out.reshape(*rows.shape[:-1], len(bias))


def turns_taken(networks: list[SileroNetwork], windows: Float32) -> Callable[[], None]:
    """Returns a function that computes the next window of every conversation, one after the other."""
    states = [(np.zeros(STATE_SHAPE, np.float32), np.zeros(STATE_SHAPE, np.float32)) for _ in networks]

    def step() -> None:
        for number, network in enumerate(networks):
            _, *state = network.run(windows[number : number + 1], *states[number])
            states[number] = state[0], state[1]

    return step


def cpu_us(step: Callable[[], object], windows: int, conversations: int) -> float:
    """Returns the CPU time of one window in microseconds."""
    for _ in range(10):
        step()
    began_s = time.thread_time()
    for _ in range(windows):
        step()
    return (time.thread_time() - began_s) / windows / conversations * 1e6


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--conversations", type=int, default=16)
    parser.add_argument("--windows", type=int, default=200, help="windows of each conversation")
    options = parser.parse_args()
    count: int = options.conversations
    windows = np.random.default_rng(_SEED).normal(0, 0.1, (count, CONTEXT_SAMPLES + WINDOW_SAMPLES)).astype(np.float32)
    weights = read_weights(network_path().read_bytes())
    if weights is None:
        raise SystemExit("bench.vad_network: the installed network is of an unknown version")
    batched, shared, numpy_shared = BatchedNetwork(weights, count), onnx_network(), SileroNetwork()
    ways: dict[str, Callable[[], object]] = {
        "onnxruntime, one network each": turns_taken([onnx_network() for _ in range(count)], windows),
        "onnxruntime, shared": turns_taken([shared] * count, windows),
        "numpy, one network each": turns_taken([SileroNetwork() for _ in range(count)], windows),
        "numpy, shared": turns_taken([numpy_shared] * count, windows),
        "numpy, batched": lambda: batched.run(windows),
    }
    print(f"| {count} conversations | CPU time of a window, us |\n|---|---|")
    for name, step in ways.items():
        print(f"| {name} | {cpu_us(step, options.windows, count):.0f} |")


if __name__ == "__main__":
    main()
