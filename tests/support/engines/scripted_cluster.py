"""A cluster connection whose replicas are scripted: no Ray, no threads but the caller's."""

import asyncio
from collections.abc import AsyncGenerator
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from audio.cluster import ReplicaInfo, Service
from audio.cluster.wire import sent_info
from audio.errors import ReplicaLostError

INFO = ReplicaInfo("0.1.0+abc", "an engine on CPU", "cpu", "int8", True, "host", 1, 0, 0)

LOST = ReplicaLostError("a replica of whisper ended while it worked")


@dataclass
class ScriptedCluster:
    """Implements `ClusterConnection`.

    Attributes:
        answers: What each method returns; an exception is raised, and None is never answered. Used in turn; the last
            one is used again.
        streams: What each stream yields; an exception is raised, and None is never followed.
        requests: Methods with their arguments, in order.
        resets: Services that were reset, in order.
    """

    answers: dict[str, list[Any]] = field(default_factory=dict)
    streams: list[list[Any]] = field(default_factory=list)
    requests: list[tuple[Any, ...]] = field(default_factory=list)
    pending: list[Future[Any]] = field(default_factory=list)
    closed_streams: int = 0
    resets: list[Service] = field(default_factory=list)

    def request(self, service: Service, method: str, *arguments: object) -> Future[Any]:
        self.requests.append((service, method, *arguments))
        answers = self.answers.setdefault(method, [sent_info(INFO)])
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        future: Future[Any] = Future()
        self.pending.append(future)
        if isinstance(answer, Exception):
            future.set_exception(answer)
        elif answer is not None:
            future.set_result(answer)
        return future

    async def stream(self, service: Service, method: str, *arguments: object) -> AsyncGenerator[Any]:
        self.requests.append((service, method, *arguments))
        try:
            for item in self.streams.pop(0) if len(self.streams) > 1 else self.streams[0]:
                if isinstance(item, Exception):
                    raise item
                if item is None:
                    await asyncio.Event().wait()
                yield item
        finally:
            self.closed_streams += 1

    def reset(self, service: Service) -> None:
        self.resets.append(service)

    async def aclose(self) -> None:
        pass
