"""Asks a service at a given address for its list of models: one GET, with the configured key and proxies."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import httpx

from llm.address import base_url_of, request_headers, route_url
from llm.errors import LlmTooSlow
from llm.http.client import client_of
from llm.http.encoding import CompressedError
from llm.http.failure import SPOKEN_UNREACHABLE, compressed, invalid_redirect, unreachable, web_page
from llm.http.stream import location_of
from llm.http_errors import error_report_of_body, refused_by_status
from llm.model_list import ModelList, model_list_of
from llm.name_lookup import use_name_lookup

MAX_BYTES = 4 << 20
"""Maximum size of a list; lists of cloud services have reached half a megabyte."""

MODELS_ROUTE = "/models"
CHAT_ROUTE = "/chat/completions"

NO_HEADERS: Mapping[str, str] = MappingProxyType({})

_REFUSED = frozenset({httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN})
_NO_LIST = frozenset({httpx.codes.NOT_FOUND, httpx.codes.METHOD_NOT_ALLOWED, httpx.codes.NOT_IMPLEMENTED})


@dataclass(frozen=True, slots=True)
class Listing:
    """A service's answer to the request for its models.

    Attributes:
        models: The models; None if the answer is no readable list, which some services do not offer.
        round_trip_ms: Time from the request, once connected, to the response headers.
        needs_key: Whether it requires a key, or a different one; it lists no models then.
    """

    models: ModelList | None
    round_trip_ms: float
    needs_key: bool = False


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    body: bytes
    whole: bool
    is_page: bool
    round_trip_ms: float
    location: str


async def ask(
    endpoint: str, url: str, *, api_key: str | None, timeout_s: float, headers: Mapping[str, str] = NO_HEADERS
) -> Listing:
    """Returns the models that the service at `url` lists.

    Args:
        endpoint: The endpoint's name, for errors.
        url: The base address of an endpoint, as configured.
        api_key: The key, or None.
        timeout_s: Deadline for the whole answer.
        headers: The endpoint's configured headers.

    Raises:
        LlmError: The service cannot be reached, fails, or is a web page. The text names the remedy.
        ValueError: The address or the key is invalid.
    """
    base = base_url_of(endpoint, url, route=CHAT_ROUTE)
    where = str(base.copy_with(query=None))
    sent = request_headers(endpoint, api_key, headers)
    use_name_lookup()
    async with client_of(endpoint, base, sent, timeout=httpx.Timeout(timeout_s + 1)) as client:
        try:
            async with asyncio.timeout(timeout_s):
                answer = await _get(client, route_url(base, MODELS_ROUTE))
        except CompressedError as error:
            raise compressed(endpoint, where, error) from error
        except httpx.HTTPError as error:
            raise unreachable(endpoint, where, error) from error
        except (
            httpx.InvalidURL,
            ValueError,
        ) as error:  # httpx parses a redirect's target even if it does not follow it
            raise invalid_redirect(endpoint, where) from error
        except TimeoutError as error:
            text = f"llm endpoint {endpoint!r} at {where} did not answer within {timeout_s:g} s: check the server"
            raise LlmTooSlow(endpoint, text, spoken=SPOKEN_UNREACHABLE, retryable=True) from error
    if answer.is_page:
        raise web_page(endpoint, where)
    if answer.status == httpx.codes.OK:
        return Listing(model_list_of(answer.body) if answer.whole else None, answer.round_trip_ms)
    if answer.status in _NO_LIST:
        return Listing(None, answer.round_trip_ms)
    if answer.status in _REFUSED:
        return Listing(None, answer.round_trip_ms, needs_key=True)
    raise refused_by_status(
        endpoint,
        answer.status,
        where=where,
        model="",  # only the text for 404 names it, and 404 is handled above
        report=error_report_of_body(answer.body),
        private=(*headers.values(), *(() if api_key is None else (api_key,))),
        location=answer.location.removesuffix(MODELS_ROUTE),
    )


async def _get(client: httpx.AsyncClient, url: httpx.URL) -> _Answer:
    """Sends the request and reads at most MAX_BYTES of the body. The caller sets the deadline."""
    loop = asyncio.get_running_loop()
    began_s = loop.time()

    async def trace(step: str, _: Mapping[str, object]) -> None:
        nonlocal began_s
        if (
            step == "http11.send_request_headers.started"
        ):  # a proxy's CONNECT reports this too; the request itself comes last
            began_s = loop.time()

    response = await client.send(client.build_request("GET", url, extensions={"trace": trace}), stream=True)
    try:
        round_trip_ms = (loop.time() - began_s) * 1000
        body = bytearray()
        async for chunk in response.aiter_raw():
            body += chunk
            if len(body) > MAX_BYTES:
                break
    finally:
        await response.aclose()
    is_page = response.headers.get("content-type", "").startswith("text/html")
    return _Answer(
        response.status_code,
        bytes(body[:MAX_BYTES]),
        len(body) <= MAX_BYTES,
        is_page,
        round_trip_ms,
        location_of(response),
    )
