"""Keeps client secrets: short-lived keys for one client, bound to the settings of its session.

A page of another server gets one from its own server, so that it never sees the token of this one. Only hashes are
kept, in memory: they end with the process. Has no I/O; the clock is passed in.
"""

import hashlib
import hmac
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from web.wire.session_config import SessionConfig

PREFIX = "ek_"
"""Prefix of all client secrets, as of OpenAI's service. No other key is looked up."""

MIN_SECONDS, MAX_SECONDS = 10, 7200
DEFAULT_SECONDS = 600

MAX_SECRETS = 1000
"""Secrets that are valid at a time."""
MAX_BYTES = 64 << 20
"""Length of all their session settings together, as they were sent."""


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
    """

    now_s: Callable[[], float]
    _secrets: list[_Secret] = field(default_factory=list)

    def make(self, config: SessionConfig, seconds: float, size_bytes: int = 0) -> str | None:
        """Returns a new secret for sessions with these settings, or None if there are too many valid ones.

        `size_bytes`: length of the settings as they were sent.
        """
        self._drop_expired()
        total_bytes = sum(one.size_bytes for one in self._secrets) + size_bytes
        if len(self._secrets) >= MAX_SECRETS or total_bytes > MAX_BYTES:
            return None
        value = f"{PREFIX}{secrets.token_urlsafe(32)}"
        self._secrets.append(_Secret(_digest(value), config, size_bytes, self.now_s() + seconds))
        return value

    def find(self, keys: Iterable[str]) -> SessionConfig | None:
        """Returns the settings of the first key that is a valid secret; None if there is none.

        A secret may open several sessions until it expires. Each key is compared with every secret, in constant time.
        """
        self._drop_expired()
        for key in keys:
            digest = _digest(key)
            found = [one for one in self._secrets if hmac.compare_digest(one.digest, digest)]
            if found:
                return found[0].config
        return None

    def _drop_expired(self) -> None:
        now_s = self.now_s()
        self._secrets = [one for one in self._secrets if one.expires_s > now_s]


def is_client_secret(key: str) -> bool:
    """Returns whether a key looks like a client secret, valid or not."""
    return key.startswith(PREFIX)


def _digest(value: str) -> bytes:
    return hashlib.sha256(value.encode(errors="replace")).digest()
