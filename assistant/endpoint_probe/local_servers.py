"""Selects the language model of a run, given the servers found on this machine.

Pure, except for the search for the model that this program runs, which reads the disk.

A found server is used only if the user requests it with `--llm auto` or adds it to the configuration.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from urllib.parse import urlsplit

from assistant.config.endpoint_settings import RESERVED, EndpointSection
from assistant.config.errors import ConfigError
from assistant.config.settings import Settings
from assistant.config.words import unknown, with_known_names
from assistant.setup import build
from llm.discovery import PORTS, FoundServer

AUTO, SKILLS = RESERVED
LOCAL = build.LOCAL_NAME
"""The model that this program runs; not reserved, because an endpoint of that name is as good."""

SUGGESTED = "qwen3-0.6b"
"""Model that messages suggest to pull."""

LocalEndpoint = Callable[[Settings], tuple[EndpointSection | None, str]]

HANDLES: Mapping[str, str] = MappingProxyType(
    {"Ollama": "ollama", "llama.cpp": "llama.cpp", "vLLM": "vllm", "LM Studio": "lm-studio"}
)
"""Default endpoint name for each product."""

SHOWN_MODELS = 3


@dataclass(frozen=True, slots=True)
class LlmChoice:
    """The language models of a run.

    Attributes:
        settings: With the endpoints of this run.
        message: A line for display; empty if nothing was requested.
        why: Replaces the reason in the table of engines; empty: no replacement.
        fallback: Whether something other than requested is used.
    """

    settings: Settings
    message: str = ""
    why: str = ""
    fallback: bool = False


def choose(
    settings: Settings,
    llm: str | None,
    servers: Sequence[FoundServer],
    ports: Sequence[int] = PORTS,
    local_endpoint: LocalEndpoint = build.local_endpoint,
) -> LlmChoice:
    """Interprets `--llm`: None (not given), "auto", "skills", "local", or an endpoint's name.

    "auto": the first of `servers`, or the model on this machine. `local_endpoint`: returns that model.

    Raises ConfigError for an unknown name, and if nothing would be left to answer.
    """
    endpoints = settings.llm.endpoints
    if llm is None:
        return LlmChoice(settings)
    if llm == AUTO:
        return _auto(settings, servers, ports, local_endpoint)
    if llm == SKILLS:
        message = "no language model, as requested: the built-in skills answer"
        settings = replace(settings, llm=replace(settings.llm, local_model="off"))
        return LlmChoice(_asking(settings, ()), message, f"--llm {SKILLS}")
    for endpoint in endpoints:
        if endpoint.name == llm:
            message = f"language model: {llm}, {endpoint.model}, for this run"
            return LlmChoice(_asking(settings, (endpoint,)), message, f"--llm {llm}")
    if llm == LOCAL:
        return _local(settings, local_endpoint)
    names = [endpoint.name for endpoint in endpoints]
    known = [*names, *RESERVED, LOCAL]
    add = "" if names else "; `repartee endpoints add` writes one into your configuration"
    problem = with_known_names(unknown(llm, known, "no such endpoint"), known)
    raise ConfigError([f'--llm "{llm}": {problem}{add}'])


def _auto(
    settings: Settings, servers: Sequence[FoundServer], ports: Sequence[int], local_endpoint: LocalEndpoint
) -> LlmChoice:
    server = next((server for server in servers if server.usable), None)
    if server is not None:
        return _taken(settings, server)
    local, _ = local_endpoint(settings)
    if local is None:
        return _none_found(settings, servers, ports)
    message = f"{nothing_found(servers, ports)}; language model: {_on_this_machine(local)}, for this run"
    return LlmChoice(_asking(settings, (local,)), message, f"--llm {AUTO}: its model is downloaded")


def _local(settings: Settings, local_endpoint: LocalEndpoint) -> LlmChoice:
    off = settings.llm.local_model == "off"
    local, reason = local_endpoint(
        replace(settings, llm=replace(settings.llm, local_model="auto")) if off else settings
    )
    if local is None:
        problem = reason or f"no language model is downloaded; get one with `repartee models pull {SUGGESTED}`"
        raise ConfigError([f'--llm "{LOCAL}": {problem}'])
    message = f"language model: {_on_this_machine(local)}, for this run"
    return LlmChoice(_asking(settings, (local,)), message, f"--llm {LOCAL}")


def _on_this_machine(endpoint: EndpointSection) -> str:
    return f"{endpoint.model} on this machine"


def mention(settings: Settings, llm: str | None, servers: Sequence[FoundServer]) -> str:
    """Returns a line about unused servers; empty if endpoints are configured or `--llm` was given."""
    usable = [server for server in servers if server.usable]
    if llm is not None or settings.llm.endpoints or not usable:
        return ""
    seen = ", ".join(described(server) for server in usable)
    if len(usable) == 1:
        return f"found: {seen}; use it with --llm {AUTO} or `repartee endpoints add`"
    return f"found: {seen}; use the first with --llm {AUTO}, or one of them with `repartee endpoints add NAME`"


def handles(servers: Sequence[FoundServer]) -> dict[str, FoundServer]:
    """Maps default endpoint names to the servers: the product's name, with the port if it is ambiguous."""
    products = [server.name for server in servers]
    named: dict[str, FoundServer] = {}
    for server in servers:
        handle = HANDLES.get(server.name, LOCAL)
        if handle == LOCAL or products.count(server.name) > 1:
            port = port_here(server.url)
            handle = f"{handle}-{port}" if port is not None else urlsplit(server.url).hostname or handle
        named[handle] = server
    return named


def port_here(url: str) -> int | None:
    """Returns the port of an address on this machine; None for another machine."""
    address = urlsplit(url)
    here = address.hostname in {"localhost", "127.0.0.1", "::1"}
    return (address.port or (443 if address.scheme == "https" else 80)) if here else None


def described(server: FoundServer) -> str:
    """Describes a server: "Ollama at http://127.0.0.1:11434/v1 (llama3.2)"."""
    return f"{server.name} at {server.url} ({offers(server)})"


def offers(server: FoundServer) -> str:
    """Returns its chat models, or why there are none."""
    if server.needs_key:
        return "requires a key"
    if not server.models:
        return f"no chat model, only {shortened(server.others)}" if server.others else "no model"
    return shortened(server.models)


def shortened(models: Sequence[str], max_shown: int = SHOWN_MODELS) -> str:
    """Shortens a list: "a, b, c and 4 more"."""
    more = len(models) - max_shown
    return ", ".join(models[:max_shown]) + (f" and {more} more" if more > 0 else "")


def nothing_found(servers: Sequence[FoundServer], ports: Sequence[int]) -> str:
    """Returns "no language model was found on localhost (ports 8080, 8000)", and what was found instead."""
    seen = "".join(f"; {described(server)}" for server in servers)
    return f"no language model was found on localhost (ports {', '.join(map(str, ports))}){seen}"


def _taken(settings: Settings, server: FoundServer) -> LlmChoice:
    (handle,) = handles([server])
    model = server.models[0]
    several = f", the first of its {len(server.models)} models" if len(server.models) > 1 else ""
    endpoint = EndpointSection(name=handle, url=server.url, model=model)
    message = f"language model: {server.name} at {server.url}, {model}{several}, for this run"
    return LlmChoice(_asking(settings, (endpoint,)), message, f"--llm {AUTO}: found on localhost")


def _none_found(settings: Settings, servers: Sequence[FoundServer], ports: Sequence[int]) -> LlmChoice:
    nothing = nothing_found(servers, ports)
    names = [endpoint.name for endpoint in settings.llm.endpoints]
    if names:
        message = f"{nothing}; the configured endpoints answer ({shortened(names)})"
        return LlmChoice(settings, message, f"instead of a model on localhost, because {nothing}", fallback=True)
    why = f"instead of a language model, because {nothing}"
    return LlmChoice(_asking(settings, ()), f"{nothing}; the built-in skills answer", why, fallback=True)


def _asking(settings: Settings, endpoints: tuple[EndpointSection, ...]) -> Settings:
    if not endpoints and not settings.skills.enabled:
        raise ConfigError(["--llm: without a language model and skills, nothing can answer; set skills.enabled = true"])
    return replace(settings, llm=replace(settings.llm, endpoints=endpoints))
