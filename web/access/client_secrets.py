"""Keeps client secrets: short-lived keys for one client, bound to the settings of its session.

A page of another server gets one from its own server, so that it never sees the token of this one. Only hashes are
kept, in memory: they end with the process. With several gateways, each also knows the secrets of the others. Has no
I/O of its own; the clock is passed in.
"""

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Protocol

from assistant.config.mcp_hosts import NO_HOSTS, McpHosts
from web.wire.values.session_config import SessionConfig

PREFIX = "ek_"
"""Prefix of all client secrets, as of OpenAI's service. No other key is looked up."""

MIN_SECONDS, MAX_SECONDS = 10, 7200
DEFAULT_SECONDS = 600

MAX_SECRETS_SENT = 2
"""Client secrets of one request that are looked up: each is compared with all that are valid."""
MAX_SECRETS = 1000
"""Secrets that are valid at a time."""
MAX_BYTES = 64 << 20
"""Length of all their session settings together, as they were sent."""


_SHAPE = re.compile(rf"{PREFIX}[A-Za-z0-9_-]{{43}}")
"""No other key is looked up at the other gateways."""


class OtherGateways(Protocol):
    """Exchanges client secrets with the other gateways. Never raises; has a time limit."""

    async def publish_secret(self, value: str, config: SessionConfig, seconds: float) -> None:
        """Makes a secret known to the others until it expires."""
        ...

    async def find_secret(self, value: str) -> SessionConfig | None:
        """Returns the settings of a secret that another gateway has issued."""
        ...


@dataclass(frozen=True, slots=True)
class _Secret:
    digest: bytes
    config: SessionConfig
    size_bytes: int
    expires_s: float


@dataclass(slots=True)
class ClientSecrets:
    """The valid client secrets of a server.

    Attributes:
        now_s: The clock, monotonic, in seconds.
        others: The other gateways; None: there are none.
        mcp_hosts: Hosts of MCP servers that this gateway allows to the sessions of others' secrets.
    """

    now_s: Callable[[], float]
    others: OtherGateways | None = None
    mcp_hosts: McpHosts = NO_HOSTS
    _secrets: list[_Secret] = field(default_factory=list)

    def make(self, config: SessionConfig, seconds: float, size_bytes: int = 0) -> str | None:
        """Returns a new secret for sessions with these settings, or None if there are too many valid ones.

        `size_bytes`: length of the settings as they were sent.
        """
        self._drop_expired()
        total_bytes = sum(secret.size_bytes for secret in self._secrets) + size_bytes
        if len(self._secrets) >= MAX_SECRETS or total_bytes > MAX_BYTES:
            return None
        value = f"{PREFIX}{secrets.token_urlsafe(32)}"
        self._secrets.append(_Secret(_digest(value), config, size_bytes, self.now_s() + seconds))
        return value

    async def publish(self, value: str, config: SessionConfig, seconds: float) -> None:
        """Makes a new secret known to the other gateways, if there are any."""
        if self.others is not None:
            await self.others.publish_secret(value, config, seconds)

    async def find_anywhere(self, keys: Iterable[str]) -> SessionConfig | None:
        """Returns the same as `find`, also for secrets that another gateway has issued."""
        sent = tuple(keys)
        config = self.find(sent)
        if config is not None or self.others is None:
            return config
        for key in filter(_SHAPE.fullmatch, sent):
            config = await self.others.find_secret(key)
            if config is not None:
                return replace(config, mcp_hosts=self.mcp_hosts)
        return None

    def find(self, keys: Iterable[str]) -> SessionConfig | None:
        """Returns the settings of the first key that is a valid secret; None if there is none.

        A secret may open several sessions until it expires. Each key is compared with every secret, in constant time.
        """
        self._drop_expired()
        for key in keys:
            digest = _digest(key)
            matches = [secret for secret in self._secrets if hmac.compare_digest(secret.digest, digest)]
            if matches:
                return matches[0].config
        return None

    def _drop_expired(self) -> None:
        now_s = self.now_s()
        self._secrets = [secret for secret in self._secrets if secret.expires_s > now_s]


def secrets_among(keys: Iterable[str]) -> tuple[str, ...]:
    """Returns the keys that look like client secrets, valid or not; at most `MAX_SECRETS_SENT`."""
    return tuple(islice((key for key in keys if key.startswith(PREFIX)), MAX_SECRETS_SENT))


def _digest(value: str) -> bytes:
    return hashlib.sha256(value.encode(errors="replace")).digest()
