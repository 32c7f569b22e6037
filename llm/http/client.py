"""The httpx client of one service, with the proxies and certificates that the environment names."""

from collections.abc import Mapping

import httpx

from llm.environment import environment_of_client, is_outside

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
    outside = is_outside(base)
    with environment_of_client(endpoint, outside=outside):
        return httpx.AsyncClient(
            headers=headers,
            timeout=timeout,
            limits=limits,
            # A certificate from the environment is for both: whoever made it may have done so for this machine.
            verify=httpx.create_ssl_context() if base.scheme == "https" else True,
            trust_env=outside,
        )
