"""Waits for the answers of replicas; blocks."""

import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from audio.cluster import ClusterConnection, ReplicaInfo, Service
from audio.cluster.wire import received_info
from audio.errors import EngineError, EngineLoadError, LateError, ReplicaLostError

POLL_S = 0.02
"""Interval at which a pending request is checked for being unwanted, in seconds."""

REPEAT_AFTER_S = 0.05
"""Wait before a request is repeated whose replica ended, in seconds: the connection learns meanwhile that it is gone.
"""

DESCRIBE_LIMIT_S = 300.0
"""Longest wait for the first answer of a replica, in seconds: it may have to load its model first."""


def ask_replica(connection: ClusterConnection, service: Service) -> ReplicaInfo:
    """Returns what a replica of a service says about itself; blocks. Raises EngineLoadError.

    After a failure, or without an answer within `DESCRIBE_LIMIT_S`, the next request looks for the service again.
    """
    deadline_s = time.monotonic() + DESCRIBE_LIMIT_S
    while True:
        try:
            return received_info(result_of(connection.request(service, "describe"), lambda: True, deadline_s))
        except ReplicaLostError as error:
            if time.monotonic() + REPEAT_AFTER_S > deadline_s:
                raise EngineLoadError(str(error)) from error
            time.sleep(REPEAT_AFTER_S)
        except (EngineError, EngineLoadError) as error:
            connection.reset(service)
            raise EngineLoadError(str(error)) from error


def result_of(answer: Future[Any], is_wanted: Callable[[], bool], deadline_s: float) -> Any:
    """Returns the result of a request; None if it became unwanted. Raises EngineError."""
    while True:
        rest_s = deadline_s - time.monotonic()
        try:
            return answer.result(max(0.0, min(POLL_S, rest_s)))
        except TimeoutError as error:
            if is_wanted() and rest_s > 0:
                continue
            answer.cancel()
            if rest_s <= 0:
                raise LateError("the cluster did not answer in time: run `repartee cluster status`") from error
            return None
