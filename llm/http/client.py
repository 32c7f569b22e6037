"""Creates the httpx client of a service, with the proxies and certificates from the environment."""

from collections.abc import Mapping

import httpx

from llm.environment import certificates_for, environment_of_client, proxy_for
from llm.http.encoding import PLAIN, refuse_compressed_async

LIMITS = httpx.Limits()
"""httpx's default limits."""


def client_of(
    endpoint: str,
    base: httpx.URL,
    headers: Mapping[str, str],
    *,
    timeout: httpx.Timeout,
    limits: httpx.Limits = LIMITS,
) -> httpx.AsyncClient:
    """Returns a client that follows no redirects and refuses compressed answers (CompressedError).

    Raises:
        ValueError: The environment cannot be used; the text names the variable.
    """
    with environment_of_client(endpoint):
        return httpx.AsyncClient(
            headers={**{name.lower(): value for name, value in headers.items()}, **PLAIN},
            timeout=timeout,
            limits=limits,
            event_hooks={"response": [refuse_compressed_async]},
            verify=certificates_for(base),
            proxy=proxy_for(base),
            trust_env=False,
        )
