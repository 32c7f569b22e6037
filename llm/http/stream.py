"""Sends POST requests to one service and yields the bytes of the answers as they arrive, without parsing them.

HTTP/1.1 only: httpcore 1.0.9 drops a cancelled HTTP/2 stream without RST_STREAM (`http2.py`, `_response_closed`), so
the service would continue to generate. Every service notices a closed HTTP/1.1 connection. So a cancelled answer
costs one connection; `warm` keeps a spare one.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import TypeVar

import httpx

from llm.address import request_headers, route_url
from llm.chat import RequestSent, SlotAcquired
from llm.errors import LlmError
from llm.http.client import client_of
from llm.http.encoding import CompressedError
from llm.http.failure import broken_off, compressed, invalid_redirect, unreachable, web_page
from llm.http.progress import Progress, RoundTripEstimate
from llm.http_errors import error_report_of_body, refused_by_status
from llm.name_lookup import use_name_lookup
from llm.refusal_causes import retry_after_s

WARM_CONNECTIONS = 2
"""One for the next request, and one for the request after a cancelled one."""

MAX_ANSWERS = 64
"""Concurrent answers from one service to this process.

Counted here and not by httpcore's pool, which can lose a slot if a waiting request is cancelled, and which closes idle
connections in favour of busy ones."""

KEEPALIVE_S = 120.0
"""Idle time before a connection is closed.

Longer than a pause in a conversation, shorter than the timeout of NAT tables (240 s and more). httpx's default of 5 s
is too short. A connection that the service closes earlier is detected, at the latest by the silent retry."""

WARM_TIMEOUT_S = 2.0
WARM_BODY_MAX_BYTES = 4 << 20
"""Maximum body that is read to keep its connection: only a fully read body makes it reusable.

Lists of models reach half a megabyte."""

LONG_BODY_BYTES = 64 << 10
"""Larger bodies are not fetched again: HEAD requests the same without the body.

The request repeats every 3 s while the user speaks, on the connection that the turn's request needs."""

PIECE_BYTES = 4 << 10
"""Maximum piece that is passed on at once, so that other conversations get their turn on the event loop."""

CLOSE_TIMEOUT_S = 1.0
ERROR_BODY_TIMEOUT_S = 1.0
ERROR_BODY_MAX_BYTES = 64 << 10


T = TypeVar("T")

RefusalParser = Callable[[int, Mapping[str, str], bytes, Sequence[str]], LlmError]
"""Converts status, headers and body of an answer from 400 on, and the texts that must not be quoted, into an error."""


class HttpStream:
    """A connection pool for one service.

    Attributes:
        where: Its address without query, for messages.
    """

    def __init__(
        self,
        endpoint: str,
        base: httpx.URL,
        *,
        model: str,
        api_key: str | None,
        headers: Mapping[str, str],
        connect_timeout_s: float,
        usual_ending: str = "",
        parse_refusal: RefusalParser | None = None,
    ) -> None:
        """Initializes the pool without I/O.

        Args:
            endpoint: The endpoint's name in the configuration.
            base: The address, as `base_url_of` returns it.
            model: The model's name, for messages.
            api_key: Sent as bearer token.
            headers: Additional headers of every request.
            connect_timeout_s: For TCP and for TLS each.
            usual_ending: The usual end of the address's path, for messages.
            parse_refusal: Converts refusals of a service that has its own format for them.

        Raises:
            ValueError: A setting is invalid, or HTTP cannot carry a header.
        """
        if not connect_timeout_s > 0:
            raise ValueError(
                f"llm endpoint {endpoint!r}: connect_timeout_s must be greater than 0, not {connect_timeout_s}"
            )
        self.where = str(base.copy_with(query=None))
        self._endpoint = endpoint
        self._base = base
        self._model = model
        self._key_in_headers = bool(headers) and api_key is None
        self._usual_ending = usual_ending
        self._parse_refusal = parse_refusal
        self._round_trip = RoundTripEstimate()
        self._warm_method = "GET"
        self._slots = asyncio.Semaphore(MAX_ANSWERS)
        self._client = client_of(
            endpoint,
            base,
            request_headers(endpoint, api_key, headers),
            timeout=httpx.Timeout(connect_timeout_s, read=None, pool=None),
            limits=httpx.Limits(keepalive_expiry=KEEPALIVE_S),
        )

    async def warm(self, route: str) -> bytes:
        """Opens idle connections or refreshes the open ones, by requesting `route`. Never fails.

        Returns the body of an answer if it was short, else b"".
        """
        use_name_lookup()
        url = route_url(self._base, route)
        async with asyncio.TaskGroup() as group:
            asking = [group.create_task(self._warm_one(url)) for _ in range(WARM_CONNECTIONS)]
        return next(filter(None, (task.result() for task in asking)), b"")

    async def _warm_one(self, url: httpx.URL) -> bytes:
        progress = Progress(self._round_trip)
        request = self._client.build_request(self._warm_method, url, extensions={"trace": progress.trace})
        async with _request_task(self._get(request), progress) as getting:
            await asyncio.wait({getting}, timeout=WARM_TIMEOUT_S)
            return getting.result() if getting.done() else b""

    async def _get(self, request: httpx.Request) -> bytes:
        with suppress(httpx.HTTPError, httpx.InvalidURL, ValueError):  # the last two: an invalid redirect target
            response = await self._client.send(request, stream=True)
            try:
                length, body = 0, b""
                async for chunk in response.aiter_raw():
                    length += len(chunk)
                    if length > LONG_BODY_BYTES:
                        self._warm_method = "HEAD"
                    else:
                        body += chunk
                    if length > WARM_BODY_MAX_BYTES:
                        break
                return body if length <= LONG_BODY_BYTES and response.status_code == httpx.codes.OK else b""
            finally:
                await response.aclose()
        return b""

    async def post(
        self, route: str, body: bytes, *, private: Sequence[str], headers: Mapping[str, str] | None = None
    ) -> AsyncGenerator[SlotAcquired | RequestSent | bytes]:
        """Yields SlotAcquired, RequestSent, and then the body of a 200 answer. The caller sets the deadlines.

        Closing the generator closes the connection unless the body was read to its end.

        Args:
            route: The path of the request.
            body: JSON.
            private: Texts that errors must not quote.
            headers: Headers of this request only, such as a signature.

        Raises:
            LlmError: The service cannot be reached, refuses the request, or breaks off.
        """
        progress = Progress(self._round_trip)
        request = self._client.build_request(
            "POST",
            route_url(self._base, route),
            content=body,
            headers={"content-type": "application/json", **(headers or {})},
            extensions={"trace": progress.trace},
        )
        async with self._slots:
            yield SlotAcquired()
            async with _request_task(self._ask(request, progress, private), progress):
                while (news := await progress.queue.get()) is not None:
                    if isinstance(news, Exception):
                        raise news
                    yield news

    async def aclose(self) -> None:
        """Closes all connections. Idempotent."""
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await self._client.aclose()

    async def _ask(self, request: httpx.Request, progress: Progress, private: Sequence[str]) -> None:
        """Sends a request and reads its answer, in one task that is cancelled only where httpcore tolerates it."""
        try:
            response = await self._send(request, progress)
            try:
                if failure := await self._failure(response, private):
                    raise failure
                async for chunk in response.aiter_raw():
                    for start in range(0, len(chunk), PIECE_BYTES):
                        await progress.queue.put(chunk[start : start + PIECE_BYTES])
            except httpx.HTTPError as error:
                raise broken_off(self._endpoint, self.where) from error
            finally:
                await response.aclose()
        except Exception as error:  # noqa: BLE001
            # LlmError, or a programming error: it is passed on to the consumer.
            await progress.queue.put(error)
        else:
            await progress.queue.put(None)

    async def _send(self, request: httpx.Request, progress: Progress) -> httpx.Response:
        """Sends the request; retries for each kept connection that the service had closed meanwhile."""
        use_name_lookup()
        try:
            for attempt in range(WARM_CONNECTIONS + 1):
                progress.connected = False
                try:
                    return await self._client.send(request, stream=True)
                except (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError):
                    if progress.connected or attempt == WARM_CONNECTIONS:
                        raise
            raise AssertionError("the last attempt returns or raises")
        except CompressedError as error:
            raise compressed(self._endpoint, self.where, error) from error
        except httpx.HTTPError as error:
            raise unreachable(self._endpoint, self.where, error) from error
        except (
            httpx.InvalidURL,
            ValueError,
        ) as error:  # httpx parses a redirect's target even if it does not follow it
            raise invalid_redirect(self._endpoint, self.where) from error

    async def _failure(self, response: httpx.Response, private: Sequence[str]) -> LlmError | None:
        if response.status_code == httpx.codes.OK:
            is_page = response.headers.get("content-type", "").startswith("text/html")
            return web_page(self._endpoint, self.where) if is_page else None
        body = b""
        with suppress(httpx.HTTPError, TimeoutError):
            async with asyncio.timeout(ERROR_BODY_TIMEOUT_S):
                body = await _read_up_to(response, ERROR_BODY_MAX_BYTES)
        error = self._refusal(response, body, private)
        wait_s = retry_after_s(response.headers, datetime.now(UTC))
        error.retry_after_s = error.retry_after_s if wait_s is None else max(wait_s, error.retry_after_s or 0.0)
        return error

    def _refusal(self, response: httpx.Response, body: bytes, private: Sequence[str]) -> LlmError:
        if self._parse_refusal is not None and response.status_code >= httpx.codes.BAD_REQUEST:
            return self._parse_refusal(response.status_code, response.headers, body, private)
        return refused_by_status(
            self._endpoint,
            response.status_code,
            where=self.where,
            model=self._model,
            report=error_report_of_body(body),
            private=private,
            location=location_of(response),
            key_in_headers=self._key_in_headers,
            usual_ending=self._usual_ending,
        )


def location_of(response: httpx.Response) -> str:
    """Returns the target of a redirect without possible secrets; "" if there is none."""
    try:
        target = response.url.join(response.headers["location"])
    except (KeyError, httpx.InvalidURL):
        return ""
    return f"{target.scheme}://{target.netloc.decode('ascii')}{target.path}"[:200]


async def _read_up_to(response: httpx.Response, max_bytes: int) -> bytes:
    body = bytearray()
    async for chunk in response.aiter_raw():
        body += chunk
        if len(body) > max_bytes:
            break
    return bytes(body[:max_bytes])


@asynccontextmanager
async def _request_task(request: Coroutine[None, None, T], progress: Progress) -> AsyncGenerator[asyncio.Task[T]]:
    """Runs a request in a task. At exit the task has ended and its response is closed.

    A TaskGroup would not do: closing a generator inside one wraps GeneratorExit in an exception group.
    """
    task = asyncio.get_running_loop().create_task(request)
    try:
        yield task
    finally:
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await _close(task, progress)


async def _close(task: asyncio.Task[T], progress: Progress) -> None:
    if not task.done():
        await progress.settled.wait()
        task.cancel()
        await asyncio.wait({task})
    if not task.cancelled():
        task.result()  # re-raises a programming error
    elif progress.socket is not None:
        # httpcore leaves the socket of a cancelled TLS handshake open.
        await progress.socket.aclose()
