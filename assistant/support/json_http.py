"""Asks a service for JSON over HTTP, with a limit for time and size. Redirects are never followed."""

import asyncio
import json
import logging
import ssl
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Literal

import httpx

from llm.environment import certificates_for, proxy_for
from llm.http.encoding import PLAIN, refuse_compressed_async

_asking = ContextVar("_asking", default=False)  # whether the current task asks a service


class _NoAddresses(logging.Filter):
    """Removes the log records of httpx about services: their addresses contain the places that users name."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Returns whether a record is logged."""
        return not _asking.get()


logging.getLogger("httpx").addFilter(_NoAddresses())

FaultKind = Literal["unreachable", "late", "unauthorized", "not_found", "refused", "broken"]
"""A fault: no connection; no answer in time; a wrong token; nothing at that address; another status from 400 to
499; an error of the service, a redirect, or an answer that is no JSON or too large."""

MAX_BYTES = 4 << 20
"""Largest answer in bytes: the states of a home with 5000 devices."""

_IN_THREAD_BYTES = 64 << 10
"""Longer answers are parsed in a thread, so that the event loop is not blocked."""


class ServiceFault(Exception):
    """A request that failed.

    The text names what is wrong, without an address, a token or anything of the conversation.

    Attributes:
        kind: See `FaultKind`.
    """

    def __init__(self, kind: FaultKind, what: str) -> None:
        """`what`: what is wrong, as in "answers HTTP 500"."""
        super().__init__(what)
        self.kind: FaultKind = kind


def _no_certificates() -> ssl.SSLContext:
    """Returns a TLS context without certificates, for plain HTTP: loading certificates takes 0.3 s."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


class JsonHttp:
    """A client of one service.

    Args:
        base: Address that every path is added to.
        timeout_s: Longest time of one request, from connecting to the last byte.
        token: Bearer token; "" for none.
        max_bytes: Largest answer.
    """

    def __init__(self, base: str, timeout_s: float, *, token: str = "", max_bytes: int = MAX_BYTES) -> None:
        """Prepares the client; opens no connection. Raises ValueError if a proxy of the environment is invalid."""
        self._base = base.rstrip("/")
        self._timeout_s = timeout_s
        self._max_bytes = max_bytes
        self._client = httpx.AsyncClient(
            headers={**PLAIN, "accept": "application/json"} | ({"authorization": f"Bearer {token}"} if token else {}),
            timeout=timeout_s,
            limits=httpx.Limits(max_connections=4, max_keepalive_connections=2, keepalive_expiry=60),
            event_hooks={"response": [refuse_compressed_async]},
            verify=certificates_for(base) if base.startswith("https:") else _no_certificates(),
            proxy=proxy_for(base),
            trust_env=False,
            follow_redirects=False,
        )

    async def get(self, path: str = "", query: Mapping[str, str] | None = None) -> object:
        """Returns the answer to a GET request. Raises ServiceFault."""
        return await self._ask("GET", path, query, None)

    async def post(self, path: str, body: object) -> object:
        """Returns the answer to a POST request with a JSON body. Raises ServiceFault."""
        return await self._ask("POST", path, None, body)

    async def aclose(self) -> None:
        """Closes the connections."""
        await self._client.aclose()

    async def _ask(self, method: str, path: str, query: Mapping[str, str] | None, body: object) -> object:
        asking = _asking.set(True)
        try:
            async with asyncio.timeout(self._timeout_s):
                data = await self._read(method, path, query, body)
        except TimeoutError:
            raise ServiceFault("late", f"does not answer within {self._timeout_s:g} s") from None
        except httpx.TimeoutException:
            raise ServiceFault("late", f"does not answer within {self._timeout_s:g} s") from None
        except (httpx.ConnectError, httpx.ProxyError):
            raise ServiceFault("unreachable", "is not reachable") from None
        except httpx.DecodingError:
            raise ServiceFault("broken", "sends a compressed answer") from None
        except httpx.HTTPError:
            raise ServiceFault("unreachable", "broke the connection off") from None
        finally:
            _asking.reset(asking)
        try:
            return await asyncio.to_thread(json.loads, data) if len(data) > _IN_THREAD_BYTES else json.loads(data)
        except (ValueError, RecursionError):
            raise ServiceFault("broken", "sends no JSON") from None

    async def _read(self, method: str, path: str, query: Mapping[str, str] | None, body: object) -> bytes:
        async with self._client.stream(method, f"{self._base}{path}", params=query, json=body) as response:
            status = response.status_code
            if status in {401, 403}:
                raise ServiceFault("unauthorized", f"refuses the token (HTTP {status})")
            if status == 404:
                raise ServiceFault("not_found", "has nothing at this address (HTTP 404)")
            if 400 <= status < 500:
                raise ServiceFault("refused", f"refuses the request (HTTP {status})")
            if not 200 <= status < 300:
                what = "redirects to another address" if 300 <= status < 400 else "answers with an error"
                raise ServiceFault("broken", f"{what} (HTTP {status})")
            data = bytearray()
            async for part in response.aiter_raw():
                data += part
                if len(data) > self._max_bytes:
                    raise ServiceFault("broken", f"sends more than {self._max_bytes >> 10} KB")
            return bytes(data)
