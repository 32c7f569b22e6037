"""Explains why a connection to a server failed or ended, and whether to try again. Pure."""

import json
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass

from websockets.exceptions import (
    ConnectionClosed,
    InvalidMessage,
    InvalidProxy,
    InvalidStatus,
    InvalidUpgrade,
    ProxyError,
    WebSocketException,
)

from web.remote.address import PATH, ServerAddress
from web.remote.conversation.conversation import UnsupportedServerError


@dataclass(frozen=True, slots=True)
class CloseReason:
    """Reason for which a connection failed or ended.

    Attributes:
        sentence: The reason as shown to the user.
        again: Whether another attempt may succeed.
        retry_after_s: Time after which the server wants the next attempt; 0: it named none.
        remedy: What the user does if there is no further attempt; "" if the sentence says it.
    """

    sentence: str
    again: bool
    retry_after_s: float = 0.0
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class LastError:
    """The last `error` event of a connection, as far as it explains its end.

    Attributes:
        code: Code of the error; "" for none.
        message: Its message in the server's words.
        retry_after_s: Time after which the server wants the next attempt; 0: it named none.
    """

    code: str = ""
    message: str = ""
    retry_after_s: float = 0.0


MAX_RETRY_AFTER_S = 60.0
"""A server that names a longer time is asked again after this one."""


def last_error(event: Mapping[str, object]) -> LastError:
    """Returns what an `error` event says."""
    error = event.get("error")
    if not isinstance(error, Mapping):
        return LastError()
    retry_after_s = error.get("retry_after_s")
    wait_s = retry_after_s if isinstance(retry_after_s, int | float) else 0
    limited_s = float(min(max(0, wait_s), MAX_RETRY_AFTER_S))  # limited first: a whole number may exceed a float
    return LastError(str(error.get("code", "")), str(error.get("message", "")), limited_s)


WORDS: Mapping[str, CloseReason] = {
    "server_full": CloseReason("is full: all its sessions are in use", again=True),
    "server_busy": CloseReason("is busy and accepts no further conversation for now", again=True),
    "server_loading": CloseReason("is still loading its engines", again=True),
    "server_draining": CloseReason("is shutting down; it may come back", again=True),
    "session_resuming": CloseReason("is resuming the conversation on another connection", again=True),
    "session_expired": CloseReason(
        "ended the conversation: it reached the server's time limit", again=False, remedy="Start again."
    ),
    "session_idle": CloseReason(
        "ended the conversation: it received nothing for too long", again=False, remedy="Start again."
    ),
    "internal_error": CloseReason(
        "ended the conversation because of an error in the server, whose log has the cause", again=True
    ),
}
"""Reasons by the code of the server's close notice (web/limits/session_limits.py)."""

BUSY = "server_busy"
"""Code whose message names the figure that is above its limit, and is shown."""

_TOKEN = "set REPARTEE_TOKEN to the token that it was started with"  # noqa: S105 - what to do about it


_NEVER, _LATER, _SOMETIMES = False, True, None
"""Whether another attempt may succeed; sometimes: if a conversation was in progress before."""

_WHY: tuple[tuple[type[Exception], str, bool | None], ...] = (
    (UnsupportedServerError, "{place} answers, but {error}", _NEVER),
    (TimeoutError, "{place} does not answer; check that the machine is on and that no firewall blocks it.", _SOMETIMES),
    (socket.gaierror, "{place}: the host was not found ({why}); check the address.", _SOMETIMES),
    (
        ConnectionRefusedError,
        "{place}: no server listens there; start `repartee serve`, or check the port.",
        _SOMETIMES,
    ),
    (
        ssl.SSLCertVerificationError,
        "{place}: its certificate is not trusted ({why}); check the name, or add --tls-fingerprint or --tls-ca.",
        _NEVER,
    ),
    (ssl.SSLError, "{place} does not use TLS ({why}); try ws:// instead of wss://.", _NEVER),
    (InvalidMessage, "{place} is not a WebSocket server; check the port, and ws:// or wss://.", _SOMETIMES),
    (InvalidUpgrade, "{place} is not a WebSocket server; check the port, and the path {path}.", _NEVER),
    (
        ImportError,
        "{place}: the environment names a SOCKS proxy, and {error}: install it, or unset the proxy.",
        _NEVER,
    ),
    (InvalidProxy, "{place}: the proxy in the environment is not valid ({error}).", _NEVER),
    (ProxyError, "{place}: the proxy in the environment refuses the connection ({error}).", _SOMETIMES),
    (WebSocketException, "{place}: the connection failed ({error}).", _NEVER),
    (OSError, "{place} cannot be reached ({why}).", _SOMETIMES),
)
"""Explanations by type of exception; the first match is used."""


def why_not(error: BaseException, address: ServerAddress, *, connected_before: bool = False) -> CloseReason:
    """Explains why connecting failed.

    Args:
        error: The exception that connecting raised.
        address: The server's address.
        connected_before: Whether a conversation was in progress there: temporary failures are then retried.
    """
    if isinstance(error, InvalidStatus):
        return _refused(error, address, again=connected_before)
    if isinstance(error, ConnectionClosed):
        return closed(error, address, LastError(), connected_before=connected_before)
    for kind, sentence, again in _WHY:
        if isinstance(error, kind):
            why = getattr(error, "verify_message", "") or getattr(error, "reason", "") or getattr(error, "strerror", "")
            reason = sentence.format(place=address.place, path=address.path, error=error, why=why or error)
            return CloseReason(reason, connected_before if again is None else again)
    return CloseReason(f"{address.place}: the connection failed ({type(error).__name__}).", again=False)


def closed(
    error: ConnectionClosed, address: ServerAddress, farewell: LastError, *, connected_before: bool = True
) -> CloseReason:
    """Explains why a connection ended; `farewell`: the last error that the server sent."""
    frame = error.rcvd
    code = frame.reason.partition(":")[0] if frame is not None else ""
    known = WORDS.get(code) or WORDS.get(farewell.code)
    if known is not None:
        reason = f" ({farewell.message})" if farewell.code == BUSY and farewell.message else ""
        sentence = f"{address.place} {known.sentence}{reason}."
        return CloseReason(sentence, known.again, farewell.retry_after_s, known.remedy)
    if frame is not None and frame.code == 1000:
        return CloseReason(f"{address.place} has ended the conversation.", again=False)
    if frame is not None and frame.code in {1008, 1009}:
        return CloseReason(
            f"{address.place} closed the connection ({frame.code} {frame.reason}).".replace(" )", ")"), False
        )
    return CloseReason(f"the connection to {address.place} was lost.", again=connected_before)


def _refused(error: InvalidStatus, address: ServerAddress, *, again: bool) -> CloseReason:
    """Explains an HTTP answer that is not a WebSocket handshake."""
    status, message = error.response.status_code, _server_message(error)
    if status == 403 and not message and address.path != PATH:
        status = 404  # a Repartee server answers 403 to a handshake at an unknown path
    place = address.place
    match status:
        case 401:
            return CloseReason(f"{place} requires its token: {_TOKEN}." if "missing" in message else
                          f"{place} does not accept this token: {_TOKEN}.", again=False)  # fmt: skip
        case 403:
            why = f": {message}" if message else ""
            return CloseReason(f"{place} refused the connection{why}.", again=False)
        case 426 if message:  # a Repartee server behind a proxy that does not pass on WebSockets
            return CloseReason(f"{place}: {message}.", again=False)
        case 404 | 405 | 426:
            return CloseReason(
                f"{place} has nothing at {address.path}; the path of `repartee serve` is {PATH}.", again=False
            )
        case 502 | 503 | 504:
            return CloseReason(f"{place} is not ready ({status}{': ' + message if message else ''}).", again=True)
    how = "refused the connection" if status >= 400 else "is a web server, but not `repartee serve`; check the address"
    return CloseReason(f"{place} {how} ({status}{': ' + message if message else ''}).", again=again)


def _server_message(error: InvalidStatus) -> str:
    """Returns the message in the server's JSON error, or ""."""
    try:
        details = json.loads(error.response.body or b"")["error"]
        return f"{details['message']}" if details.get("code") != "token_missing" else "token missing"
    except (ValueError, KeyError, TypeError, AttributeError):
        return ""
