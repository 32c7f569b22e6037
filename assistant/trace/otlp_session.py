"""The HTTP session of OpenTelemetry's exporter. Needs the extra `otel`.

The exporter returns no reason for a failure, takes a redirect for success, and does not read how many spans were
rejected. Therefore the session judges each response.
"""

import os
from typing import Any, Literal, NamedTuple
from urllib.parse import unquote

import requests
import urllib3
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from opentelemetry.util.re import parse_env_headers

from llm.environment import certificates_for, environment_of_client, proxy_for
from llm.http.encoding import PLAIN, coding_of

MAX_RESPONSE_BYTES = 64 << 10
"""Maximum number of bytes read of a response, which holds a count and a sentence."""

RETRY_STATUSES = frozenset((429, 502, 503, 504))
"""Status codes after which OTLP allows a retry. Any other error status means that the request itself is wrong."""


class Verdict(NamedTuple):
    """The result of a request. `problem` continues the sentence "The collector …"; "" if there is no problem."""

    outcome: Literal["accepted", "retry", "lost"]
    problem: str = ""


ACCEPTED = Verdict("accepted")
NO_ANSWER = Verdict("retry", "did not answer in time")
NOT_SENT = Verdict("lost", "was sent nothing: internal error in the export")


class CollectorSession(requests.Session):
    """Sends the requests to one collector, in the exporter's thread.

    Attributes:
        verdict: What became of the last request; NO_ANSWER while it runs.
    """

    def __init__(self, url: str) -> None:
        """Creates a session for `url`. Raises ValueError if the environment's proxy or certificates are unusable."""
        super().__init__()
        self.verdict = NOT_SENT
        self.headers.update(PLAIN)
        # Else requests takes a password from ~/.netrc instead of the configured key, and sends the spans for a
        # collector on this machine to a proxy.
        self.trust_env = False
        with environment_of_client():
            certificates_for(url)
            proxy = proxy_for(url)
        if proxy is not None:
            self.proxies = {"http": proxy, "https": proxy}
            try:
                self.get_adapter(url).proxy_manager_for(proxy)  # type: ignore[attr-defined]  # an HTTPAdapter's
            except requests.exceptions.InvalidSchema:
                raise ValueError("the proxy in the environment: install requests[socks], or unset ALL_PROXY") from None

    def send(self, request: requests.PreparedRequest, **options: Any) -> requests.Response:
        """Sends a request and sets `verdict`."""
        self.verdict = NO_ANSWER
        try:
            # A redirect would carry the headers of OTEL_EXPORTER_OTLP_HEADERS, which may be keys, to another server.
            with super().send(request, **{**options, "stream": True, "allow_redirects": False}) as response:
                self.verdict = _verdict(response)
        except (OSError, urllib3.exceptions.HTTPError) as error:
            if not isinstance(error, (requests.Timeout, urllib3.exceptions.TimeoutError)):
                # A plain OSError names a file of certificates that is missing. Other texts may contain the address.
                why = str(error) if type(error) is OSError else type(error).__name__
                self.verdict = Verdict("retry", f"cannot be reached ({why})")
            raise
        return response


def _verdict(response: requests.Response) -> Verdict:
    status = response.status_code
    if coding := coding_of(response.headers):
        what = f"answers compressed (HTTP {status}, Content-Encoding: {coding}): turn that off there"
        return Verdict("lost", what)
    body = response.raw.read(MAX_RESPONSE_BYTES, decode_content=False)
    if status in RETRY_STATUSES:
        return Verdict("retry", f"answers {status}")
    if not 200 <= status < 300:
        what = f"answers {status}: check the address, and its headers in OTEL_EXPORTER_OTLP_HEADERS"
        return Verdict("lost", what)
    try:
        rejected = ExportTraceServiceResponse.FromString(body).partial_success.rejected_spans
    except DecodeError:
        return ACCEPTED
    return Verdict("accepted", f"rejected {rejected} spans: see its log") if rejected else ACCEPTED


def certificates() -> str | None:
    """Returns the file or folder in SSL_CERT_FILE or SSL_CERT_DIR, unless a variable of OpenTelemetry names one."""
    names = ("OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE", "OTEL_EXPORTER_OTLP_CERTIFICATE", "SSL_CERT_FILE", "SSL_CERT_DIR")
    return next(filter(None, map(os.environ.get, names)), None)


def check_pairs(variable: str) -> None:
    """Raises ValueError if a variable is not name=value, …; names it. The SDK would ignore a wrong pair."""
    for part in filter(str.strip, os.environ.get(variable, "").split(",")):
        pair = parse_env_headers(part, liberal=True)
        if not any(value.isascii() and unquote(value).isprintable() for value in pair.values()):
            raise ValueError(
                f"environment {variable}: must be name=value, several separated by commas, with other signs than "
                "letters and digits encoded as in a URL"
            )
