"""What a gRPC service complains of, as an error that says what to do: status codes, and texts inside a stream. Pure.

A code is given by its name ("UNAVAILABLE"): nothing here needs grpcio.
"""

import re
from collections.abc import Sequence

from llm.empty_answer import SEE_ITS_LOG
from llm.errors import SPOKEN_TORN, LlmBroken, LlmError, LlmRefused, LlmUnreachable
from llm.http.failure import SPOKEN_UNREACHABLE
from llm.http_errors import (
    SPOKEN_BUSY,
    SPOKEN_KEY,
    SPOKEN_NOT_FOUND,
    SPOKEN_REQUEST,
    SPOKEN_TROUBLE,
    quoted,
)

_WRONG_REQUEST = frozenset({"INVALID_ARGUMENT", "OUT_OF_RANGE"})
"""The service takes the request itself to be wrong; another may not."""

_SAID: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("NOT_FOUND", re.compile(r"unknown model|is not found|no available versions", re.IGNORECASE)),
    ("RESOURCE_EXHAUSTED", re.compile(r"maximum queue size|too many requests|overloaded", re.IGNORECASE)),
    ("CANCELLED", re.compile(r"request was cancell?ed", re.IGNORECASE)),
    (
        "INVALID_ARGUMENT",
        re.compile(
            r"unexpected (inference|shape|datatype|total byte size)|expected .{0,40}inputs? but got"
            r"|data-?type is|longer than the maximum|is not allowed",
            re.IGNORECASE,
        ),
    ),
)
"""Triton's own words for what a code would say: without one, its stream carries nothing but a sentence."""

_WHY_NOT_CONNECTED: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile("connection refused", re.IGNORECASE), "refuses connections: start the server, or check the port"),
    (
        re.compile("dns|name resolution|resolve", re.IGNORECASE),
        "has a name that cannot be looked up: check its url and the network",
    ),
    (
        re.compile("ssl|tls|certificate|handshake", re.IGNORECASE),
        "does not agree on TLS: check whether its url should begin with grpc:// or grpcs://, and the certificates that "
        "are trusted (ca_file)",
    ),
    (
        re.compile("http1|http/1|settings frame|http2", re.IGNORECASE),
        "does not speak gRPC: check the port in its url (Triton's is 8001; 8000 is its HTTP)",
    ),
)


_LOST = re.compile(r"socket closed|stream removed|connection reset|broken pipe|end of file|goaway", re.IGNORECASE)
"""What gRPC itself says of a connection that went: a server's own UNAVAILABLE has other words."""


def is_lost(details: str) -> bool:
    """Whether gRPC's account of an UNAVAILABLE is of a connection that was lost under the call."""
    return _LOST.search(details) is not None


def unreachable(endpoint: str, where: str, details: str) -> LlmUnreachable:
    """The error for a service without a connection. `details` is gRPC's own account, which is not quoted."""
    matching = (reason for pattern, reason in _WHY_NOT_CONNECTED if pattern.search(details))
    reason = next(matching, "cannot be connected to: check its url and the network")
    text = f"llm endpoint {endpoint!r} at {where} {reason}"
    return LlmUnreachable(endpoint, text, spoken=SPOKEN_UNREACHABLE, retryable=True)


def too_slow_to_connect(endpoint: str, where: str, timeout_s: float) -> LlmUnreachable:
    """The error for a service that did not take a connection in time."""
    text = f"did not take the connection within {timeout_s:g} s: check that the server is up, and the network"
    return LlmUnreachable(
        endpoint, f"llm endpoint {endpoint!r} at {where} {text}", spoken=SPOKEN_UNREACHABLE, retryable=True
    )


def torn(endpoint: str, where: str) -> LlmBroken:
    """The error for an answer that was broken off, by the service or with the connection."""
    text = f"llm endpoint {endpoint!r} at {where} broke off its answer: {SEE_ITS_LOG}"
    return LlmBroken(endpoint, text, spoken=SPOKEN_TORN, retryable=True)


def failed_with_code(
    endpoint: str,
    code: str,
    details: str,
    *,
    where: str,
    model: str,
    connected: bool,
    begun: bool,
    private: Sequence[str],
) -> LlmError:
    """The error for a call that ended with a code other than OK.

    Args:
        connected: Whether the connection is still there: then the service itself said UNAVAILABLE.
        begun: Whether a part of the answer had come.
        private: Texts that must not be quoted.
    """
    if code == "UNAVAILABLE" and not connected:
        return torn(endpoint, where) if begun else unreachable(endpoint, where, details)
    if code == "CANCELLED":
        return torn(endpoint, where)
    return _refused(endpoint, code, details, where=where, model=model, private=private)


def failed_in_stream(endpoint: str, message: str, *, where: str, model: str, private: Sequence[str]) -> LlmError:
    """The error for a service that complains inside its answer, without a code."""
    code = next((code for code, pattern in _SAID if pattern.search(message)), "UNKNOWN")
    if code == "CANCELLED":
        return torn(endpoint, where)
    return _refused(endpoint, code, message, where=where, model=model, private=private)


def _refused(endpoint: str, code: str, details: str, *, where: str, model: str, private: Sequence[str]) -> LlmRefused:
    def refused(text: str, spoken: str) -> LlmRefused:
        return LlmRefused(endpoint, f"llm endpoint {endpoint!r} {text}", spoken=spoken, retryable=True)

    says = quoted(details, private)
    if code in {"UNAUTHENTICATED", "PERMISSION_DENIED"}:
        # Never quoted: some repeat a part of the key.
        remedy = f"set the variable named by its api_key_env to a key that {where} accepts"
        return refused(f"wants a valid key ({code}): {remedy}", SPOKEN_KEY)
    if code in {"NOT_FOUND", "UNIMPLEMENTED"}:
        return refused(
            f"was not found ({code}): check its url ({where}) and its model ({model}){says}", SPOKEN_NOT_FOUND
        )
    if code == "RESOURCE_EXHAUSTED":
        return refused(f"takes no more requests for now ({code}): wait, or raise its queue{says}", SPOKEN_BUSY)
    if code in _WRONG_REQUEST:
        text = f"rejects the request ({code}): check what its model ({model}) accepts{says}"
        return refused(text, SPOKEN_REQUEST)
    return refused(f"failed ({code}) at {where}: {SEE_ITS_LOG}{says}", SPOKEN_TROUBLE)
