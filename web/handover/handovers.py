"""Hands conversations over: seals snapshots into the store, and claims those of other gateways. Never raises.

A failing Redis never delays a turn: calls have a time limit and run beside the conversation. The failure is logged
once, counted, and shown by /readyz.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Literal

from assistant.config.errors import ConfigError
from assistant.config.server_settings import ServerSection
from web.access.access_control import is_easily_guessed
from web.handover.sealing import Seal, SealError, token_hash
from web.handover.snapshot import (
    VERSION,
    Snapshot,
    SnapshotError,
    decoded,
    decoded_config,
    encoded,
    encoded_config,
)
from web.handover.store import HandoverStore, Refused, Renewed, StoreError
from web.observation.metrics import Metrics
from web.wire.values.session_config import SessionConfig

WATCH_EVERY_S = 5.0
"""Interval at which Redis is checked, also without any conversation."""
MIN_SECRET_CHARS = 16
MAX_TOKEN_CHARS = 64
"""Longest resume token; the server's own have 32 characters."""

TIME_BYTES = len(b"until %015d" % 0)
"""Length of a time in sealed content: milliseconds since 1970. A snapshot begins otherwise."""

Kept = Literal["kept", "taken", "failed", "unfit"]
"""Whether a conversation is in Redis, was taken by another gateway, could not be written, or cannot be handed over."""

_log = logging.getLogger(__name__)


class Handovers:
    """The hand-over of one gateway. Not thread-safe: use it on the event loop."""

    def __init__(
        self,
        store: HandoverStore,
        seal: Seal,
        metrics: Metrics,
        *,
        version: int = VERSION,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """Creates the hand-over.

        Args:
            store: The connection to Redis.
            seal: Encrypts what is written.
            metrics: Counts hand-overs.
            version: Of the snapshots that this gateway writes and reads.
            now: This gateway's clock. It decides what has expired, not Redis.
        """
        self._store, self._seal, self._metrics, self._version = store, seal, metrics, version
        self._now = now
        self._ended: dict[str, datetime] = {}  # hashes of the resume tokens of conversations that ended here
        self._failing = False

    @property
    def failing(self) -> bool:
        """Whether Redis could not be used when it was last tried."""
        return self._failing

    def health(self) -> str:
        """Returns what /readyz tells: "ready" or "failing"."""
        return "failing" if self._failing else "ready"

    async def run(self) -> None:
        """Checks Redis until cancelled, then closes the connections."""
        try:
            while True:
                try:
                    await self._store.ping()
                except StoreError as error:
                    self._failed(error)
                else:
                    self._works()
                await asyncio.sleep(WATCH_EVERY_S)
        finally:
            await self.aclose()

    async def aclose(self) -> None:
        """Closes the connections to Redis."""
        await self._store.aclose()

    async def save(self, token: str, owner: str, snapshot: Snapshot) -> Kept:
        """Writes a conversation."""
        try:
            sealed = await asyncio.to_thread(self._sealed, token, snapshot)
            written = await self._store.write_conversation(token, owner, self._version, sealed, self._until(token))
        except StoreError as error:
            self._failed(error)
            return "failed"
        except SnapshotError as error:
            self._metrics.trouble("handover")
            _log.warning("a conversation cannot be handed over to another gateway: %s", error)
            return "unfit"
        self._works()
        return "kept" if written else "taken"

    async def renew(self, token: str, owner: str) -> Kept | Literal["missing"]:
        """Keeps a conversation for longer that has not changed."""
        return await self._renewed(self._store.renew(token, owner, self._until(token)))

    async def hold(self, token: str, owner: str) -> Kept | Literal["missing"]:
        """Ends a claim that is not confirmed, because the client is here. Returns the same as `renew`."""
        return await self._renewed(self._store.hold(token, owner))

    async def _renewed(self, renewing: Awaitable[Renewed]) -> Kept | Literal["missing"]:
        try:
            result = await renewing
        except StoreError as error:
            self._failed(error)
            return "failed"
        self._works()
        return "kept" if result == "renewed" else result

    async def drop(self, token: str, owner: str) -> None:
        """Deletes a conversation that is over. A record of it that is written back is not continued."""
        now = self._now()
        for ended in [hashed for hashed, forget in self._ended.items() if forget < now]:
            del self._ended[ended]
        self._ended[token_hash(token)] = now + timedelta(seconds=self._store.keep_s)
        try:
            await self._store.drop(token, owner)
        except StoreError as error:
            self._failed(error)

    async def claim(self, token: str, owner: str) -> Snapshot | Literal["in_progress"] | None:
        """Claims a conversation of another gateway for a new owner, who confirms or releases it.

        Returns None if there is none that can be continued, and "in_progress" while another claim is not confirmed.
        """
        if not 0 < len(token) <= MAX_TOKEN_CHARS or token_hash(token) in self._ended:
            return None
        try:
            result = await self._claimed(token, owner)
        except StoreError as error:
            self._failed(error)
            self._metrics.handover("unreachable")
            return None
        self._works()
        if result == "in_progress":
            self._metrics.handover("in_progress")
            return "in_progress"
        if isinstance(result, str):
            self._metrics.handover(result)
            return None
        sealed, until = result
        snapshot = None
        try:
            if self._has_expired(self._seal.open(token, self._version, until)):
                self._metrics.handover("expired")
            else:
                snapshot = await asyncio.to_thread(self._opened, token, sealed)
        except (SealError, SnapshotError) as error:
            self._metrics.handover("damaged")
            _log.warning("a conversation of another gateway cannot be continued: %s", error)
        if snapshot is None:
            await self.release(token, owner)
        return snapshot

    async def _claimed(self, token: str, owner: str) -> tuple[bytes, bytes] | Refused:
        """Claims again if the answer was late: the client is told of a new conversation only if Redis fails."""
        if not self._failing:
            with suppress(StoreError):
                return await self._store.claim(token, owner, self._version)
        return await self._store.claim(token, owner, self._version)

    async def confirm(self, token: str, owner: str) -> bool:
        """Makes the new owner of a claimed conversation its only one. Returns False if the claim is over.

        Returns True while Redis fails: the conversation goes on, and is confirmed by its first write.
        """
        try:
            confirmed = await self._store.confirm(token, owner)
        except StoreError as error:
            self._failed(error)
            confirmed = True
        if confirmed:
            self._metrics.handover("continued")
        return confirmed

    async def release(self, token: str, owner: str) -> None:
        """Ends a claim: others can claim the conversation at once."""
        try:
            await self._store.release(token, owner)
        except StoreError as error:
            self._failed(error)

    async def keeps(self, token: str) -> bool:
        """Returns whether another gateway's conversation can be continued with this token. Changes nothing."""
        if not 0 < len(token) <= MAX_TOKEN_CHARS:
            return False
        try:
            return await self._store.keeps(token, self._version)
        except StoreError as error:
            self._failed(error)
            return False

    async def publish_secret(self, value: str, config: SessionConfig, seconds: float) -> None:
        """Makes a client secret known to the other gateways, with the settings of its sessions."""
        try:
            content = self._time_in(seconds) + encoded_config(config)
            sealed = self._seal.close(value, self._version, content)
            await self._store.put_secret(value, self._version, sealed, seconds)
        except StoreError as error:
            self._failed(error)
        except SnapshotError as error:
            self._metrics.trouble("handover")
            _log.warning("a client secret is valid at this gateway only: %s", error)

    async def find_secret(self, value: str) -> SessionConfig | None:
        """Returns the settings of a client secret that another gateway has issued; None: it is unknown."""
        try:
            sealed = await self._store.secret(value, self._version)
            if sealed is None:
                return None
            content = self._seal.open(value, self._version, sealed)
            return None if self._has_expired(content) else decoded_config(content[TIME_BYTES:])
        except StoreError as error:
            self._failed(error)
        except (SealError, SnapshotError) as error:
            self._metrics.trouble("handover")
            _log.warning("a client secret of another gateway cannot be read: %s", error)
        return None

    def _until(self, token: str) -> bytes:
        """Returns the sealed time until which a conversation that is written now may be continued."""
        return self._seal.close(token, self._version, self._time_in(self._store.keep_s))

    def _time_in(self, seconds: float) -> bytes:
        return b"until %015d" % round((self._now().timestamp() + seconds) * 1000)

    def _has_expired(self, content: bytes) -> bool:
        """Returns whether the time at the beginning of the content is past. Raises SealError if there is none."""
        word, _, until_ms = content[:TIME_BYTES].partition(b" ")
        if word != b"until" or not until_ms.isdigit():
            raise SealError("a record has no end")
        return int(until_ms) <= self._now().timestamp() * 1000

    def _sealed(self, token: str, snapshot: Snapshot) -> bytes:
        return self._seal.close(token, self._version, encoded(snapshot))

    def _opened(self, token: str, sealed: bytes) -> Snapshot:
        return decoded(self._seal.open(token, self._version, sealed))

    def _failed(self, error: StoreError) -> None:
        self._metrics.trouble("handover")
        if not self._failing:
            self._failing = True
            _log.warning(
                "Redis cannot be used (%s): conversations can be resumed at this gateway only. Check server.redis_url. "
                "This is logged once, and again when it works.",
                error,
            )

    def _works(self) -> None:
        if self._failing:
            self._failing = False
            _log.warning("Redis works again: conversations can be resumed at every gateway")


def handovers_of(section: ServerSection, environ: Mapping[str, str], metrics: Metrics) -> Handovers | None:
    """Returns the hand-over as configured; None: there is none.

    Args:
        section: The settings.
        environ: Environment variables.
        metrics: Counts hand-overs.

    Raises:
        ConfigError: A secret or the extra is missing, or the address of Redis is not valid.
    """
    if not section.redis_url or section.resume_s == 0:
        return None
    name = section.handover_key_env or "REPARTEE_TOKEN"
    secret = environ.get(name, "")
    if len(secret) < MIN_SECRET_CHARS or is_easily_guessed(secret):
        raise ConfigError(
            [
                f"environment {name}: server.redis_url needs a secret of at least {MIN_SECRET_CHARS} characters "
                "that is not easily guessed, with which conversations are encrypted, the same at all gateways: set "
                "REPARTEE_TOKEN, or a variable that server.handover_key_env names"
            ]
        )
    password = None
    if section.redis_password_env:
        password = environ.get(section.redis_password_env)
        if not password:
            raise ConfigError([f"environment {section.redis_password_env}: the password of Redis is not set"])
    try:
        store = HandoverStore(section.redis_url, password, keep_s=section.resume_s)
    except StoreError as error:
        raise ConfigError([str(error)]) from error
    return Handovers(store, Seal(secret), metrics)
