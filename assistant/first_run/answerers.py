"""Lists the possible answerers: configured endpoints, local servers, clouds, the model on this machine, the skills."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from assistant.config.endpoint_settings import EndpointSection
from assistant.config.settings import Settings
from assistant.endpoint_probe.local_servers import SUGGESTED, handles, offers, shortened
from assistant.models.catalogue import MODELS
from assistant.models.needs import size_text
from assistant.setup import build
from llm.discovery import FoundServer

Kind = Literal["keep", "server", "local", "download", "cloud", "url", "skills"]

KEY_VARIABLE = re.compile(r"(?!REPARTEE_)[A-Z][A-Z0-9_]{1,63}")
"""Names of environment variables that may hold a key."""


@dataclass(frozen=True, slots=True)
class Cloud:
    """A cloud service of the OpenAI protocol.

    Attributes:
        name: Name of its endpoint.
        title: Its own name.
        url: Its address.
        variable: Usual environment variable of its key.
        model: A small and fast model.
    """

    name: str
    title: str
    url: str
    variable: str
    model: str


CLOUDS = (
    Cloud("openai", "OpenAI", "https://api.openai.com/v1", "OPENAI_API_KEY", "gpt-4o-mini"),
    Cloud("groq", "Groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY", "llama-3.3-70b-versatile"),
    Cloud("mistral", "Mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY", "mistral-small-latest"),
    Cloud("openrouter", "OpenRouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", "openai/gpt-4o-mini"),
)
"""Clouds that are offered by name; any other one is given by its address."""


@dataclass(frozen=True, slots=True)
class Answerer:
    """One of the possible answers to "who answers?".

    Attributes:
        kind: What it is.
        name: The name by which it is chosen: "keep", "local", "skills", or that of an endpoint.
        label: For the user.
        url: Address of the service; "" if it is none.
        models: Its models, if it lists them; the first one is the default.
        variable: Environment variable that holds its key; "" if it needs none.
        key_is_set: Whether that variable is set.
    """

    kind: Kind
    name: str
    label: str
    url: str = ""
    models: tuple[str, ...] = ()
    variable: str = ""
    key_is_set: bool = False


LocalEndpoint = Callable[[Settings], tuple[EndpointSection | None, str]]


def answerers(
    settings: Settings,
    servers: Sequence[FoundServer],
    environ: Mapping[str, str],
    local_endpoint: LocalEndpoint = build.local_endpoint,
) -> list[Answerer]:
    """Returns all possible answers. The first one is the default.

    Args:
        settings: The settings in effect.
        servers: The servers that were found on this machine.
        environ: Environment variables: which keys are set.
        local_endpoint: Returns the model on this machine.
    """
    possible: list[Answerer] = []
    configured = settings.llm.endpoints
    if configured:
        names = shortened([f"{section.name} ({section.model})" for section in configured])
        possible.append(Answerer("keep", "keep", f"As configured: {names}"))
    for name, server in handles(servers).items():
        if server.usable:
            label = f"{server.name} on this machine ({offers(server)})"
            possible.append(Answerer("server", name, label, server.url, server.models))
    possible.append(_local(settings, local_endpoint))
    for cloud in CLOUDS:
        is_set = bool(environ.get(cloud.variable))
        label = f"{cloud.title}, a cloud" + (f": its key is in {cloud.variable}" if is_set else ", with a key")
        possible.append(Answerer("cloud", cloud.name, label, cloud.url, (cloud.model,), cloud.variable, is_set))
    possible.append(Answerer("url", "url", "Another server or cloud, by its address"))
    if not configured and settings.skills.enabled:
        skills = "Only the built-in skills: time, timers, sums, conversions, small talk"
        possible.append(Answerer("skills", "skills", skills))
    return possible


def default_of(possible: Sequence[Answerer]) -> Answerer:
    """Returns the answer that is suggested: nothing new has to be downloaded, bought or typed for it."""
    for kind in ("keep", "server", "local", "skills"):
        if (first := next((answerer for answerer in possible if answerer.kind == kind), None)) is not None:
            return first
    return possible[0]


def _local(settings: Settings, local_endpoint: LocalEndpoint) -> Answerer:
    if settings.llm.local_model == "off":
        settings = replace(settings, llm=replace(settings.llm, local_model="auto"))
    endpoint, problem = local_endpoint(settings)
    if endpoint is not None:
        return Answerer("local", "local", f"The model on this machine ({endpoint.model})", models=(endpoint.model,))
    if problem:
        return Answerer("download", "download", f"A model on this machine: not now, because {problem}")
    model = MODELS[SUGGESTED]
    size = f"{size_text(model.size_mb or 0)} to download, {size_text(model.memory_mb or 0)} of memory"
    return Answerer("download", "download", f"A model on this machine: {model.name} ({size})", models=(model.name,))
