"""Provides AWS credentials from botocore's chain: environment, profile, single sign-on, container, instance.

The look-up may read files and query servers, so it runs in its own thread, with a deadline. Credentials are kept and
renewed before they expire. A turn waits only if there are no valid ones.
"""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from llm.aws.sdk import import_sdk, sdk
from llm.errors import LlmError, LlmRefused, LlmUnreachable

FETCH_TIMEOUT_S = 5.0
"""Deadline for a turn that waits for credentials. A chain of three responsive servers needs less."""

STEP_TIMEOUT_S = 2.0
"""Deadline for one connection to, or one answer of, a credential server; botocore's default of 60 s exceeds any turn.
"""

RENEW_BEFORE_S = 15 * 60
"""Time before expiry from which credentials are renewed in the background; botocore's own value."""

UNUSABLE_BEFORE_S = 30
"""Time before expiry from which credentials are not used: a request may take this long to connect and be sent."""

RETRY_S = 10.0
"""Pause after a failed look-up, so that consecutive turns do not wait for the same failure."""

SPOKEN_NO_CREDENTIALS = "I have no valid key for my language model."
SPOKEN_NO_ANSWER = "I can't get the key for my language model right now."

_RENEWING = "renew them (aws sso login, aws login, or the role's source)"
_REMEDIES = {
    "ProfileNotFound": "names a profile that is not in ~/.aws: check profile and AWS_PROFILE",
    "PartialCredentialsError": "has only half of a key: set both AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    "ConfigParseError": "finds a file in ~/.aws that cannot be read: check its syntax",
    "InfiniteLoopConfigError": "has a profile whose source_profile leads back to itself: check ~/.aws/config",
    "SSOTokenLoadError": f"has no sign-on session: {_RENEWING}",
    "UnauthorizedSSOTokenError": f"has a sign-on session that expired: {_RENEWING}",
    "LoginRefreshRequired": f"has a login that expired: {_RENEWING}",
    "LoginTokenLoadError": f"has no login: {_RENEWING}",
    "RuntimeError": f"has credentials that expired: {_RENEWING}",
    "MissingDependencyException": "has a profile for aws login: run pip install 'botocore[crt]'",
}
"""Remedies by the name of botocore's exception. Its text is never quoted: it may contain parts of the files."""


class Keys(Protocol):
    """Immutable credentials.

    Attributes:
        token: Session token; None for permanent keys.
    """

    access_key: str
    secret_key: str
    token: str | None


class CredentialSource(Protocol):
    """A source that botocore found. It renews expired credentials on request, which may take time."""

    def get_frozen_credentials(self) -> Keys: ...


class AwsCredentials:
    """The credentials of one endpoint, kept valid."""

    def __init__(
        self, endpoint: str, profile: str | None, *, find: Callable[[str | None], CredentialSource | None] | None = None
    ) -> None:
        """Initializes without I/O.

        Args:
            endpoint: The endpoint's name in the configuration.
            profile: A profile in ~/.aws; None: the environment's choice.
            find: Finds a source; called in a thread.
        """
        self._endpoint = endpoint
        self._profile = profile
        self._find = find or find_source
        self._source: CredentialSource | None = None
        self._keys: Keys | None = None
        self._failed: Exception | None = None
        self._retry_at_s = 0.0
        self._fetching: asyncio.Future[None] | None = None

    async def current(self) -> Keys:
        """Returns keys to sign with. Raises LlmError if there are none, or none within FETCH_TIMEOUT_S."""
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
                raise self._missing_error(self._failed)
        if self._keys is None:
            raise self._timeout_error()
        return self._keys

    def forget(self) -> None:
        """Discards the credentials, which the service no longer accepts; the next request looks them up again."""
        self._source = self._keys = None

    def _expires_within(self, seconds: float) -> bool:
        needed = getattr(self._source, "refresh_needed", None)
        return needed is not None and bool(needed(seconds))

    def _fetch(self) -> "asyncio.Future[None]":
        """Starts a look-up unless one is running; callers share it."""
        if self._fetching is None:
            loop = asyncio.get_running_loop()
            self._fetching = loop.create_future()
            done, source = self._fetching, self._source

            def run() -> None:
                source_or_error, keys = _look_up(source, self._profile, self._find)
                with suppress(RuntimeError):  # the loop was closed meanwhile
                    loop.call_soon_threadsafe(self._fetched, done, source_or_error, keys)

            # A daemon thread: an unresponsive server must not prevent the process from exiting.
            threading.Thread(target=run, name=f"aws credentials {self._endpoint}", daemon=True).start()
        return self._fetching

    def _fetched(
        self, done: "asyncio.Future[None]", source_or_error: CredentialSource | Exception, keys: Keys | None
    ) -> None:
        self._fetching = None
        if isinstance(source_or_error, Exception):
            self._failed = source_or_error
            self._retry_at_s = asyncio.get_running_loop().time() + RETRY_S
        else:
            self._source, self._keys, self._failed, self._retry_at_s = source_or_error, keys, None, 0.0
        if not done.done():
            done.set_result(None)

    def _missing_error(self, error: Exception) -> LlmError:
        if isinstance(error, TimeoutError):
            return self._timeout_error()
        kinds = [kind.__name__ for kind in type(error).__mro__]
        reason = next((_REMEDIES[kind] for kind in kinds if kind in _REMEDIES), None)
        if reason is None and isinstance(error, LookupError):
            reason = "has no AWS credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile, or a role"
        elif reason is None:
            reason = f"could not get its AWS credentials ({kinds[0]}): check the profile, the role and the network"
        return LlmRefused(
            self._endpoint, f"llm endpoint {self._endpoint!r} {reason}", spoken=SPOKEN_NO_CREDENTIALS, retryable=True
        )

    def _timeout_error(self) -> LlmError:
        text = f"llm endpoint {self._endpoint!r} got no AWS credentials within {FETCH_TIMEOUT_S:g} s"
        text = f"{text}: check the service that provides them (container, instance, sign-on), and the network"
        return LlmUnreachable(self._endpoint, text, spoken=SPOKEN_NO_ANSWER, retryable=True)


def _look_up(
    source: CredentialSource | None, profile: str | None, find: Callable[[str | None], CredentialSource | None]
) -> tuple[CredentialSource | Exception, Keys | None]:
    """Returns the source and its keys, or the error. Runs in a thread."""
    try:
        source = source or find(profile)
        if source is None:
            return LookupError("nothing in the chain has credentials"), None
        return source, source.get_frozen_credentials()
    except Exception as error:  # noqa: BLE001  # passed on to the waiting callers; files, servers and processes fail in many ways
        return error, None


def find_source(profile: str | None) -> CredentialSource | None:
    """Returns the first source of botocore's chain, or None.

    Reads files and may query servers. Raises botocore's exceptions.
    """
    import_sdk()
    session = sdk("session").Session(profile=profile)
    limits = {"connect_timeout": STEP_TIMEOUT_S, "read_timeout": STEP_TIMEOUT_S, "retries": {"total_max_attempts": 2}}
    session.set_default_client_config(sdk("config").Config(**limits))
    source: CredentialSource | None = session.get_credentials()
    return source
