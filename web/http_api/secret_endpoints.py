"""POST /v1/realtime/client_secrets, and its predecessors of the beta: a key for one client's sessions."""

import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import Send

from web.access.client_secrets import DEFAULT_SECONDS, MAX_SECONDS, MIN_SECONDS, ClientSecrets
from web.access.rate_limits import RateLimits
from web.http_api.bodies import BodyReader, checked_fields
from web.http_api.errors import ApiError
from web.http_api.serving import ServerState, check_rate, respond
from web.wire.incoming.session_fields import updated
from web.wire.outgoing.session_object import Service, SessionDescription, session_object
from web.wire.values import beta
from web.wire.values.fields import Field, FieldError, Refusals, checked, one_of, whole
from web.wire.values.session_config import SessionConfig


def _any_value(value: object, _path: str) -> object:
    return value


def _expiry(value: object, path: str) -> int:
    fields = checked(value, path, _EXPIRY)
    return int(fields.get("seconds", DEFAULT_SECONDS))


_EXPIRY = {"anchor": Field(one_of("created_at")), "seconds": Field(whole(MIN_SECONDS, MAX_SECONDS))}
_REQUEST = {"expires_after": Field(_expiry), "session": Field(_any_value)}


@dataclass(frozen=True, slots=True)
class SecretEndpoints:
    """Makes client secrets.

    Attributes:
        client_secrets: Keeps them.
        rates: Limits how fast a client makes them.
        bodies: Reads the requests.
        state: Whether the server takes requests.
        initial_config: Returns the settings of a session before its client changes them.
        service: Returns the description of the server. `resume_token` is "".
    """

    client_secrets: ClientSecrets
    rates: RateLimits
    bodies: BodyReader
    state: ServerState
    initial_config: Callable[[], SessionConfig]
    service: Callable[[], Service]

    async def client_secret(self, request: Request, send: Send) -> None:
        """Answers POST /v1/realtime/client_secrets."""
        fields = checked_fields(await self._body(request), _REQUEST)
        session = fields.get("session", {})
        value, expires_at, shown = await self._made(session, fields.get("expires_after", DEFAULT_SECONDS))
        await respond(request, JSONResponse({"value": value, "expires_at": expires_at, "session": shown}), send)

    async def session(self, request: Request, send: Send) -> None:
        """Answers POST /v1/realtime/sessions, whose body is the session itself."""
        await self._beta_session(await self._body(request), request, send)

    async def transcription_session(self, request: Request, send: Send) -> None:
        """Answers POST /v1/realtime/transcription_sessions, whose body is the session itself."""
        await self._beta_session({"type": "transcription", **await self._body(request)}, request, send)

    async def _beta_session(self, session: dict[str, Any], request: Request, send: Send) -> None:
        """Answers with a secret whose sessions use the beta of the protocol."""
        value, expires_at, shown = await self._made(session, DEFAULT_SECONDS, is_beta=True)
        answer = {**beta.beta_session(shown), "client_secret": {"value": value, "expires_at": expires_at}}
        await respond(request, JSONResponse(answer), send)

    async def _body(self, request: Request) -> dict[str, Any]:
        self.state.check()
        check_rate(self.rates, "client_secrets", request)
        return await self.bodies.json_object(request)

    async def _made(self, session: object, seconds: int, *, is_beta: bool = False) -> tuple[str, int, dict[str, Any]]:
        """Returns a new secret, when it expires, in seconds since 1970, and its session as it is shown."""
        config, service = replace(self._config(session), beta=is_beta), self.service()
        expires_at = int(datetime.now(UTC).timestamp()) + seconds
        value = self.client_secrets.make(config, seconds, len(json.dumps(session)))
        if value is None:
            raise ApiError.busy("too many client secrets are valid; try again when some have expired", 60)
        await self.client_secrets.publish(value, config, seconds)
        shown = dict(session_object(SessionDescription(f"sess_{secrets.token_hex(8)}", service), config))
        del shown["repartee"]  # what only a connection has
        return value, expires_at, shown

    def _config(self, session: object) -> SessionConfig:
        """Returns the settings of the secret's sessions. Raises ApiError for the first invalid field."""
        refusals = Refusals()
        try:
            service = self.service()
            config = updated(self.initial_config(), session, service.language, refusals, service.offer)
        except FieldError as error:
            raise ApiError.of_field(error) from error
        if refusals.errors:
            raise ApiError.of_field(refusals.for_client()[0])
        return config
