"""Speaker embeddings of people who do not exist."""

import math

import numpy as np

from audio.speaker_embedding.embedder import DIMENSIONS, Embedding


def voice(number: int) -> Embedding:
    """Returns the embedding of a person, who resembles none of the others."""
    return np.asarray(np.eye(DIMENSIONS, dtype=np.float32)[number])


def between(one: Embedding, other: Embedding, similarity: float) -> Embedding:
    """Returns an embedding with this similarity to `one`, on the way to `other`, which is unlike `one`."""
    return np.asarray(one * similarity + other * math.sqrt(1 - similarity**2), np.float32)
