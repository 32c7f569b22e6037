"""Runs one speaker embedder in one thread for several conversations."""

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from audio.errors import EngineError
from audio.speaker_embedding.embedder import Embedding, SpeakerEmbedder
from audio.speaker_embedding.mel import WINDOW_SAMPLES
from audio.units import Pcm

log = logging.getLogger(__name__)

MAX_WAITING = 3
"""Maximum number of pending requests. A later one is skipped: conversations ask twice for each second of speech."""


class SpeakerService:
    """Runs the embedder in a thread; call it on the event loop.

    Attributes:
        skipped: The number of requests that were skipped because too many were pending.
    """

    def __init__(self, path: Path | None) -> None:
        """Creates the service without loading the network. `path`: None if it is not on this machine."""
        self.skipped = 0
        self._path = path
        self._embedder: SpeakerEmbedder | None = None
        self._thread = ThreadPoolExecutor(1, "speaker-embedder")  # one at a time, even if the caller was cancelled
        self._waiting = 0

    async def load(self) -> None:
        """Loads the network and runs it once. Raises EngineLoadError, EngineError."""
        embedder = await asyncio.to_thread(SpeakerEmbedder.load, self._path)
        await asyncio.to_thread(embedder.embedding, np.zeros(WINDOW_SAMPLES, np.int16))
        self._embedder = embedder

    async def embedding(self, pcm: Pcm) -> Embedding | None:
        """Returns the embedding of speech; None if it was skipped under load. Raises EngineError."""
        if self._embedder is None:
            raise EngineError("The speaker embedder is not loaded: load it first.")
        if self._waiting >= MAX_WAITING:
            self.skipped += 1
            if self.skipped == 1:
                log.warning("the speaker embedder is too slow now: who speaks is not always known")
            return None
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, self._embedder.embedding, pcm)
        finally:
            self._waiting -= 1

    def close(self) -> None:
        """Stops the thread. Pending requests are dropped."""
        self._thread.shutdown(wait=False, cancel_futures=True)
