"""Runs the network that maps speech to a speaker embedding."""

from pathlib import Path

import numpy as np
import numpy.typing as npt

from audio.errors import EngineError, EngineLoadError
from audio.speaker_embedding.mel import mel_windows
from audio.units import Pcm

Embedding = npt.NDArray[np.float32]
"""A speaker embedding of unit norm, shape (256,). The similarity of two is their cosine, the dot product."""

DIMENSIONS = 256

MISSING = "the speaker embedder is not downloaded; fetch it: repartee models pull speaker-embedder"

_INPUT = "mel_window"


class SpeakerEmbedder:
    """The network. It has no state, so conversations may share it. Each 0.8 s of speech takes 20 to 40 ms of CPU.

    Run it in a thread: onnxruntime releases the GIL.
    """

    def __init__(self, path: Path) -> None:
        """Loads the network at `path` to run on one thread. Raises EngineLoadError."""
        if not path.is_file():
            raise EngineLoadError(f"There is no {path}: {MISSING}.")
        try:
            import onnxruntime  # noqa: PLC0415 - on use: a default run does not need it

            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = options.inter_op_num_threads = 1
            options.log_severity_level = 3
            self._session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except Exception as error:
            raise EngineLoadError(
                f"onnxruntime cannot load the speaker embedder from {path} ({type(error).__name__}): "
                "remove it and pull it again: repartee models pull speaker-embedder."
            ) from error

    @classmethod
    def load(cls, path: Path | None) -> "SpeakerEmbedder":
        """Returns the embedder with the network at `path`; None: it is not on this machine. Raises EngineLoadError."""
        if path is None:
            raise EngineLoadError(f"Who speaks is not known: {MISSING}.")
        return cls(path)

    def embedding(self, pcm: Pcm) -> Embedding:
        """Returns the embedding of speech, int16 at 16 kHz, unit norm. Raises EngineError.

        It is the mean over windows of 0.8 s with half a window between them. Shorter speech is padded with zeros.
        """
        try:
            outputs = self._session.run(None, {_INPUT: mel_windows(pcm)})
        except Exception as error:
            raise EngineError("The speaker embedder failed inside onnxruntime: pull it again.") from error
        return mean_embedding(list(np.asarray(outputs[0], np.float32).reshape(-1, DIMENSIONS)))


def mean_embedding(vectors: list[Embedding]) -> Embedding:
    """Returns the embedding in the middle of several, each counted by its direction only."""
    stacked = np.stack(vectors).astype(np.float32)
    units = stacked / np.maximum(np.linalg.norm(stacked, axis=1, keepdims=True), 1e-12)
    mean = units.mean(axis=0)
    return np.asarray(mean / max(float(np.linalg.norm(mean)), 1e-12), np.float32)
