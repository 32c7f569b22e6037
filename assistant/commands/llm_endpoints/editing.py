"""Implements `repartee endpoints add` and `remove`. Asks the server for its model and edits config.toml."""

import asyncio
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from rich.console import Console
from rich.text import Text

from assistant.commands.llm_endpoints.new_endpoint import NewEndpoint
from assistant.config.edit import ConfigFile, file_to_edit
from assistant.config.endpoint_settings import RESERVED, EndpointSection
from assistant.config.errors import ConfigError
from assistant.config.words import config_option
from assistant.endpoint_probe.local_servers import HANDLES, described, handles, nothing_found, offers, shortened
from assistant.models.needs import at_hand, lacking_model
from assistant.setup.answering.llm_clients import headers_of, model_need
from llm.discovery import LISTS_ALL, PORTS, UNKNOWN, FoundServer, discover, is_listed
from llm.errors import LlmError
from llm.protocols.protocol import ListRequest

ASK_TIMEOUT_S = 3.0
VARIABLE = "REPARTEE_LLM_ENDPOINTS"
RESTART = "if `repartee serve` or `repartee talk` runs, restart it: both read endpoints at their start"
MANY = 20
"""Maximum number of models named in an error; a cloud service lists hundreds."""


async def save_endpoint(
    request: NewEndpoint,
    config: Path | None,
    environ: Mapping[str, str],
    console: Console,
    *,
    ports: Sequence[int] = PORTS,
) -> None:
    """Appends a [[llm.endpoints]] table to the file and reports it.

    Args:
        request: Known properties of the endpoint. Without url, a server found on this machine.
        config: The requested file; it is created if it does not exist.
        environ: Environment variables with the key.
        console: Reports what was found and done.
        ports: Local ports to search.

    Raises:
        ConfigError: The server or model is ambiguous, or the file cannot be changed.
        LlmError: The server refuses the request or is not a language-model service.
    """
    file = file_to_edit(config, environ)
    _check(request, file, config)
    if not request.lists_models:
        endpoint, unverified = request.section(), f"not verified: a service of kind {request.kind} lists no models"
        if (need := model_need(endpoint)) is not None:
            unverified = "" if at_hand(need) is not None else lacking_model(need)
        if unverified:
            _print(console, unverified, style="yellow")
        await _write(file, endpoint, config, environ, console, answers=False)
        return
    if request.url is None:
        server = _select_server(await discover(ports), request, ports, config)
        _print(console, f"found: {described(server)}")
        if request.section().variables:
            server = await _ask_server(replace(request, url=server.url), environ, console)
    else:
        server = await _ask_server(request, environ, console)
    (handle,) = handles([server])
    _check_free(request.name or handle, file, config)
    taken = replace(request, name=request.name or handle, url=server.url, model=_model(server, request.model, console))
    await _write(file, taken.section(), config, environ, console, answers=server.round_trip_ms > 0)


async def _write(
    file: ConfigFile,
    endpoint: EndpointSection,
    config: Path | None,
    environ: Mapping[str, str],
    console: Console,
    *,
    answers: bool,
) -> None:
    new = not file.exists
    await asyncio.to_thread(file.add_endpoint, endpoint)
    _print(console, f"{'created' if new else 'added to'} {file.path}: {_description(endpoint)}")
    _next_after_add(file, endpoint, config, environ, console)
    _print(console, RESTART)
    following = f"repartee talk{config_option(config)}"
    if not answers:  # the endpoint was not verified
        following = f"repartee endpoints{config_option(config)}, to see whether it answers"
    _print(console, f"next: {following}")


def remove(name: str, config: Path | None, environ: Mapping[str, str], console: Console) -> None:
    """Removes an endpoint from the file and reports it. Raises ConfigError if no endpoint has this name."""
    file = file_to_edit(config, environ)
    endpoint = file.remove(name)
    _print(console, f"removed from {file.path}: {_description(endpoint)}")
    rest = [other.name for other in file.settings().llm.endpoints]
    _print(console, f"left: {', '.join(rest)}" if rest else "no endpoint is left: the built-in skills answer")
    _print(console, RESTART)
    _warn_of_variable(environ, console)


def _check(request: NewEndpoint, file: ConfigFile, config: Path | None) -> None:
    """Checks what can be rejected without asking a server."""
    if request.name is not None:
        _check_free(request.name, file, config)
    try:
        request.section()
    except ValueError as error:
        raise ConfigError([f"endpoints add: {error}"]) from error


def _check_free(name: str, file: ConfigFile, config: Path | None) -> None:
    if name in RESERVED:
        raise ConfigError([f'"{name}" is reserved for --llm; give the endpoint another NAME'])
    if name in [endpoint.name for endpoint in file.settings().llm.endpoints]:
        removal = f"`repartee endpoints remove {shlex.quote(name)}{config_option(config)}`"
        remedy = f"to replace it, {removal}, then add it again; to keep it, give another NAME"
        raise ConfigError([f'{file.path}: the endpoint "{name}" already exists; {remedy}'])


# ---- selecting the server ----


def _select_server(
    servers: Sequence[FoundServer], request: NewEndpoint, ports: Sequence[int], config: Path | None
) -> FoundServer:
    """Returns the found server that is meant."""
    by_handle = handles(servers)
    if request.name in by_handle:
        return by_handle[request.name]
    if request.name in HANDLES.values():
        there = f"; found: {', '.join(map(described, servers))}" if servers else ""
        raise ConfigError([f"{request.name} is not running on localhost{there}; start it, or give its --url"])
    fit = {handle: server for handle, server in by_handle.items() if server.usable or _key_is_given(server, request)}
    if len(fit) == 1:
        return next(iter(fit.values()))
    if not fit and len(servers) == 1:
        return servers[0]  # the error text about its models explains why it cannot be used
    if not fit:
        remedy = "start one (Ollama, llama.cpp, vLLM, LM Studio), or give the --url of another"
        raise ConfigError([f"{nothing_found(servers, ports)}; {remedy}"])
    seen = "; ".join(f"{handle}: {described(server)}" for handle, server in fit.items())
    command = f"`repartee endpoints add {next(iter(fit))}{config_option(config)}`"
    raise ConfigError([f"several servers were found; name one, as in {command}, or give its --url: {seen}"])


def _key_is_given(server: FoundServer, request: NewEndpoint) -> bool:
    return server.needs_key and bool(request.section().variables)


async def _ask_server(request: NewEndpoint, environ: Mapping[str, str], console: Console) -> FoundServer:
    """Returns the service at an address as a found server. If it cannot be asked, the given model is accepted."""
    url = request.url or ""
    key = environ.get(request.api_key_env) or None
    if request.api_key_env and key is None:
        problem = f"the environment variable {request.api_key_env} is not set; set it to the key"
        return _unverified(request, ConfigError([problem]), console)
    name = request.name or "new"
    try:
        headers = headers_of(request.section(), environ)
    except ValueError as error:
        return _unverified(request, ConfigError([str(error)]), console)
    try:
        listing = await request.list_models(ListRequest(name, url, key, ASK_TIMEOUT_S, headers))
        if listing.models is None and urlsplit(url).path in {"", "/"} and "?" not in url:
            # Users often give the address without /v1.
            longer = url.rstrip("/") + "/v1"
            below = await request.list_models(ListRequest(name, longer, key, ASK_TIMEOUT_S, headers))
            if below.models is not None:
                _print(console, f"its models are listed at {longer}, so this address is used")
                url, listing = longer, below
    except ValueError as error:
        raise ConfigError([str(error)]) from error
    except LlmError as error:
        return _unverified(request, error, console)
    if listing.needs_key:
        remedy = (
            "name the environment variable that holds it with --api-key-env"
            if key is None
            else f"correct {request.api_key_env}"
        )
        raise ConfigError([f"{_without_query(url)} {'requires a' if key is None else 'rejects the'} key: {remedy}"])
    if listing.models is None:
        problem = f"{_without_query(url)} answers, but lists no models; name one with --model"
        return _unverified(request, ConfigError([problem]), console)
    models = listing.models
    product = models.product or UNKNOWN
    server = FoundServer(product, url, models.chat, listing.round_trip_ms, others=models.others)
    _print(console, f"answers: {product} at {_without_query(url)} ({offers(server)})")
    return server


def _unverified(request: NewEndpoint, problem: ConfigError | LlmError, console: Console) -> FoundServer:
    if request.model is None:
        raise problem
    _print(console, f"not verified: {problem}", style="yellow")
    return FoundServer(UNKNOWN, request.url or "", (request.model,), round_trip_ms=0.0)


def _model(server: FoundServer, name: str | None, console: Console) -> str:
    where = f"{server.name} at {_without_query(server.url)}"
    if server.needs_key:
        remedy = "put it into an environment variable and name the variable with --api-key-env"
        raise ConfigError([f"{where} requires a key: {remedy}"])
    listed = (*server.models, *server.others)
    if name is not None and is_listed(name, listed):
        return name
    if name is not None and server.name not in LISTS_ALL:
        seen = f": it has {shortened(server.models, MANY)}" if server.models else ""
        _print(console, f'not verified: {where} does not list "{name}"{seen}', style="yellow")
        return name
    if not server.models:
        raise ConfigError([f"{where} has {offers(server)}: load a chat model there first, then add it"])
    if name is not None:
        raise ConfigError([f'{where} has no model "{name}"; it has {shortened(server.models, MANY)}'])
    if len(server.models) > 1:
        raise ConfigError([f"{where} has several models; name one with --model: {shortened(server.models, MANY)}"])
    return server.models[0]


# ---- output ----


def _next_after_add(
    file: ConfigFile, endpoint: EndpointSection, config: Path | None, environ: Mapping[str, str], console: Console
) -> None:
    count = len(file.settings().llm.endpoints)
    if count > 1:
        alone = f"`repartee talk --llm {shlex.quote(endpoint.name)}{config_option(config)}` uses this one alone"
        _print(console, f"it is the last of {count} endpoints; {alone}")
    for name in endpoint.variables:
        if not environ.get(name):
            what = "its key" if name == endpoint.api_key_env else "the value for its headers"
            _print(console, f"before the next start, put {what} into {name}", style="yellow")
    _warn_of_variable(environ, console)


def _warn_of_variable(environ: Mapping[str, str], console: Console) -> None:
    if VARIABLE in environ:
        what = "is set and replaces the endpoints of the file"
        _print(console, f"but the environment variable {VARIABLE} {what}", style="yellow")


def _description(endpoint: EndpointSection) -> str:
    return f"{endpoint.name} ({endpoint.model} {endpoint.shown_place})"


def _without_query(url: str) -> str:
    """Some services take their key as a query parameter."""
    return url.partition("?")[0]


def _print(console: Console, line: str, style: str = "") -> None:
    console.print(Text(line, style=style), soft_wrap=True)
