"""Converts the failures of a gRPC service into errors with a remedy: status codes, and texts inside a stream. Pure.

Codes are names ("UNAVAILABLE"), so that this module does not need grpcio.
"""

import re
from collections.abc import Sequence

from llm.empty_answer import SEE_ITS_LOG
from llm.errors import SPOKEN_BROKEN_OFF, LlmBroken, LlmError, LlmRefused, LlmUnreachable
from llm.http.failure import SPOKEN_UNREACHABLE
from llm.http_errors import (
    SPOKEN_BUSY,
    SPOKEN_KEY,
    SPOKEN_NOT_FOUND,
    SPOKEN_REQUEST,
    SPOKEN_TROUBLE,
    context_overflow,
    quoted,
)
from llm.refusal_causes import is_overflow

_WRONG_REQUEST = frozenset({"INVALID_ARGUMENT", "OUT_OF_RANGE"})
"""Codes that report an invalid request; another service may accept it."""

_MAY_BE_OVERFLOW = _WRONG_REQUEST | {"UNKNOWN", "INTERNAL", "FAILED_PRECONDITION"}
"""Codes with which Triton's backends report a prompt that is too long."""

_CODE_PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = (
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
"""Triton's error texts by the code they correspond to: without status codes, its stream reports text only."""

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
        "does not speak gRPC: check the port in its url (Triton's is 8001; 8000 is its HTTP port)",
    ),
)


_LOST = re.compile(r"socket closed|stream removed|connection reset|broken pipe|end of file|goaway", re.IGNORECASE)
"""gRPC's own texts for a lost connection. A server's own UNAVAILABLE has other texts."""


def is_lost(details: str) -> bool:
    """Returns whether gRPC's text for UNAVAILABLE describes a connection that was lost during the call."""
    return _LOST.search(details) is not None


def unreachable(endpoint: str, where: str, details: str) -> LlmUnreachable:
    """Returns the error for a service without a connection. `details`: gRPC's own text, which is not quoted."""
    matching = (reason for pattern, reason in _WHY_NOT_CONNECTED if pattern.search(details))
    reason = next(matching, "cannot be reached: check its url and the network")
    text = f"llm endpoint {endpoint!r} at {where} {reason}"
    return LlmUnreachable(endpoint, text, spoken=SPOKEN_UNREACHABLE, retryable=True)


def too_slow_to_connect(endpoint: str, where: str, timeout_s: float) -> LlmUnreachable:
    """Returns the error for a service that did not accept a connection in time."""
    text = f"did not accept the connection within {timeout_s:g} s: check the server and the network"
    return LlmUnreachable(
        endpoint, f"llm endpoint {endpoint!r} at {where} {text}", spoken=SPOKEN_UNREACHABLE, retryable=True
    )


def broken_off(endpoint: str, where: str) -> LlmBroken:
    """Returns the error for an answer that broke off, by the service or with the connection."""
    text = f"llm endpoint {endpoint!r} at {where} broke off its answer: {SEE_ITS_LOG}"
    return LlmBroken(endpoint, text, spoken=SPOKEN_BROKEN_OFF, retryable=True)


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
    """Returns the error for a call that ended with a code other than OK.

    Args:
        connected: Whether the connection is still open: UNAVAILABLE then comes from the service itself.
        begun: Whether a part of the answer had arrived.
        private: Texts that must not be quoted.
    """
    if code == "UNAVAILABLE" and not connected:
        return broken_off(endpoint, where) if begun else unreachable(endpoint, where, details)
    if code == "CANCELLED":
        return broken_off(endpoint, where)
    return _refused(endpoint, code, details, where=where, model=model, private=private)


def failed_in_stream(endpoint: str, message: str, *, where: str, model: str, private: Sequence[str]) -> LlmError:
    """Returns the error for a failure that a service reports inside its answer, without a code."""
    code = next((code for code, pattern in _CODE_PATTERNS if pattern.search(message)), "UNKNOWN")
    if code == "CANCELLED":
        return broken_off(endpoint, where)
    return _refused(endpoint, code, message, where=where, model=model, private=private)


def _refused(endpoint: str, code: str, details: str, *, where: str, model: str, private: Sequence[str]) -> LlmRefused:
    def refused(text: str, spoken: str) -> LlmRefused:
        return LlmRefused(endpoint, f"llm endpoint {endpoint!r} {text}", spoken=spoken, retryable=True)

    quote = quoted(details, private)
    if code in {"UNAUTHENTICATED", "PERMISSION_DENIED"}:
        # The text is never quoted: it may repeat a part of the key.
        remedy = f"set the variable named by its api_key_env to a key that {where} accepts"
        return refused(f"requires a valid key ({code}): {remedy}", SPOKEN_KEY)
    if code in {"NOT_FOUND", "UNIMPLEMENTED"}:
        return refused(
            f"was not found ({code}): check its url ({where}) and its model ({model}){quote}", SPOKEN_NOT_FOUND
        )
    if code == "RESOURCE_EXHAUSTED":
        return refused(f"accepts no more requests for now ({code}): wait, or raise its queue{quote}", SPOKEN_BUSY)
    if code in _MAY_BE_OVERFLOW and is_overflow("", details):
        return context_overflow(endpoint, code, details, quote)
    if code in _WRONG_REQUEST:
        text = f"rejects the request ({code}): check what its model ({model}) accepts{quote}"
        return refused(text, SPOKEN_REQUEST)
    return refused(f"failed ({code}) at {where}: {SEE_ITS_LOG}{quote}", SPOKEN_TROUBLE)
