"""Connections to clusters that are not there, and what failures of Ray become."""

import asyncio
import importlib
import socket
import sys
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import pytest

from audio.cluster import ray_connection
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


async def test_unreachable_cluster_is_a_load_error(free_port: int) -> None:
    connection = RayConnection(f"127.0.0.1:{free_port}", timeout_s=60)
    try:
        with pytest.raises(EngineLoadError, match="repartee cluster start"):
            await asyncio.wrap_future(connection.request("recognizer", "describe"))
        with pytest.raises(EngineLoadError, match=str(free_port)):
            async for _item in connection.stream("voice", "speak", "Hello.", 1.0):
                pass
    finally:
        await connection.aclose()


async def test_slow_cluster_is_a_load_error(monkeypatch: pytest.MonkeyPatch) -> None:
    connection = RayConnection("auto", timeout_s=0.1)
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    monkeypatch.setattr(connection, "_is_connected", asyncio.run_coroutine_threadsafe(ended.wait(), loop).result)
    try:
        with pytest.raises(EngineLoadError, match=r"within 0\.1 s: look at its head"):
            await asyncio.wrap_future(connection.request("recognizer", "describe"))
    finally:
        ended.set()
        await connection.aclose()


class Response:
    """A request to a replica. It never ends, or gives items without end."""

    def __init__(self) -> None:
        self.is_cancelled = False

    async def __aiter__(self) -> AsyncGenerator[int]:
        while True:
            yield 0
            await asyncio.sleep(0)

    def __await__(self) -> Generator[Any, None, Any]:
        return asyncio.Event().wait().__await__()

    def cancel(self) -> None:
        self.is_cancelled = True


@dataclass
class Handle:
    """A deployment handle."""

    service: str
    is_closed: bool = False
    responses: list[Response] = field(default_factory=list)

    def __getattr__(self, _method: str) -> Any:
        return self

    def options(self, **_given: object) -> "Handle":
        return self

    def remote(self, *_arguments: object) -> Response:
        self.responses.append(Response())
        return self.responses[-1]

    async def shutdown_async(self) -> None:
        self.is_closed = True


@dataclass
class ScriptedRay:
    """Ray in the place of the modules ray and ray.serve.

    Attributes:
        may_connect: Connecting waits for it.
        is_member: Whether the cluster knows the process.
        connects: Number of connections that were begun.
        handles: All handles, in order.
    """

    may_connect: threading.Event = field(default_factory=threading.Event)
    is_member: bool = False
    connects: int = 0
    handles: list[Handle] = field(default_factory=list)

    def connection(self, monkeypatch: pytest.MonkeyPatch) -> RayConnection:
        made = RayConnection("auto", timeout_s=60)
        monkeypatch.setattr(made, "_is_connected", lambda: self.is_member)
        monkeypatch.setattr(made, "_connect_now", self._connect)
        made._serve = self
        return made

    @property
    def requested(self) -> int:
        """Number of handles that have got a request."""
        return sum(bool(handle.responses) for handle in self.handles)

    def _connect(self) -> None:
        self.connects += 1
        assert self.may_connect.wait(30)
        self.is_member = True

    def get_deployment_handle(self, service: str, app_name: str) -> Handle:
        assert app_name == f"repartee-{service}"
        self.handles.append(Handle(service))
        return self.handles[-1]


@pytest.fixture
def ray() -> ScriptedRay:
    scripted = ScriptedRay()
    scripted.may_connect.set()
    return scripted


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110 - it becomes true in another thread
            await asyncio.sleep(0.001)


async def test_requests_share_one_connection_even_if_the_first_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = ScriptedRay()
    connection = ray.connection(monkeypatch)
    first = connection.request("turn-end", "probability", b"")
    await until(lambda: ray.connects == 1)
    first.cancel()  # Smart Turn waits only for half a second
    second = connection.request("turn-end", "probability", b"")
    third = connection.request("recognizer", "decode", b"")
    ray.may_connect.set()
    await until(lambda: ray.requested == 2)
    assert ray.connects == 1
    assert sorted(handle.service for handle in ray.handles) == ["recognizer", "turn-end"]
    await connection.aclose()
    for unanswered in (second, third):
        with pytest.raises(EngineError, match="is closed"):
            unanswered.result(30)


async def test_reset_of_a_service_leaves_the_others_connected(
    ray: ScriptedRay, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = ray.connection(monkeypatch)
    connection.request("recognizer", "decode", b"")
    connection.request("voice", "describe")
    await until(lambda: ray.requested == 2)
    connection.reset("recognizer")
    connection.request("recognizer", "decode", b"")
    await until(lambda: ray.requested == 3)
    assert [handle.service for handle in ray.handles if handle.is_closed] == ["recognizer"]
    assert ray.connects == 1
    await connection.aclose()
    assert all(handle.is_closed for handle in ray.handles)
    connection.reset("recognizer")  # does nothing


async def test_all_handles_are_closed_before_another_connection(
    ray: ScriptedRay, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = ray.connection(monkeypatch)
    connection.request("recognizer", "decode", b"")
    connection.request("voice", "describe")
    await until(lambda: ray.requested == 2)
    ray.is_member = False  # the head was started again
    connection.reset("recognizer")
    connection.request("recognizer", "decode", b"")
    await until(lambda: ray.requested == 3)
    assert [handle.is_closed for handle in ray.handles] == [True, True, False]
    assert ray.connects == 2
    await connection.aclose()


async def test_stream_whose_items_nobody_takes_fails(ray: ScriptedRay, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_connection, "MAX_ITEMS", 3)
    connection = ray.connection(monkeypatch)
    async with aclosing(connection.stream("voice", "speak", "Hello.", 1.0)) as items:
        assert await anext(items) == 0
        await until(lambda: ray.handles[0].responses[0].is_cancelled)
        with pytest.raises(EngineError, match="more than 3 items"):
            async for _item in items:
                pass
    await connection.aclose()


async def test_stream_that_is_cut_by_closing_the_connection_is_not_complete(
    ray: ScriptedRay, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = ray.connection(monkeypatch)
    async with aclosing(connection.stream("voice", "speak", "Hello.", 1.0)) as items:
        assert await anext(items) == 0
        await connection.aclose()
        with pytest.raises(EngineError, match="is closed"):
            async for _item in items:
                pass


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (RuntimeError("Version mismatch:\nthe cluster has Ray 2.61"), "Version mismatch: the cluster has Ray 2.61"),
        (ConnectionRefusedError("a long text of the system"), "(ConnectionRefusedError): start it"),
    ],
)
async def test_failed_connection_says_why(error: Exception, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise error

    connection = ScriptedRay().connection(monkeypatch)
    monkeypatch.setattr(connection, "_connect_now", fail)
    with pytest.raises(EngineLoadError) as raised:
        await asyncio.wrap_future(connection.request("recognizer", "describe"))
    assert shown in str(raised.value)
    assert "repartee cluster start" in str(raised.value)
    await connection.aclose()


async def test_closed_connection_refuses_requests() -> None:
    connection = RayConnection("auto", timeout_s=1)
    await connection.aclose()
    await connection.aclose()
    with pytest.raises(EngineError, match="closed"):
        connection.request("recognizer", "describe")


def ray_errors() -> list[tuple[Any, type, str]]:
    exceptions: Any = importlib.import_module("ray.exceptions")  # takes a second; partly without types

    failed = exceptions.RayTaskError("decode", "its traceback, with words", ValueError("words of a user"))
    of_engine = exceptions.RayTaskError("speak", "its traceback", EngineError("Piper is overloaded"))
    return [
        (exceptions.ActorDiedError(), ReplicaLostError, "recognizer"),
        (exceptions.ActorUnavailableError("it is gone", None), ReplicaLostError, "recognizer"),
        (exceptions.WorkerCrashedError(), ReplicaLostError, "recognizer"),
        (of_engine, EngineError, "Piper is overloaded"),
        (failed, EngineError, "ValueError"),
        (exceptions.RaySystemError("words"), EngineError, "RaySystemError"),
        (EngineLoadError("not deployed."), EngineLoadError, "not deployed"),
    ]


@pytest.mark.filterwarnings("ignore")  # of Ray's own imports
def test_failures_of_ray_become_errors_of_engines_without_words() -> None:
    connection = RayConnection("auto", timeout_s=1)
    for error, kind, text in ray_errors():
        translated = connection._translated("recognizer", error)
        assert type(translated) is kind, error
        assert text in str(translated)
        assert "words" not in str(translated)
    asyncio.run(connection.aclose())
