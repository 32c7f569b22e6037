"""Smart Turn for many conversations: one network, one thread, asked in turn."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from audio.endpointing.smart_turn import SmartTurn
from audio.units import MIC_RATE_HZ, Pcm

MOST_WAITING = 4
"""Beyond that an answer would come too late to decide anything: the estimate does without."""


class SmartTurnDesk:
    """Lives on the event loop; its work is done in a thread. Implements `assistant.judge.Listener`."""

    def __init__(self, path: Path) -> None:
        """Nothing is loaded yet."""
        self._path = path
        self._network: SmartTurn | None = None
        self._thread = ThreadPoolExecutor(1, "smart-turn")  # one at a time, also where nobody waits any more
        self._waiting = 0

    async def load(self) -> None:
        """Load the network and ask it once. Raises EngineLoadError, EngineError."""
        network = await asyncio.to_thread(SmartTurn, self._path)
        await asyncio.to_thread(network.probability, np.zeros(MIC_RATE_HZ, np.int16))
        self._network = network

    async def probability(self, pcm: Pcm) -> float:
        """See `SmartTurn.probability`. Raises EngineError; TimeoutError where too many wait already."""
        if self._network is None or self._waiting >= MOST_WAITING:
            raise TimeoutError
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, self._network.probability, pcm)
        finally:
            self._waiting -= 1
