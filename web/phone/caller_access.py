"""Decides whether a telephone call may begin: it has the server's token, or a client secret."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from starlette.types import Scope

from web.access.client_secrets import ClientSecrets, secrets_among
from web.limits.session_acceptor import pass_config, passed_config


@dataclass(frozen=True, slots=True)
class CallerAccess:
    """Checks what a call offers.

    Attributes:
        accepts_token: Returns whether the server's token is in the headers of a connection or among these values.
        client_secrets: Keys that open sessions with settings of their own; None: there are none.
    """

    accepts_token: Callable[[Scope, Iterable[str]], bool]
    client_secrets: ClientSecrets | None

    async def __call__(self, scope: Scope, offered: Iterable[str]) -> bool:
        """Returns whether the call may begin. The settings of a client secret become those of its session.

        A secret of a transcription session opens no call, because nobody would answer.
        """
        in_header = passed_config(scope)
        if in_header is not None:  # access control has checked it
            return in_header.kind == "realtime"
        keys = tuple(offered)
        sent = secrets_among(keys)
        if not sent or self.client_secrets is None:
            return self.accepts_token(scope, keys)
        # Checked without a server token too: the session would lack the settings that belong to the secret.
        config = await self.client_secrets.find_anywhere(sent)
        pass_config(scope, config)
        return config is not None and config.kind == "realtime"
