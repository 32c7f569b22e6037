"""Connections to clusters that are not there, and what failures of Ray become."""

import asyncio
import importlib
import socket
import sys
from collections.abc import Generator
from typing import Any

import pytest

from audio.cluster.ray_connection import RayConnection, import_ray
from audio.errors import EngineError, EngineLoadError, ReplicaLostError


@pytest.fixture
def free_port() -> Generator[int]:
    with socket.socket() as taken:  # bound, but it does not listen
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


def test_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(EngineLoadError, match=r"\[cluster\]"):
        import_ray()


def test_unreachable_cluster_is_a_load_error(free_port: int) -> None:
    async def scene() -> None:
        connection = RayConnection(f"127.0.0.1:{free_port}", "repartee", timeout_s=60)
        try:
            with pytest.raises(EngineLoadError, match="repartee cluster start"):
                await asyncio.wrap_future(connection.request("whisper", "describe"))
            with pytest.raises(EngineLoadError, match=str(free_port)):
                async for _item in connection.stream("voice", "speak", "Hello.", 1.0):
                    pass
        finally:
            await connection.aclose()

    asyncio.run(scene())


def test_slow_cluster_is_a_load_error(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene() -> None:
        connection = RayConnection("auto", "repartee", timeout_s=0.1)
        ended = asyncio.Event()
        loop = asyncio.get_running_loop()
        monkeypatch.setattr(connection, "_connect_now", asyncio.run_coroutine_threadsafe(ended.wait(), loop).result)
        try:
            with pytest.raises(EngineLoadError, match=r"within 0\.1 s"):
                await asyncio.wrap_future(connection.request("whisper", "describe"))
        finally:
            ended.set()
            await connection.aclose()

    asyncio.run(scene())


def test_closed_connection_refuses_requests() -> None:
    async def scene() -> None:
        connection = RayConnection("auto", "repartee", timeout_s=1)
        await connection.aclose()
        await connection.aclose()
        with pytest.raises(EngineError, match="closed"):
            connection.request("whisper", "describe")

    asyncio.run(scene())


def ray_errors() -> list[tuple[Any, type, str]]:
    exceptions: Any = importlib.import_module("ray.exceptions")  # takes a second; partly without types

    failed = exceptions.RayTaskError("decode", "its traceback, with words", ValueError("words of a user"))
    of_engine = exceptions.RayTaskError("speak", "its traceback", EngineError("Piper is overloaded"))
    return [
        (exceptions.ActorDiedError(), ReplicaLostError, "whisper"),
        (exceptions.ActorUnavailableError("it is gone", None), ReplicaLostError, "whisper"),
        (exceptions.WorkerCrashedError(), ReplicaLostError, "whisper"),
        (of_engine, EngineError, "Piper is overloaded"),
        (failed, EngineError, "ValueError"),
        (exceptions.RaySystemError("words"), EngineError, "RaySystemError"),
        (EngineLoadError("not deployed."), EngineLoadError, "not deployed"),
    ]


@pytest.mark.filterwarnings("ignore")  # of Ray's own imports
def test_failures_of_ray_become_errors_of_engines_without_words() -> None:
    connection = RayConnection("auto", "repartee", timeout_s=1)
    for error, kind, text in ray_errors():
        translated = connection._translated("whisper", error)
        assert type(translated) is kind, error
        assert text in str(translated)
        assert "words" not in str(translated)
    asyncio.run(connection.aclose())
