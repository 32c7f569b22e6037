"""Converts httpx's exceptions into errors with a remedy.

Their texts are never quoted: some repeat headers or bytes of the answer.
"""

import socket
import ssl
from collections.abc import Mapping
from types import MappingProxyType

import httpx

from llm.empty_answer import SEE_ITS_LOG
from llm.environment import CHECK_PROXY, goes_through_proxy
from llm.errors import SPOKEN_BROKEN_OFF, LlmBroken, LlmError, LlmUnreachable, causes_of
from llm.http.encoding import CompressedError
from llm.http_errors import PROXY_REFUSES, SPOKEN_PROXY

SPOKEN_UNREACHABLE = "I can't reach my language model right now."

_REASONS: tuple[tuple[type[BaseException], str], ...] = (
    (socket.gaierror, "has a name that cannot be looked up: check its url and the network"),
    (ssl.SSLCertVerificationError, "has a certificate that is not trusted: check its url, or set SSL_CERT_FILE"),
    (ssl.SSLError, "does not speak TLS as expected: check whether its url should begin with http://"),
    (ConnectionRefusedError, "refuses connections: start the server, or check the port in its url"),
    (httpx.ConnectTimeout, "did not accept the connection in time: check the server and the network"),
    (httpx.ProxyError, PROXY_REFUSES),
    (httpx.ConnectError, "cannot be reached: check its url and the network"),
    (httpx.TransportError, "closed the connection without an answer: check that its url leads to an HTTP server"),
)
"""Reasons by exception type, most specific first: httpx wraps most causes in ConnectError."""

_REASONS_OF_PROXY: Mapping[type[BaseException], str] = MappingProxyType(
    {
        socket.gaierror: "has a name that cannot be looked up",
        ConnectionRefusedError: "refuses connections",
        httpx.ConnectTimeout: "did not accept the connection in time",
        httpx.ConnectError: "cannot be reached",
    }
)
"""Reasons for a failed connection to a proxy: the service itself was not contacted."""


def unreachable(endpoint: str, where: str, error: httpx.HTTPError) -> LlmUnreachable:
    """Returns the error for a request without any answer."""
    text = f"llm endpoint {endpoint!r} at {where} {_reason(where, error)}"
    return LlmUnreachable(endpoint, text, spoken=SPOKEN_UNREACHABLE, retryable=True)


def invalid_redirect(endpoint: str, where: str) -> LlmError:
    """Returns the error for a redirect with an invalid target."""
    text = f"llm endpoint {endpoint!r} at {where} answers with an invalid redirect: check its url"
    return LlmBroken(endpoint, text, spoken=SPOKEN_PROXY, retryable=True)


def web_page(endpoint: str, where: str) -> LlmError:
    """Returns the error for an answer that is a web page."""
    text = f"llm endpoint {endpoint!r} answers with a web page: check its url ({where}), and any proxy in front of it"
    return LlmBroken(endpoint, text, spoken=SPOKEN_PROXY, retryable=True)


def compressed(endpoint: str, where: str, error: CompressedError) -> LlmError:
    """Returns the error for a compressed answer."""
    remedy = "turn compression off there, or in the proxy in front of it"
    text = f"llm endpoint {endpoint!r} at {where} answers compressed ({error.header}), which is not supported: {remedy}"
    return LlmBroken(endpoint, text, spoken=SPOKEN_PROXY, retryable=True)


def broken_off(endpoint: str, where: str) -> LlmError:
    """Returns the error for an answer whose connection broke while it was read."""
    text = f"llm endpoint {endpoint!r} at {where} closed the connection in the middle of its answer: {SEE_ITS_LOG}"
    return LlmBroken(endpoint, text, spoken=SPOKEN_BROKEN_OFF, retryable=True)


def _reason(where: str, error: httpx.HTTPError) -> str:
    causes = causes_of(error)
    for kind, reason in _REASONS:
        if any(isinstance(cause, kind) for cause in causes):
            if kind in _REASONS_OF_PROXY and goes_through_proxy(where):
                return f"is behind a proxy that {_REASONS_OF_PROXY[kind]}: {CHECK_PROXY}"
            return reason
    return "could not be asked: check its url and the network"
