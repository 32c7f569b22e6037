"""The first steps on the page: who can answer, and changes of the configuration from this machine only.

    GET  /v1/repartee/setup        whether this server offers it, and for whom
    POST /v1/repartee/setup/test   asks a service for its models, and one short question
    POST /v1/repartee/setup/save   writes the configuration

A key that a page sends is used or stored; no answer, log line or error contains it.
"""

import asyncio
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Send

from assistant.config.edit import ConfigFile, file_to_edit
from assistant.config.errors import ConfigError
from assistant.config.loading import Loaded
from assistant.config.settings import Settings
from assistant.first_run.answerers import Answerer, answerers, default_of
from assistant.first_run.plan import (
    Answers,
    Change,
    MissingModel,
    change_of,
    endpoint_of,
    missing_models,
    overridden,
    shown_values,
)
from assistant.first_run.service import ListedModels, is_address, listed_models, problem_of, without_key
from assistant.first_run.voices import LANGUAGE_CODE, voice_options
from assistant.registry.voices import voice_kinds
from assistant.support.notice import code_of, notice
from llm.discovery import PORTS, FoundServer, discover
from web.access.access_control import SETUP_PATH, AccessControl
from web.access.access_control import Request as AccessRequest
from web.access.body_limits import SETUP_SAVE_PATH, SETUP_TEST_PATH
from web.http_api.bodies import BodyReader
from web.http_api.errors import FRESH, ApiError
from web.http_api.serving import Handler, ServerState, respond, unless_client_leaves
from web.page_api.same_machine import why_not_same_machine
from web.wire.values.fields import IDENTIFIER, Field, Table, text

COMMAND = "repartee init"

PROCESS = secrets.token_hex(8)
"""Differs after a restart, so that the page knows that it is over."""

_FOREIGN_KEY = (
    "the key in {} is only sent to the service that it belongs to: paste the key, or run `repartee endpoints add`"
)

_UNREACHABLE = notice("service_unreachable")

FOUND_FOR_S = 2.0
"""Age until which the servers that were found are used again."""

_URL_CHARS = 2048
_KEY_CHARS = 512

_TEST: Table = {
    "answerer": Field(IDENTIFIER, required=True),
    "url": Field(text(max_chars=_URL_CHARS)),
    "model": Field(text(max_chars=256)),
    "variable": Field(text(max_chars=64)),
    "key": Field(text(max_chars=_KEY_CHARS)),
}
_SAVE: Table = {
    "language": Field(IDENTIFIER),
    "voice": Field(IDENTIFIER),
    **{name: replace(test_field, required=False) for name, test_field in _TEST.items()},
}


@dataclass(slots=True)
class SetupParts:
    """Parts of the server that the first steps read and change.

    Attributes:
        file: The configuration file; None: there is none that could be written.
        settings: The settings in effect, and after a change those of the next start.
        origin: See `Loaded.origin`.
        environ: Environment variables: which keys are set.
        access_control: Knows the server's token.
        ports: Local ports to search for servers.
    """

    file: ConfigFile | None
    settings: Settings
    origin: Mapping[str, str]
    environ: Mapping[str, str]
    access_control: AccessControl
    ports: Sequence[int] = PORTS

    @classmethod
    def of(
        cls, loaded: Loaded, config: Path | None, environ: Mapping[str, str], access_control: AccessControl
    ) -> "SetupParts":
        """Returns the parts of a server; `config`: the file that was named."""
        try:
            file = file_to_edit(config, environ)
        except ConfigError:
            file = None
        return cls(file, loaded.settings, loaded.origin, environ, access_control)

    def why_not(self, request: Request, *, changes: bool = False) -> str:
        """Returns why this client may not change the configuration; "" if it may."""
        peer = request.client.host if request.client else None
        headers = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in request.headers.raw]
        if problem := why_not_same_machine(peer, request.url.scheme, headers, changes=changes):
            return problem
        return "" if self.file is not None else notice("without_a_home")

    def knows_token(self, request: Request) -> bool:
        """Returns whether a request has the server's token, if there is one."""
        keys = tuple(request.headers.getlist("authorization"))
        return self.access_control.accepts_token(AccessRequest(request.url.path, authorizations=keys), ())


@dataclass(slots=True)
class PageSetup:
    """Answers the requests.

    Attributes:
        parts: What is changed.
        bodies: Reads the requests.
        state: Whether the server takes requests.
    """

    parts: SetupParts
    bodies: BodyReader
    state: ServerState
    _servers: Sequence[FoundServer] = ()
    _found_at_s: float | None = None
    _saved: bool = False
    _chose_voice: bool = False  # so no other voice is missing
    _busy: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def get(self, request: Request, send: Send) -> None:
        """Answers GET /v1/repartee/setup."""
        body: dict[str, object] = {"offered": True, "authorized": self.parts.knows_token(request)}
        if body["authorized"]:
            problem = self.parts.why_not(request)
            body |= {
                "writable": not problem,
                "why_not": problem,
                "why_not_code": code_of(problem),
                "command": COMMAND,
                "restart": self._saved,
            }
            if not problem:
                body |= {"process": PROCESS, **await self._possible()}
        await respond(request, JSONResponse(body), send)

    async def test(self, request: Request, send: Send) -> None:
        """Answers POST /v1/repartee/setup/test."""
        fields = await self._body(request, _TEST)
        await unless_client_leaves(request, self.state, self._tested(request, send, fields))

    async def save(self, request: Request, send: Send) -> None:
        """Answers POST /v1/repartee/setup/save."""
        fields = await self._body(request, _SAVE)
        async with self._request_lock():
            try:
                body = await self._save(fields)
            except ConfigError as error:
                raise ApiError(400, "setup_refused", without_key(str(error), fields.get("key", ""))) from error
        await respond(request, JSONResponse(body), send)

    # ---- private ----

    async def _body(self, request: Request, table: Table) -> dict[str, Any]:
        if problem := self.parts.why_not(request, changes=True):
            raise ApiError(403, "not_this_machine", f"{problem}; run `{COMMAND}` on the server's machine instead")
        return await self.bodies.fields(request, table)

    def _request_lock(self) -> asyncio.Lock:
        """Returns the lock of the only request that is worked on. Raises ApiError if there is one."""
        if self._busy.locked():
            raise ApiError.busy("another request of the first steps is in progress; try again in a moment", 2)
        return self._busy

    async def _answerers(self) -> list[Answerer]:
        now_s = asyncio.get_running_loop().time()
        if self._found_at_s is None or now_s > self._found_at_s + FOUND_FOR_S:
            self._servers = await discover(self.parts.ports)
            self._found_at_s = now_s
        return await asyncio.to_thread(answerers, self.parts.settings, self._servers, self.parts.environ)

    async def _possible(self) -> dict[str, object]:
        assert self.parts.file is not None
        possible = await self._answerers()
        shown = [
            {
                "kind": answerer.kind,
                "name": answerer.name,
                "label": answerer.label,
                "models": list(answerer.models),
                "variable": answerer.variable,
                "key_is_set": answerer.key_is_set,
            }
            for answerer in possible
        ]
        return {"file": str(self.parts.file.path), "answerers": shown, "default": default_of(possible).name}

    async def _chosen(self, fields: Mapping[str, Any]) -> Answerer | None:
        """Returns the chosen answerer. Raises ConfigError for an unknown one."""
        if (name := fields.get("answerer")) is None:
            return None
        who = next((answerer for answerer in await self._answerers() if answerer.name == name), None)
        if who is None:
            raise ConfigError(["this answer is no longer possible; open the first steps again"])
        if who.kind != "url":
            return who
        url = fields.get("url", "").strip()
        if not is_address(url):
            raise ConfigError(["the address must begin with http:// or https://"])
        return replace(who, url=url)

    async def _answers(self, fields: Mapping[str, Any]) -> Answers:
        """Returns the answers of a request. Raises ConfigError."""
        voice, language = None, fields.get("language")
        if language is not None and LANGUAGE_CODE.fullmatch(language) is None:
            raise ConfigError(["the language must be a code such as en or de"])
        if (name := fields.get("voice")) is not None:
            spoken = language or self.parts.settings.assistant.language
            voices = await asyncio.to_thread(voice_options, spoken)
            voice = next((voice for voice in voices if voice.name == name), None)
            if voice is None:
                raise ConfigError(["this voice is not installed for this language"])
        answerer, variable = await self._chosen(fields), fields.get("variable", "").strip()
        if self.parts.environ.get(variable) and (answerer is None or variable != answerer.variable):
            raise ConfigError([_FOREIGN_KEY.format(variable)])
        return Answers(
            language=language,
            voice=voice,
            answerer=answerer,
            model=fields.get("model", "").strip(),
            variable=variable,
            key=fields.get("key", "").strip(),
        )

    async def _save(self, fields: Mapping[str, Any]) -> dict[str, object]:
        """Writes the configuration. Raises ConfigError."""
        answers = await self._answers(fields)
        change = await asyncio.to_thread(self._write, answers)
        if answers.voice is not None:
            self._chose_voice = True
        if not change.is_empty:
            self.parts.settings = change.applied_to(self.parts.settings)
            self._saved = True
        assert self.parts.file is not None
        return {
            "changed": shown_values(change),
            "file": str(self.parts.file.path),
            "private": change.private,
            "restart": self._saved,
            "missing": [asdict(model) for model in await asyncio.to_thread(self._missing)],
            "overridden": overridden(change.values, self.parts.origin),
        }

    def _missing(self) -> list[MissingModel]:
        """Returns what is left to download; reads the disk. A voice that was chosen needs no other."""
        missing = missing_models(self.parts.settings)
        return [model for model in missing if not (self._chose_voice and model.kind in voice_kinds())]

    def _write(self, answers: Answers) -> Change:
        """Changes the file; reads and writes the disk. Raises ConfigError."""
        file = self.parts.file
        assert file is not None
        change = change_of(answers, file.settings(), in_effect=self.parts.settings)
        if not change.is_empty:
            file.change(change.values, change.endpoint, private=change.private)
        return change

    async def _tested(self, request: Request, send: Send, fields: Mapping[str, Any]) -> None:
        """Asks the service for its models, and a question if the model is known. Raises ApiError."""
        key = fields.get("key", "").strip()
        async with self._request_lock():
            try:
                answers = await self._answers(fields)
                models = await self._models(answers)
                body: dict[str, object] = {
                    "models": list(models.models),
                    "model": "",
                    "problem": "",
                    "first_token_ms": None,
                }
                if model := answers.model or _default_model(answers, models.models):
                    body |= {"model": model, **await self._asked(replace(answers, model=model))}
                # A service that did not list its models in time may still answer.
                body["reachable"] = models.reachable or body["first_token_ms"] is not None
                if not body["reachable"]:
                    body["problem"] = body["problem"] or _UNREACHABLE
                body["problem_code"] = code_of(body["problem"])
            except ConfigError as error:
                raise ApiError(400, "setup_refused", without_key(str(error), key)) from error
        await respond(request, JSONResponse(body), send)

    async def _models(self, answers: Answers) -> ListedModels:
        """Returns the models to choose from. A service is taken for reachable if it was not asked."""
        who = answers.answerer
        if who is None or not who.url:
            return ListedModels(() if who is None else who.models)
        key = answers.key or self.parts.environ.get(answers.variable) or None
        return ListedModels(who.models) if who.kind == "server" else await listed_models(who.name, who.url, key)

    async def _asked(self, answers: Answers) -> dict[str, object]:
        """Asks one short question. Raises ConfigError."""
        endpoint = endpoint_of(answers, self.parts.settings)
        if endpoint is None or endpoint.is_on_this_machine:
            return {}
        if endpoint.api_key_env and not self.parts.environ.get(endpoint.api_key_env):
            name = endpoint.api_key_env
            return {"problem": f"{name} is not set where the server runs: set it, then restart the server"}
        await self.state.give_way()
        problem, first_token_ms = await problem_of(endpoint, self.parts.settings, self.parts.environ, answers.key)
        return {"problem": problem, "first_token_ms": None if problem else round(first_token_ms)}


def setup_routes(setup: PageSetup, answered: Callable[[str, Handler], ASGIApp]) -> list[BaseRoute]:
    """Returns the routes. `answered`: makes the endpoint for a method and a handler."""
    return [
        Route(SETUP_PATH, answered("GET", setup.get)),
        Route(SETUP_TEST_PATH, answered("POST", setup.test)),
        Route(SETUP_SAVE_PATH, answered("POST", setup.save)),
    ]


def _default_model(answers: Answers, models: Sequence[str]) -> str:
    """Returns the model that is asked if none was chosen; "" if there are several and none is usual."""
    usual = () if answers.answerer is None else answers.answerer.models
    return next((name for name in usual if name in models), models[0] if len(models) == 1 else "")


async def not_offered(_request: Request) -> JSONResponse:
    """Answers GET /v1/repartee/setup on a server without the first steps."""
    return JSONResponse({"offered": False}, headers=FRESH)
