"""Follows the turns of a running server: reads its stream of records and reconnects when the stream breaks."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from http import HTTPStatus
from urllib.parse import urlsplit, urlunsplit

import httpx

from assistant.trace_report.reading import Record, TraceError, parse_line
from llm.environment import certificates_for, environment_of_client, proxy_for
from llm.http.encoding import PLAIN, CompressedError, refuse_compressed

PATH = "/traces"
CONTENT_TYPE = "application/x-ndjson"
TOKEN_VARIABLE = "REPARTEE_TOKEN"  # noqa: S105 - its name

CONNECT_TIMEOUT_S = 5.0
READ_TIMEOUT_S = 45.0
"""Read timeout in seconds. A live server sends an empty line every 15 s."""

FIRST_PAUSE_S, MAX_PAUSE_S = 1.0, 30.0

MAX_BYTES = 1 << 22
"""Maximum length of a line in bytes. A record has about 5 kB."""

_SCHEMES: Mapping[str, str] = {"http": "http", "ws": "http", "https": "https", "wss": "https"}


class _BrokenOffError(Exception):
    """The stream ended or could not be opened for now. The message says why."""


def stream_url(address: str) -> str:
    """Returns the URL of a server's record stream.

    Accepts any address of the server: that of the page, of the realtime protocol (ws://…/v1/realtime), or the host
    alone.
    Raises TraceError.
    """
    try:
        given = urlsplit(address)
        scheme, _port = _SCHEMES[given.scheme.lower()], given.port
        url = httpx.URL(address)
        if url.host:  # raises for text that only resembles IDNA
            url.raw_host.decode().encode("idna")  # as the resolver encodes it
    except (ValueError, KeyError, httpx.InvalidURL):
        scheme = ""
    if not scheme or not given.hostname or "@" in given.netloc:
        raise TraceError(
            f"{_safe(address)} is not the address of a server: it must be http://, https://, ws:// or wss:// with a "
            f"host, and without a user name or password; a token goes into {TOKEN_VARIABLE}."
        )
    folder = given.path.rstrip("/").removesuffix(PATH).removesuffix("/v1/realtime")
    return urlunsplit((scheme, given.netloc, folder + PATH, "", ""))


def subscribe(
    address: str,
    environ: Mapping[str, str],
    warn: Callable[[str], None],
    pause: Callable[[float], None],
    transport: httpx.BaseTransport | None = None,
) -> Iterator[Record]:
    """Yields turns as they end, from now on and without end. Reconnects whenever the stream breaks.

    Args:
        address: Address of the server.
        environ: Environment variables. REPARTEE_TOKEN holds the token, if the server requires one.
        warn: Called with a message about lost or torn lines, and about a broken stream.
        pause: Called with the number of seconds to sleep before reconnecting.
        transport: Replaces the network in tests.

    Raises:
        TraceError: The address, the token or a proxy in the environment is invalid, or the server cannot be reached at
            the start, denies access, or has no such stream.
    """
    url = stream_url(address)
    token = environ.get(TOKEN_VARIABLE, "")
    if not (token.isascii() and token.isprintable()):
        raise TraceError(f"{TOKEN_VARIABLE} has a character that HTTP does not allow: set it to the server's token.")
    headers = {"Accept": CONTENT_TYPE, **PLAIN} | ({"Authorization": f"Bearer {token}"} if token else {})
    timeout = httpx.Timeout(CONNECT_TIMEOUT_S, read=READ_TIMEOUT_S)
    begun, pause_s = False, FIRST_PAUSE_S
    try:
        with environment_of_client():
            opened = httpx.Client(
                headers=headers,
                timeout=timeout,
                transport=transport,
                event_hooks={"response": [refuse_compressed]},
                verify=certificates_for(url),
                proxy=None if transport is not None else proxy_for(url),
                trust_env=False,
            )
    except ValueError as error:
        raise TraceError(f"{error}.") from None
    with opened as client:
        while True:
            try:
                with client.stream("GET", url) as response:
                    _check(response, url, begun=begun)
                    begun, pause_s = True, FIRST_PAUSE_S
                    yield from _records(response.iter_bytes(), url, warn)
                why = "has ended its stream"
            except CompressedError as error:
                raise TraceError(
                    f"{url} sends compressed answers ({error.header}), which are not supported: turn off "
                    "compression in the proxy in front of it."
                ) from error
            except httpx.HTTPError as error:
                why = f"cannot be reached ({type(error).__name__})"
            except _BrokenOffError as error:
                why = str(error)
            if not begun:
                raise TraceError(f"{url} {why}; is `repartee serve` running there?")
            warn(f"{url} {why}; trying again in {pause_s:g} s. Turns that end meanwhile are not shown.")
            pause(pause_s)
            pause_s = min(MAX_PAUSE_S, 2 * pause_s)


def _check(response: httpx.Response, url: str, *, begun: bool) -> None:
    """Raises TraceError if a retry is useless, _BrokenOffError if it may help."""
    status = response.status_code
    if status == HTTPStatus.OK:
        if response.headers.get("content-type", "").partition(";")[0] != CONTENT_TYPE:
            raise TraceError(f"{url} answers, but not with traces: it is not a `repartee serve`.")
        return
    if status == HTTPStatus.UNAUTHORIZED:
        raise TraceError(f"{url} requires the server's token: put it into the environment variable {TOKEN_VARIABLE}.")
    if status == HTTPStatus.NOT_FOUND:
        raise TraceError(f"{url} does not exist: the server is not a `repartee serve`, or it has no stream of traces.")
    why = f"answers {status}{_reason(response)}"
    if status < HTTPStatus.INTERNAL_SERVER_ERROR or not begun:
        raise TraceError(f"{url} {why}.")
    raise _BrokenOffError(why)


def _reason(response: httpx.Response) -> str:
    """Returns the reason that the server gives, if it is a Repartee server."""
    content = b""
    for chunk in response.iter_bytes():
        content += chunk
        if len(content) > MAX_BYTES:
            return ""
    try:
        message = json.loads(content)["error"]["message"]
    except (ValueError, LookupError, TypeError):
        return ""
    return f": {message}" if isinstance(message, str) and message.isprintable() else ""


def _records(chunks: Iterable[bytes], url: str, warn: Callable[[str], None]) -> Iterator[Record]:
    begun, number = b"", 0
    for chunk in chunks:
        *lines, begun = (begun + chunk).split(b"\n")
        if len(begun) > MAX_BYTES:
            raise TraceError(f"{url} sends a line of more than {MAX_BYTES >> 20} MB, so these are not traces.")
        for line in lines:
            number += 1
            if (lost := _lost_count(line)) is not None:
                turns = "1 turn is" if lost == 1 else f"{lost} turns are"
                warn(f"{turns} not shown, because turns arrived faster than they were read.")
            elif (record := parse_line(line, url, number, warn)) is not None:
                yield record


def _lost_count(line: bytes) -> int | None:
    """Returns how many turns the server could not send; None if the line says something else."""
    if not line.startswith(b'{"lost"'):
        return None
    try:
        lost = json.loads(line)["lost"]
    except (ValueError, LookupError):
        return None
    return lost if isinstance(lost, int) else None


def _safe(address: str) -> str:
    """Returns the address without the part that may be a password."""
    scheme, _, rest = address.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"
