"""The httpx client of one service, with the proxies and certificates that the environment names."""

from collections.abc import Mapping

import httpx

from llm.environment import certificates_for, environment_of_client, proxy_for

LIMITS = httpx.Limits()
"""httpx's own."""


def client_of(
    endpoint: str,
    base: httpx.URL,
    headers: Mapping[str, str],
    *,
    timeout: httpx.Timeout,
    limits: httpx.Limits = LIMITS,
) -> httpx.AsyncClient:
    """It follows no redirects. Raises ValueError, naming the variable, for an environment that cannot be used."""
    with environment_of_client(endpoint):
        return httpx.AsyncClient(
            headers=headers,
            timeout=timeout,
            limits=limits,
            verify=certificates_for(base),
            proxy=proxy_for(base),
            trust_env=False,
        )
