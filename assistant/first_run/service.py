"""Asks a service for its models, and one short question."""

from collections.abc import Mapping
from dataclasses import dataclass

from assistant.config.endpoint_settings import EndpointSection
from assistant.config.keys import has_host
from assistant.config.settings import Settings
from assistant.endpoint_probe.probe import measure_endpoint
from llm.errors import LlmError, LlmUnreachable
from llm.listing import ask

ASK_TIMEOUT_S = 3.0
_MIN_KEY_CHARS = 4


async def models_of(name: str, url: str, key: str | None) -> tuple[str, ...]:
    """Returns the chat models that a service lists; none if it does not."""
    return (await listed_models(name, url, key)).models


@dataclass(frozen=True, slots=True)
class ListedModels:
    """The chat models of a service.

    Attributes:
        models: Their names; none if it does not list them.
        reachable: Whether a service answers at its address.
    """

    models: tuple[str, ...] = ()
    reachable: bool = True


async def listed_models(name: str, url: str, key: str | None) -> ListedModels:
    """Returns the chat models that a service lists."""
    try:
        listing = await ask(name, url, api_key=key, timeout_s=ASK_TIMEOUT_S)
    except LlmUnreachable:
        return ListedModels(reachable=False)
    except (LlmError, ValueError):
        return ListedModels()
    return ListedModels(() if listing.models is None else listing.models.chat)


async def problem_of(
    endpoint: EndpointSection, settings: Settings, environ: Mapping[str, str], key: str = ""
) -> tuple[str, float]:
    """Asks one short question. Returns why it was not answered, "" if it was, and the time to the first token in ms.

    `key`: a key that the text must not contain, although a service may quote it.
    """
    measured = await measure_endpoint(endpoint, settings, environ, requests=1)
    if measured.problem or not measured.answers:
        return without_key(measured.problem or measured.state, key), 0.0
    return "", measured.answers[0].first_token_ms


def without_key(text: str, key: str) -> str:
    """Returns the text without the key."""
    return text.replace(key, "…") if len(key) >= _MIN_KEY_CHARS else text


def is_address(url: str) -> bool:
    """Returns whether a text is the address of a web service."""
    return url.startswith(("http://", "https://")) and has_host(url)
