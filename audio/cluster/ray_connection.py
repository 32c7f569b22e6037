"""The connection of a process to Ray, by deployment handles of Ray Serve.

Ray is called only in a thread of its own, which runs an event loop: connecting and cancelling can block. It is the only
module of this package that knows Ray. Ray's types are `Any` here.
"""

import asyncio
import atexit
import logging
import os
import socket
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from audio.cluster import Service
from audio.errors import AudioError, EngineError, EngineLoadError, ReplicaLostError
from declarations.extra import installing

log = logging.getLogger(__name__)

T = TypeVar("T")

CLOSE_TIMEOUT_S = 5.0
PROBE_TIMEOUT_S = 3.0
"""Longest wait for an answer of the cluster's head, in seconds: Ray's own attempts take far longer or never end."""

MAX_ITEMS = 4096
"""Items of one stream that wait for their reader: more than any text has. A stream with more fails."""

DIRECT_BYTES = 1_000_000
"""Arguments up to this size are sent with the request; larger ones cost another message through the object store."""

CONNECT_TIMEOUT_S = 30.0
"""Longest wait for the connection, in seconds. An estimate, not measured: Ray's start on a new node may take ten."""

NAMESPACE = "repartee"

_ENVIRONMENT = {
    # Otherwise Ray ends the whole process a minute after the cluster's head has gone (default: 60).
    "RAY_gcs_rpc_server_reconnect_timeout_s": "31536000",
    "RAY_max_direct_call_object_size": str(DIRECT_BYTES),
    # Requests go to the replica's own port instead of through Ray's object store: half the time (docs/lab/cluster.md).
    "RAY_SERVE_USE_GRPC_BY_DEFAULT": "1",
    "RAY_DEDUP_LOGS": "0",
    "RAY_SERVE_LOG_TO_STDERR": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}
"""Ray's variables, unless the user has set them."""

HELP = "run `repartee cluster status`"
CLOSED = "the connection to the cluster is closed"

_SHOWN_CHARS = 200
"""Longest part of an error of Ray that is shown when connecting fails, in characters."""


def prepare_environment() -> None:
    """Sets Ray's variables that are not set. Call it before Ray is imported."""
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)


def import_ray() -> tuple[Any, Any]:
    """Returns the modules ray and ray.serve. Raises EngineLoadError without the extra."""
    prepare_environment()
    try:
        import ray  # noqa: PLC0415 - on use: 650 ms
        from ray import serve  # noqa: PLC0415
    except ImportError as error:
        raise EngineLoadError(
            f"the engine ray needs the package ray[serve], which is not installed: {installing('cluster')}."
        ) from error
    for name in ("ray", "ray.serve"):
        logging.getLogger(name).setLevel(logging.ERROR)
    return ray, serve


def deployment_of(service: Service) -> str:
    """Returns the name of a service's deployment, the only one of its application."""
    return service


def application_of(service: Service) -> str:
    """Returns the name of a service's application in the cluster."""
    return f"repartee-{service}"


class RayConnection:
    """Implements `ClusterConnection`. There can be one in a process, as Ray connects a process once.

    Attributes:
        address: As in `cluster.address`.
    """

    def __init__(self, address: str, *, timeout_s: float = CONNECT_TIMEOUT_S) -> None:
        """Starts the thread. Connects at the first request.

        Args:
            address: "auto" for the cluster of this machine, or host:port of its head.
            timeout_s: Longest wait for the connection, in seconds.
        """
        self.address = address
        self._timeout_s = timeout_s
        self._ray: Any = None
        self._serve: Any = None
        self._handles: dict[Service, Any] = {}
        self._running: dict[str, asyncio.Task[Any]] = {}  # calls of Ray that several requests wait for, by name
        self._connected = False
        self._closed = False
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._run, name="ray", daemon=True).start()

    # ClusterConnection

    def request(self, service: Service, method: str, *arguments: object) -> Future[Any]:
        """See `ClusterConnection`."""
        return self._submit(self._request(service, method, arguments))

    async def stream(self, service: Service, method: str, *arguments: object) -> AsyncGenerator[Any]:
        """See `ClusterConnection`."""
        loop = asyncio.get_running_loop()
        items: asyncio.Queue[tuple[Any, bool]] = asyncio.Queue()  # the last one has True

        def put_item(item: object, is_last: bool = False) -> None:
            if is_last or items.qsize() < MAX_ITEMS:
                items.put_nowait((item, is_last))
            elif not pump.done():
                items.put_nowait((EngineError(f"{service} gave more than {MAX_ITEMS} items that nobody took"), True))
                pump.cancel()

        def tell(item: object, is_last: bool = False) -> None:
            with suppress(RuntimeError):  # the loop was closed meanwhile
                loop.call_soon_threadsafe(put_item, item, is_last)

        pump = self._submit(self._pump(service, method, arguments, tell))
        pump.add_done_callback(
            lambda ended: tell(EngineError(CLOSED) if ended.cancelled() else ended.exception(), is_last=True)
        )
        try:
            while True:
                item, is_last = await items.get()
                if not is_last:
                    yield item
                elif item is None:
                    return
                else:
                    raise item
        finally:
            pump.cancel()

    def reset(self, service: Service) -> None:
        """See `ClusterConnection`."""
        if not self._closed:
            asyncio.run_coroutine_threadsafe(self._forget(service), self._loop)

    async def aclose(self) -> None:
        """Disconnects the process from Ray and ends the thread. Idempotent."""
        if self._closed:
            return
        self._closed = True
        try:
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._disconnect(), self._loop))
        except TimeoutError:
            pass  # its threads are daemons
        except Exception:
            log.warning("cluster: the connection was not closed cleanly", exc_info=True)
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)

    async def all_replicas(self, service: Service, method: str, timeout_s: float) -> list[Any]:
        """Returns the answers of all replicas of a service. Raises EngineError."""
        return await asyncio.wrap_future(self._submit(self._broadcast(service, method, timeout_s)))

    async def call(self, work: Callable[[Any], T], timeout_s: float) -> T:
        """Runs `work`, which blocks, with the module ray.serve in a thread.

        Raises EngineLoadError without a cluster, TimeoutError after `timeout_s` seconds, and what `work` raises.
        """
        return await asyncio.wrap_future(self._submit(self._call(work, timeout_s)))

    # In the thread

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._loop.close()

    def _submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        if self._closed:
            work.close()
            raise EngineError(CLOSED)
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    async def _request(self, service: Service, method: str, arguments: tuple[object, ...]) -> Any:
        try:
            handle = await self._handle(service)
            return await self._answer(service, getattr(handle, method).remote(*arguments))
        except asyncio.CancelledError:
            if self._closed:  # the caller has not cancelled it
                raise EngineError(CLOSED) from None
            raise

    async def _answer(self, service: Service, response: Any) -> Any:
        try:
            return await response
        except asyncio.CancelledError:
            response.cancel()
            raise
        except Exception as error:
            raise self._translated(service, error) from error

    async def _pump(
        self, service: Service, method: str, arguments: tuple[object, ...], tell: Callable[[object], None]
    ) -> None:
        handle = (await self._handle(service)).options(stream=True)
        try:
            response = getattr(handle, method).remote(*arguments)
            try:
                async for item in response:
                    tell(item)
            except asyncio.CancelledError:
                response.cancel()
                raise
        except Exception as error:
            raise self._translated(service, error) from error

    async def _broadcast(self, service: Service, method: str, timeout_s: float) -> list[Any]:
        handle = await self._handle(service)
        try:
            return list(await handle.broadcast(method).results_async(timeout_s=timeout_s))
        except Exception as error:
            raise self._translated(service, error) from error

    async def _call(self, work: Callable[[Any], T], timeout_s: float) -> T:
        await self._connect()
        async with asyncio.timeout(timeout_s):
            return await _in_thread(partial(work, self._serve))

    async def _handle(self, service: Service) -> Any:
        if not self._connected:
            await self._connect()
        if service not in self._handles:
            await self._once(f"handle of {service}", partial(self._get_handle, service))
        return self._handles[service]

    async def _get_handle(self, service: Service) -> None:
        name = application_of(service)
        try:
            self._handles[service] = await _in_thread(
                partial(self._serve.get_deployment_handle, deployment_of(service), app_name=name)
            )
        except Exception as error:
            raise EngineLoadError(
                f"the cluster at {self.address} has no application {name}: run `repartee cluster deploy`."
            ) from error

    async def _connect(self) -> None:
        if self._connected:
            return
        try:
            async with asyncio.timeout(self._timeout_s):
                await self._once("connect", self._enter)
        except TimeoutError as error:
            raise EngineLoadError(f"{self._unreachable} within {self._timeout_s:g} s: look at its head.") from error
        except EngineLoadError:
            raise
        except OSError as error:
            raise EngineLoadError(
                f"{self._unreachable} ({type(error).__name__}): start it with `repartee cluster start`."
            ) from error
        except Exception as error:
            # Of another version, without the token, or not the cluster of this machine: Ray's own text says it best.
            why = " ".join(str(error).split())[:_SHOWN_CHARS]
            raise EngineLoadError(
                f"{self._unreachable} ({type(error).__name__}: {why}): start it with `repartee cluster start`, with "
                "the same versions of Ray and Python and the same token on all machines (docs/cluster.md)."
            ) from error

    async def _enter(self) -> None:
        if not await _in_thread(self._is_connected):
            await self._close_handles()
            await _in_thread(self._connect_now)
        self._connected = True

    async def _once(self, name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Waits for `work`, which several requests need: it runs once at a time, and goes on if a request is cancelled.

        Two connections at the same time would end each other, and a call that hangs would leave a thread each time.
        """
        task = self._running.get(name)
        if task is None:
            task = self._running[name] = self._loop.create_task(work(), name=name)
            task.add_done_callback(partial(self._over, name))
        await asyncio.shield(task)

    def _over(self, name: str, task: "asyncio.Task[None]") -> None:
        del self._running[name]
        if not task.cancelled():
            task.exception()  # marks the exception as retrieved; there may be no request left

    @property
    def _unreachable(self) -> str:
        return f"the Ray cluster at cluster.address = {self.address} cannot be reached"

    def _is_connected(self) -> bool:
        """Whether the cluster still answers, so that only the handle of a single service was stale.

        The requests of the other services then go on. Raises OSError if the head cannot be reached, and
        EngineLoadError without the extra.
        """
        host, _, port = self.address.rpartition(":")
        if host:
            with socket.create_connection((host, int(port)), PROBE_TIMEOUT_S):
                pass
        self._ray, self._serve = import_ray()
        return bool(self._ray.is_initialized()) and _answers(self._is_member)

    def _connect_now(self) -> None:
        if self._ray.is_initialized():
            self._ray.shutdown()  # of a cluster that has gone
        self._ray.init(
            self.address,
            namespace=NAMESPACE,
            log_to_driver=False,
            configure_logging=False,
            logging_level=logging.ERROR,
        )
        # It would wait for a head that has gone: the process could not end. `aclose` does the same with a time limit.
        atexit.unregister(self._ray._private.worker.shutdown)

    def _is_member(self) -> bool:
        """Whether the cluster knows this process's node: a head that was started again does not."""
        mine = self._ray.get_runtime_context().get_node_id()
        return any(node["NodeID"] == mine and node["Alive"] for node in self._ray.nodes())

    async def _forget(self, service: Service) -> None:
        """Makes the next request check the connection and take a new handle of the service."""
        self._connected = False
        handle = self._handles.pop(service, None)
        if handle is not None:
            await _close_handle(handle)

    async def _disconnect(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self._close_handles()
        if self._ray is not None and self._ray.is_initialized():
            await _in_thread(self._ray.shutdown)

    async def _close_handles(self) -> None:
        """Closes all handles: their threads would otherwise use Ray after its end."""
        handles = tuple(self._handles.values())
        self._handles.clear()
        for handle in handles:
            await _close_handle(handle)

    def _translated(self, service: Service, error: Exception) -> AudioError:
        """Returns an error of Ray, or of an engine in a replica, as one of this package. Texts hold no words."""
        from ray import exceptions, serve  # noqa: PLC0415 - it is imported already

        if isinstance(error, exceptions.RayTaskError):
            cause = getattr(error, "cause", None)
            if isinstance(cause, AudioError):
                return EngineError(str(cause))
            return EngineError(f"{service} failed on the cluster ({type(cause or error).__name__})")
        if isinstance(error, AudioError):
            return error
        if isinstance(error, exceptions.RayActorError | exceptions.WorkerCrashedError | exceptions.ObjectLostError):
            return ReplicaLostError(f"a replica of {service} ended while it worked")
        if isinstance(error, serve.exceptions.BackPressureError):
            return EngineError(f"the replicas of {service} have too many requests: allow more in cluster.max_replicas")
        return EngineError(f"the cluster failed for {service} ({type(error).__name__}): {HELP}")


async def _close_handle(handle: Any) -> None:
    """Ends the threads of a handle, unless the cluster has gone and Ray waits for it."""
    with suppress(TimeoutError):
        async with asyncio.timeout(PROBE_TIMEOUT_S):
            await handle.shutdown_async()


def _answers(ask: Callable[[], bool]) -> bool:
    """Whether `ask` returns True in time. Of a cluster that has gone it may never return."""
    answers: list[bool] = []

    def run() -> None:
        with suppress(Exception):
            answers.append(ask())

    asking = threading.Thread(target=run, name="ray probe", daemon=True)
    asking.start()
    asking.join(PROBE_TIMEOUT_S)
    return answers == [True]


async def _in_thread(work: Callable[[], T]) -> T:
    """Runs `work` in a daemon thread: a call of Ray that never returns must not keep the process from ending."""
    result: Future[T] = Future()

    def run() -> None:
        try:
            value = work()
        except Exception as error:  # noqa: BLE001 - raised where the result is awaited
            with suppress(InvalidStateError):  # the caller has given up
                result.set_exception(error)
        else:
            with suppress(InvalidStateError):
                result.set_result(value)

    threading.Thread(target=run, name="ray call", daemon=True).start()
    return await asyncio.wrap_future(result)
