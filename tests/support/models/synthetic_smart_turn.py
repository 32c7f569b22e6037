"""A network with Smart Turn's interface, so simple that its output can be computed by hand."""

import numpy as np
import numpy.typing as npt
from support.models.onnx_graph import OnnxGraph

MELS, FRAMES, POSITIONS, WIDTH = 80, 800, 400, 3

TABLE: npt.NDArray[np.float32] = np.random.default_rng(1).normal(size=(POSITIONS, WIDTH)).astype(np.float32)


def counting_network(positions: int = POSITIONS, *, pooling: bool = False) -> bytes:
    """Returns a network whose output is the sigmoid of `logit_of`.

    With `pooling` its frames are pooled by attention before the mean, as in Smart Turn.
    """
    graph = OnnxGraph()
    sound = graph.input("input_features", integer=False, shape=("batch", MELS, FRAMES))
    kernel = np.zeros((WIDTH, MELS, 3), np.float32)
    kernel[:, 0, 1] = 1.0  # the first band, at the even frames
    bands = graph.op("Conv", sound, graph.constant(kernel), strides=[2], pads=[1, 1])
    seen = graph.op("Transpose", bands, perm=[0, 2, 1])
    table = graph.constant(np.resize(TABLE, (positions, WIDTH)), "encoder.embed_positions.weight")
    sizes = [graph.constant(np.array([size])) for size in (1, positions, WIDTH)]
    whole = graph.op("Reshape", graph.op("Add", seen, table), graph.op("Concat", *sizes, axis=0))
    if pooling:
        scores = graph.op("ReduceMean", whole, axes=[2], keepdims=1)
        whole = graph.op("Mul", whole, graph.op("Softmax", scores, axis=1))
    mean = graph.op("ReduceMean", whole, axes=[1, 2], keepdims=0)
    graph.output("logits", graph.op("Sigmoid", mean), ("batch",))
    return graph.bytes()


def padded(network: bytes, size_bytes: int) -> bytes:
    """Returns a network with a field that nothing reads, so that its file has this size."""
    tag = b"\xc2\x3e"  # number 1000, of bytes

    def varint(number: int) -> bytes:
        return bytes([*(number >> shift & 0x7F | 0x80 for shift in (0, 7, 14)), number >> 21])

    rest = size_bytes - len(network) - len(tag) - len(varint(0))
    return network + tag + varint(rest) + bytes(rest)


def logit_of(features: npt.NDArray[np.float32]) -> float:
    """Returns the mean of the last positions' table and first band, every other frame; (1, MELS, 2 * positions)."""
    band = features[0, 0, ::2]
    return float(np.mean(TABLE[-len(band) :] + band[:, np.newaxis]))


def frames_of(features: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Returns the frames of the network, shape (positions, WIDTH), for features of shape (1, MELS, 2 * positions)."""
    band = features[0, 0, ::2]
    frames: npt.NDArray[np.float32] = TABLE[-len(band) :] + band[:, np.newaxis]
    return frames
