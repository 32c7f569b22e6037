"""Defines a known voice. Pure.

An embedding is personal data: it is kept on this machine only, and in no trace, log or message.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from audio.speaker_embedding.embedder import Embedding


@dataclass(frozen=True, slots=True, eq=False)
class Voiceprint:
    """A known voice.

    Attributes:
        name: The name of the person, or a label such as S1.
        embedding: The mean embedding of their speech, unit norm, shape (256,).
        speech_s: Seconds of speech it is made of.
    """

    name: str
    embedding: Embedding
    speech_s: float

    @staticmethod
    def of(name: str, speech: Sequence[tuple[Embedding, float]]) -> "Voiceprint":
        """Returns the voice of several stretches of speech: their embeddings with seconds of speech, at least one."""
        total_s = sum(seconds for _, seconds in speech)
        return Voiceprint(name, _unit(sum_of(speech)), total_s)

    def similarity(self, embedding: Embedding) -> float:
        """Returns the cosine of the voice and an embedding, -1..1."""
        return float(np.dot(self.embedding, embedding))

    def with_speech(self, embedding: Embedding, speech_s: float, max_speech_s: float) -> "Voiceprint":
        """Returns the voice with another stretch of its speech. What it was made of counts up to `max_speech_s`."""
        known_s = min(self.speech_s, max_speech_s)
        mean = _unit(sum_of([(self.embedding, known_s), (embedding, speech_s)]))
        return replace(self, embedding=mean, speech_s=known_s + speech_s)


def sum_of(speech: Sequence[tuple[Embedding, float]]) -> Embedding:
    """Returns the sum of embeddings, each weighted by its seconds of speech."""
    return np.asarray(sum(embedding * np.float32(seconds) for embedding, seconds in speech), np.float32)


def _unit(embedding: Embedding) -> Embedding:
    return np.asarray(embedding / max(float(np.linalg.norm(embedding)), 1e-12), np.float32)
