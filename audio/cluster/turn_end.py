"""Smart Turn by replicas on a cluster."""

import asyncio

from audio.cluster import ClusterConnection, ReplicaInfo
from audio.cluster.answers import ask_replica
from audio.cluster.wire import sent_pcm
from audio.end_of_turn.smart_turn.network import WINDOW_SAMPLES
from audio.errors import ReplicaLostError
from audio.units import Pcm

MAX_WAITING = 64
"""Maximum number of pending requests of one gateway; the estimate of a later one is made without it."""


class ClusterTurnEnd:
    """Implements `AudioEndOfTurnModel` by replicas on the cluster. Call it on the event loop."""

    def __init__(self, connection: ClusterConnection) -> None:
        """Creates it without a connection. The owner of `connection` closes that."""
        self._connection = connection
        self._waiting = 0
        self._info: ReplicaInfo | None = None

    @property
    def detail(self) -> str:
        """The replicas' network."""
        return "not connected" if self._info is None else f"{self._info.detail}, on the cluster"

    async def load(self) -> None:
        """Waits until a replica answers. Raises EngineLoadError."""
        self._info = await asyncio.to_thread(ask_replica, self._connection, "turn-end")

    async def probability(self, pcm: Pcm) -> float:
        """See `SmartTurn.probability`. Raises EngineError; TimeoutError if too many requests are pending.

        If the replica ends, the request is repeated once: the caller waits only for half a second.
        """
        if self._waiting >= MAX_WAITING:
            raise TimeoutError
        sound = sent_pcm(pcm[-WINDOW_SAMPLES:])
        self._waiting += 1
        try:
            try:
                return await self._ask(sound)
            except ReplicaLostError:
                return await self._ask(sound)
        except ReplicaLostError as error:
            raise TimeoutError from error  # this estimate is made without it; the next one may have it
        finally:
            self._waiting -= 1

    async def _ask(self, sound: bytes) -> float:
        return float(await asyncio.wrap_future(self._connection.request("turn-end", "probability", sound)))
