"""Finds out whether LLM endpoints can be reached, by a TCP connection within two seconds. No request is sent."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from assistant.config.endpoint_settings import EndpointSection

CONNECT_TIMEOUT_S = 2.0

KEPT_S = 10.0
"""Age until which a result is used again."""


@dataclass(slots=True)
class Reachability:
    """Looks which endpoints can be reached. Not thread-safe: use it on the event loop."""

    _known: dict[str, tuple[float, bool | None]] = field(default_factory=dict)
    _looking: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def of(self, endpoints: Sequence[EndpointSection]) -> dict[str, bool | None]:
        """Returns the result by name of the endpoint; None: not known, because its address is not configured."""
        now_s = asyncio.get_running_loop().time()
        async with self._looking:
            old = [
                endpoint
                for endpoint in endpoints
                if now_s > self._known.get(endpoint.name, (-KEPT_S, None))[0] + KEPT_S
            ]
            async with asyncio.TaskGroup() as tasks:
                looks = {section.name: tasks.create_task(_reachable(section)) for section in old}
            self._known |= {name: (now_s, look.result()) for name, look in looks.items()}
        return {endpoint.name: self._known[endpoint.name][1] for endpoint in endpoints}


async def _reachable(endpoint: EndpointSection) -> bool | None:
    if endpoint.is_on_this_machine:
        return True  # otherwise the engine loader would have left it out
    address = urlsplit(endpoint.url)
    scheme = endpoint.protocol.scheme_of(endpoint.url)
    if address.hostname is None or scheme is None:
        return None
    port = address.port or scheme.port
    try:
        async with asyncio.timeout(CONNECT_TIMEOUT_S):
            _, writer = await asyncio.open_connection(address.hostname, port)
    except (OSError, TimeoutError):
        return False
    writer.close()
    with suppress(OSError, TimeoutError):
        async with asyncio.timeout(CONNECT_TIMEOUT_S):
            await writer.wait_closed()
    return True
