"""A network with the interface of the speaker embedder: the mean spectrum of a window, in the first numbers."""

import numpy as np
from support.models.onnx_graph import OnnxGraph

MELS, FRAMES, DIMENSIONS = 40, 80, 256

SILENCE_LOG_POWER = 10.0
"""Added to the log power, so that silence is zero."""


def spectrum_network() -> bytes:
    """Returns a network whose output is the mean log power of each band above silence, padded with zeros."""
    graph = OnnxGraph()
    mel = graph.input("mel_window", integer=False, shape=("batch", FRAMES, MELS))
    mean = graph.op("ReduceMean", mel, axes=[1], keepdims=0)
    above = graph.op("Add", mean, graph.constant(np.array([SILENCE_LOG_POWER], np.float32)))
    graph.output("embedding", graph.op("MatMul", above, graph.constant(np.eye(MELS, DIMENSIONS))), ("batch", 256))
    return graph.bytes()
