"""Runs one Smart Turn network in one thread for several conversations."""

import asyncio
import logging
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from audio.end_of_turn.smart_turn.network import DEFAULT_PROVIDER, SmartTurn
from audio.execution_provider import ProviderInUse, ProviderRequest
from audio.units import MIC_RATE_HZ, Pcm

log = logging.getLogger(__name__)

MAX_WAITING = 4
"""Maximum number of pending requests; a later one would be answered too late, and the estimate is made without it."""

TOO_SLOW_S = 0.13
"""Longest acceptable computation, in seconds.

The network is asked after a silence of 100 ms; a turn that sounds finished ends at 220 ms (`assistant/end_of_turn/`).
With VNNI it takes 76 to 102 ms.
"""


class SmartTurnService:
    """Runs Smart Turn in a thread; call it on the event loop. Implements `AudioEndOfTurnModel`.

    Attributes:
        slow: After loading, why it uses shorter audio; "" if it does not.
        provider: Where the loaded network computes; None before `load`.
        fallback: See `OpenedSession.fallback`; "" before `load`.
    """

    def __init__(
        self, path: Path, *, too_slow_s: float = TOO_SLOW_S, provider: ProviderRequest = DEFAULT_PROVIDER
    ) -> None:
        """Creates the service without loading the network."""
        self.slow = self.fallback = ""
        self.provider: ProviderInUse | None = None
        self._request = provider
        self._path = path
        self._too_slow_s = too_slow_s
        self._network: SmartTurn | None = None
        self._thread = ThreadPoolExecutor(1, "smart-turn")  # one at a time, even if the caller was cancelled
        self._waiting = 0

    async def load(self) -> None:
        """Loads the network and runs it once. Raises EngineLoadError, EngineError."""
        network = await asyncio.to_thread(self._load_network)
        self.provider, self.fallback = network.provider, network.fallback
        if network.fallback:
            log.warning("Smart Turn computes %s", network.fallback)
        if self.slow:
            log.warning("%s", self.slow)
        self._network = network

    def _load_network(self) -> SmartTurn:
        """Returns the network, or the short one if the full one is too slow on this machine."""
        network = SmartTurn(self._path, provider=self._request)
        took_s = min(_answer_s(network) for _ in range(2))
        if took_s > self._too_slow_s:
            self.slow = f"Smart Turn uses 4 s of speech: for 8 s it takes {1000 * took_s:.0f} ms on this machine"
            network = SmartTurn(self._path, short=True, provider=self._request)
            _answer_s(network)
        return network

    async def probability(self, pcm: Pcm) -> float:
        """See `SmartTurn.probability`. Raises EngineError; TimeoutError if too many requests are pending."""
        if self._network is None or self._waiting >= MAX_WAITING:
            raise TimeoutError
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, self._network.probability, pcm)
        finally:
            self._waiting -= 1


def _answer_s(network: SmartTurn) -> float:
    """Returns the CPU time of one answer; wall time would include other loading."""
    begun_s = time.thread_time()
    network.probability(np.zeros(MIC_RATE_HZ, np.int16))
    return time.thread_time() - begun_s
