"""Speech engines on a cluster: interfaces that do not depend on the cluster's software.

A gateway process keeps the sockets and the turn taking. It sends segments and texts to replicas of the engines:

    recognizer ──────▶ decodes ────────┐
    reply ───────────▶ ClusterVoice ───┼─▶ ClusterConnection ─▶ replicas (assistant/cluster/)
    EvidenceCollector ▶ ClusterTurnEnd ┘
"""

from collections.abc import AsyncGenerator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Literal, Protocol

ANSWER_TIMEOUT_S = 60.0
"""Longest wait for a replica, in seconds. A busy one answers late, and the cluster replaces one that hangs."""

Service = Literal["recognizer", "voice", "turn-end"]
"""An engine that runs on the cluster, with any number of replicas."""

SERVICES: tuple[Service, ...] = ("recognizer", "voice", "turn-end")


@dataclass(frozen=True, slots=True)
class ReplicaInfo:
    """The state of one replica.

    Attributes:
        version: Version of the program and fingerprint of its settings, as "0.1.0+1f3a5c7e".
        detail: One line about the engine: model, threads, device.
        device: "cpu" or "cuda".
        compute_type: Number format of the weights; "" if the engine has none.
        multilingual: Whether it knows several languages.
        host: Name of its machine.
        pid: Its process.
        ongoing: Requests that it works on or that wait in it.
        served: Requests that it has answered.
    """

    version: str
    detail: str
    device: str
    compute_type: str
    multilingual: bool
    host: str
    pid: int
    ongoing: int
    served: int


class ClusterConnection(Protocol):
    """The connection of one gateway process to the cluster. It connects when it is used. Thread-safe."""

    def request(self, service: Service, method: str, *arguments: object) -> Future[Any]:
        """Calls a method of some replica. Never blocks. Cancelling the future cancels the call.

        The future raises ReplicaLostError if the replica ended, EngineLoadError if there is no such service, and
        EngineError for any other failure. It has no deadline. Raises EngineError if the connection is closed.
        """
        ...

    def stream(self, service: Service, method: str, *arguments: object) -> AsyncGenerator[Any]:
        """Yields the items that a replica's generator gives. Closing it cancels the call. Errors as in `request`."""
        ...

    def reset(self, service: Service) -> None:
        """Looks for the service again at the next request, because it does not answer. Never blocks.

        It also connects again if the cluster has gone. Requests of other services go on.
        """
        ...

    async def aclose(self) -> None:
        """Ends the connection. Idempotent; bounded in time."""
        ...
