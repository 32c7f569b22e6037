"""Sends request messages to one service over gRPC and yields the responses, without parsing them.

It uses one HTTP/2 connection, kept open: a cancelled call costs a stream and not, as with HTTP/1.1, the connection.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import grpc
import httpx
from grpc import ChannelConnectivity, aio

from llm.address import own_headers
from llm.chat import RequestSent, SlotAcquired
from llm.environment import is_direct
from llm.errors import LlmError
from llm.http.progress import RoundTripEstimate
from llm.triton.grpc_failure import broken_off, failed_with_code, is_lost, too_slow_to_connect

MAX_ANSWERS = 64
"""Concurrent answers from one service to this process; a server's own limit of streams is often 100."""

CALL_PING_S = 120.0
"""Interval of pings while a call is running without data."""

PING_TIMEOUT_S = 5.0
WARM_TIMEOUT_S = 2.0
CLOSE_TIMEOUT_S = 1.0

FIRST_RETRY_MS = 200
LAST_RETRY_MS = 2000
"""gRPC's first and last delay between connection attempts. A request in between does not wait for it."""

_SECURE = {"grpc": False, "http": False, "grpcs": True, "https": True}
_FAILED = frozenset({ChannelConnectivity.TRANSIENT_FAILURE, ChannelConnectivity.SHUTDOWN})

T = TypeVar("T")


class GrpcChannel:
    """A connection to one service, opened on first use and reopened after a loss. For one event loop.

    Attributes:
        where: Its address, for messages.
    """

    def __init__(
        self,
        endpoint: str,
        url: str,
        *,
        model: str,
        api_key: str | None,
        headers: Mapping[str, str],
        connect_timeout_s: float,
        keepalive_s: float | None = None,
        ca_file: Path | None = None,
    ) -> None:
        """Initializes without I/O.

        Args:
            endpoint: The endpoint's name in the configuration.
            url: grpc://host:8001 or grpcs://host (TLS).
            model: The model's name, for messages.
            api_key: Sent as bearer token.
            headers: Additional metadata of every call.
            connect_timeout_s: Deadline for a connection.
            keepalive_s: Interval of pings on the idle connection, for servers that permit them; None: no pings. Triton
                does not permit them by default (`--grpc-keepalive-permit-without-calls`): it closes the connection at
                the third one. Without pings it stays open for hours.
            ca_file: Certificates to trust for TLS; None: gRPC's own.

        Raises:
            ValueError: A setting is invalid; the text names the endpoint and the setting.
        """
        for setting, value_s in (("connect_timeout_s", connect_timeout_s), ("keepalive_s", keepalive_s)):
            if value_s is not None and not value_s > 0:
                raise ValueError(f"llm endpoint {endpoint!r}: {setting} must be greater than 0, not {value_s}")
        self._target, secure = target_of(endpoint, url)
        self.where = f"{'grpcs' if secure else 'grpc'}://{self._target}"
        self._endpoint = endpoint
        self._model = model
        for name in headers:
            if name.lower().startswith("grpc-") or name.lower().endswith("-bin"):
                raise ValueError(f"llm endpoint {endpoint!r}: headers: {name} is reserved by gRPC: leave it out")
        # gRPC accepts header names in lower case only.
        own = own_headers(endpoint, api_key, headers).items()
        self._metadata = tuple((name.lower(), value) for name, value in own)
        self._connect_timeout_s = connect_timeout_s
        self._credentials = _credentials(endpoint, ca_file) if secure else None
        self._options = _options(self._target, connect_timeout_s, keepalive_s)
        self._round_trip = RoundTripEstimate()
        self._slots = asyncio.Semaphore(MAX_ANSWERS)
        self._channel: aio.Channel | None = None

    async def warm(self, method: str, request: bytes) -> None:
        """Opens the connection, or checks it and measures its round trip by a small call. Never fails."""
        loop = asyncio.get_running_loop()
        with suppress(aio.AioRpcError, LlmError):
            try:
                async with asyncio.timeout(WARM_TIMEOUT_S):
                    channel, ready = await self._connected()
                    began_s = loop.time()
                    asking: aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(method)
                    await self._await_result(asking(request, metadata=self._metadata))
                    if ready:
                        self._round_trip.add_handshake(loop.time() - began_s)
            except TimeoutError:
                # The connection looks open but does not answer: the next turn opens a new one. Running calls keep it.
                self._channel = None

    async def ask(
        self, method: str, request: bytes, *, metadata: Sequence[tuple[str, str]] = (), private: Sequence[str]
    ) -> AsyncGenerator[SlotAcquired | RequestSent | bytes]:
        """Yields SlotAcquired, RequestSent, and then the responses of a call. The caller sets the deadlines.

        Closing the generator cancels the call. If the connection turns out to be lost before any response, it is
        reopened once, silently.

        Args:
            method: The full name of the method.
            request: The encoded request message.
            metadata: Metadata of this call.
            private: Texts that errors must not quote.

        Raises:
            LlmError: The service cannot be reached, refuses the request, or breaks off.
        """
        async with self._slots:
            yield SlotAcquired()
            retried = sent = begun = False
            while True:
                channel, ready = await self._connected()
                asking: aio.UnaryStreamMultiCallable[bytes, bytes] = channel.unary_stream(method)
                call = asking(request, metadata=(*self._metadata, *metadata))
                try:
                    if ready and not sent:
                        sent = True
                        yield RequestSent(self._round_trip.round_trip_s)
                    while isinstance(data := await self._await_result(call.read()), bytes):
                        begun = True
                        yield data
                except aio.AioRpcError as error:
                    connected = channel.get_state() is ChannelConnectivity.READY
                    # The state may already be that of a new connection, or not yet reflect the loss of the old one.
                    was_lost = not connected or is_lost(error.details() or "")
                    lost = ready and was_lost and error.code() is grpc.StatusCode.UNAVAILABLE
                    if begun or retried or not lost:
                        raise self._failure(error, connected=connected, begun=begun, private=private) from None
                    retried = True
                    if self._channel is channel:  # its state may be READY for a moment longer
                        self._channel = None
                else:
                    return
                finally:
                    call.cancel()

    async def aclose(self) -> None:
        """Closes the connection and cancels its calls. Idempotent."""
        channel, self._channel = self._channel, None
        if channel is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(CLOSE_TIMEOUT_S):
                    await channel.close()

    async def _connected(self) -> tuple[aio.Channel, bool]:
        """Returns the channel, and whether it is connected: if not, a call fails at once with the reason."""
        if self._channel is None or self._channel.get_state() in _FAILED:
            # A new channel connects at once; the old one would first wait for its retry. It ends with its last call.
            self._channel = self._open()
        channel = self._channel
        try:
            async with asyncio.timeout(self._connect_timeout_s):
                while (state := channel.get_state(try_to_connect=True)) is not ChannelConnectivity.READY:
                    if state is ChannelConnectivity.SHUTDOWN:
                        raise broken_off(self._endpoint, self.where)  # closed by `aclose` meanwhile
                    if state is ChannelConnectivity.TRANSIENT_FAILURE:
                        return channel, False
                    await channel.wait_for_state_change(state)
        except TimeoutError as error:
            raise too_slow_to_connect(self._endpoint, self.where, self._connect_timeout_s) from error
        return channel, True

    def _open(self) -> aio.Channel:
        if self._credentials is None:
            return aio.insecure_channel(self._target, self._options)
        return aio.secure_channel(self._target, self._credentials, self._options)

    async def _await_result(self, waiting: Awaitable[T]) -> T:
        """Awaits a result of grpcio, which raises CancelledError also if the service cancels or the channel closes."""
        try:
            return await waiting
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            raise broken_off(self._endpoint, self.where) from None

    def _failure(self, error: aio.AioRpcError, *, connected: bool, begun: bool, private: Sequence[str]) -> LlmError:
        return failed_with_code(
            self._endpoint,
            error.code().name,
            error.details() or "",
            where=self.where,
            model=self._model,
            connected=connected,
            begun=begun,
            private=private,
        )


def target_of(endpoint: str, url: str) -> tuple[str, bool]:
    """Returns host and port in gRPC's form, and whether to use TLS.

    Raises:
        ValueError: The address is invalid; the text names the endpoint and the key.
    """
    refusal = f"llm endpoint {endpoint!r}: url must look like grpc://127.0.0.1:8001, or grpcs:// for TLS"
    try:
        base = httpx.URL(url.strip())
        base.host.encode("idna")
    except (httpx.InvalidURL, UnicodeError) as error:
        raise ValueError(f"{refusal}, not {url!r}") from error
    if base.userinfo:
        raise ValueError(f"{refusal}, without a user or password in it: keep the key in api_key_env")
    if base.scheme not in _SECURE or not base.host or not 0 < (base.port or 8001) < 65536:
        raise ValueError(f"{refusal}, not {url!r}")
    if base.path.strip("/") or base.query:
        raise ValueError(f"{refusal}, without a path or a query, not {url!r}")
    secure = _SECURE[base.scheme]
    host = f"[{base.host}]" if ":" in base.host else base.host
    return f"{host}:{base.port or (443 if secure else 8001)}", secure


def _credentials(endpoint: str, ca_file: Path | None) -> grpc.ChannelCredentials:
    try:
        roots = ca_file.read_bytes() if ca_file is not None else None
    except OSError as error:
        remedy = "name a PEM file with the certificates to trust"
        raise ValueError(f"llm endpoint {endpoint!r}: ca_file {ca_file} cannot be read: {remedy}") from error
    return grpc.ssl_channel_credentials(roots)


def _options(target: str, connect_timeout_s: float, keepalive_s: float | None) -> list[tuple[str, int]]:
    proxied = not is_direct(f"grpc://{target}")
    return [
        ("grpc.use_local_subchannel_pool", 1),  # otherwise a new channel shares the old one's retry delay
        ("grpc.enable_http_proxy", int(proxied)),
        ("grpc.compression_enabled_algorithms_bitset", 1),  # uncompressed messages only: compressed ones are refused
        ("grpc.keepalive_time_ms", round((keepalive_s or CALL_PING_S) * 1000)),
        ("grpc.keepalive_timeout_ms", round(PING_TIMEOUT_S * 1000)),
        ("grpc.keepalive_permit_without_calls", int(keepalive_s is not None)),
        ("grpc.http2.max_pings_without_data", 0),  # 0: no limit
        ("grpc.min_reconnect_backoff_ms", round(connect_timeout_s * 1000)),
        ("grpc.initial_reconnect_backoff_ms", FIRST_RETRY_MS),
        ("grpc.max_reconnect_backoff_ms", LAST_RETRY_MS),
    ]
