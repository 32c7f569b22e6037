"""AWS credentials from botocore's own chain: environment, profile, single sign-on, container, instance.

Looking them up may read files and ask servers, so it happens in a thread of its own, with a deadline. What was found
is kept and renewed before it expires: a turn waits only where there is nothing valid to sign with.
"""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from llm.aws.sdk import import_sdk, sdk
from llm.errors import LlmError, LlmRefused, LlmUnreachable

FETCH_TIMEOUT_S = 5.0
"""A chain of three servers that answer at once takes less; a turn that waits longer is lost anyway."""

STEP_TIMEOUT_S = 2.0
"""One connection, or one answer, of a server that gives credentials; botocore's own 60 s outlive any turn."""

RENEW_BEFORE_S = 15 * 60
"""Aside, while the old ones still serve: what botocore itself does without waiting for it."""

UNUSABLE_BEFORE_S = 30
"""Less is left than a request may wait for its connection and be on its way."""

RETRY_S = 10.0
"""After a failure nothing is looked up for so long: no turn waits again for what failed in the last one."""

SPOKEN_NO_CREDENTIALS = "I have no valid key for my language model."
SPOKEN_NO_ANSWER = "I can't get the key for my language model right now."

_RENEWING = "renew them (aws sso login, aws login, or the role's source)"
_REMEDIES = {
    "ProfileNotFound": "names a profile that is not in ~/.aws: check profile and AWS_PROFILE",
    "PartialCredentialsError": "has only one half of a key: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    "ConfigParseError": "finds a file in ~/.aws that cannot be read: check its syntax",
    "InfiniteLoopConfigError": "has a profile whose source_profile leads back to itself: check ~/.aws/config",
    "SSOTokenLoadError": f"has no sign-on session: {_RENEWING}",
    "UnauthorizedSSOTokenError": f"has a sign-on session that expired: {_RENEWING}",
    "LoginRefreshRequired": f"has a login that expired: {_RENEWING}",
    "LoginTokenLoadError": f"has no login: {_RENEWING}",
    "RuntimeError": f"has credentials that expired: {_RENEWING}",
    "MissingDependencyException": "has a profile for aws login: pip install 'botocore[crt]'",
}
"""By the name of botocore's error. Its text is never quoted: it may name what is in the files."""


class Keys(Protocol):
    """Credentials that do not change any more.

    Attributes:
        token: Of a session; None for keys that last.
    """

    access_key: str
    secret_key: str
    token: str | None


class CredentialSource(Protocol):
    """What botocore found: it can be asked again, and then renews what has expired; that may take its time."""

    def get_frozen_credentials(self) -> Keys: ...


class AwsCredentials:
    """The credentials of one endpoint, kept fresh."""

    def __init__(
        self, endpoint: str, profile: str | None, *, find: Callable[[str | None], CredentialSource | None] | None = None
    ) -> None:
        """`profile` of ~/.aws, None for the environment's choice. `find` looks a source up, in a thread."""
        self._endpoint = endpoint
        self._profile = profile
        self._find = find or find_source
        self._source: CredentialSource | None = None
        self._keys: Keys | None = None
        self._failed: Exception | None = None
        self._retry_at_s = 0.0
        self._fetching: asyncio.Future[None] | None = None

    async def current(self) -> Keys:
        """Keys to sign with now. Raises LlmError where there are none, or none came within FETCH_TIMEOUT_S."""
        now_s = asyncio.get_running_loop().time()
        if self._keys is None or self._expires_within(RENEW_BEFORE_S):
            usable = self._keys is not None and not self._expires_within(UNUSABLE_BEFORE_S)
            if now_s >= self._retry_at_s:
                fetching = self._fetch()
                if not usable:
                    await asyncio.wait({fetching}, timeout=FETCH_TIMEOUT_S)
                    if not fetching.done():
                        self._failed, self._retry_at_s = TimeoutError(), now_s + FETCH_TIMEOUT_S + RETRY_S
            if not usable and self._failed is not None:
                raise self._missing(self._failed)
        if self._keys is None:
            raise self._late()
        return self._keys

    def forget(self) -> None:
        """The service does not take them any more: look them up anew for the next request."""
        self._source = self._keys = None

    def _expires_within(self, seconds: float) -> bool:
        needed = getattr(self._source, "refresh_needed", None)
        return needed is not None and bool(needed(seconds))

    def _fetch(self) -> "asyncio.Future[None]":
        """Start to look them up, unless that is under way; many may wait for the same."""
        if self._fetching is None:
            loop = asyncio.get_running_loop()
            self._fetching = loop.create_future()
            told, source = self._fetching, self._source

            def run() -> None:
                found, keys = _look_up(source, self._profile, self._find)
                with suppress(RuntimeError):  # the loop was closed meanwhile
                    loop.call_soon_threadsafe(self._fetched, told, found, keys)

            # A daemon: a server that hangs must not keep the process from ending.
            threading.Thread(target=run, name=f"aws credentials {self._endpoint}", daemon=True).start()
        return self._fetching

    def _fetched(self, told: "asyncio.Future[None]", found: CredentialSource | Exception, keys: Keys | None) -> None:
        self._fetching = None
        if isinstance(found, Exception):
            self._failed = found
            self._retry_at_s = asyncio.get_running_loop().time() + RETRY_S
        else:
            self._source, self._keys, self._failed, self._retry_at_s = found, keys, None, 0.0
        if not told.done():
            told.set_result(None)

    def _missing(self, error: Exception) -> LlmError:
        if isinstance(error, TimeoutError):
            return self._late()
        kinds = [kind.__name__ for kind in type(error).__mro__]
        says = next((_REMEDIES[kind] for kind in kinds if kind in _REMEDIES), None)
        if says is None and isinstance(error, LookupError):
            says = "has no AWS credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile, or a role"
        elif says is None:
            says = f"could not get its AWS credentials ({kinds[0]}): check the profile, the role and the network"
        return LlmRefused(
            self._endpoint, f"llm endpoint {self._endpoint!r} {says}", spoken=SPOKEN_NO_CREDENTIALS, retryable=True
        )

    def _late(self) -> LlmError:
        text = f"llm endpoint {self._endpoint!r} got no AWS credentials within {FETCH_TIMEOUT_S:g} s"
        text = f"{text}: check the server that gives them (container, instance, sign-on), and the network"
        return LlmUnreachable(self._endpoint, text, spoken=SPOKEN_NO_ANSWER, retryable=True)


def _look_up(
    source: CredentialSource | None, profile: str | None, find: Callable[[str | None], CredentialSource | None]
) -> tuple[CredentialSource | Exception, Keys | None]:
    """The source and its keys, or why there are none; in a thread."""
    try:
        source = source or find(profile)
        if source is None:
            return LookupError("nothing in the chain has credentials"), None
        return source, source.get_frozen_credentials()
    except Exception as error:  # noqa: BLE001  # told to whoever waits; files, servers and processes fail in many ways
        return error, None


def find_source(profile: str | None) -> CredentialSource | None:
    """What botocore's chain finds first, or None. Reads files and may ask servers. Raises botocore's errors."""
    import_sdk()
    session = sdk("session").Session(profile=profile)
    limits = {"connect_timeout": STEP_TIMEOUT_S, "read_timeout": STEP_TIMEOUT_S, "retries": {"total_max_attempts": 2}}
    session.set_default_client_config(sdk("config").Config(**limits))
    source: CredentialSource | None = session.get_credentials()
    return source
