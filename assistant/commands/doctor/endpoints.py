"""Checks a configured language model: connection, list of models, and one short question."""

import asyncio
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass

from assistant.config.endpoint_settings import EndpointSection
from assistant.config.settings import Settings
from assistant.endpoint_probe.handshake import measure_handshake
from assistant.setup.answering.llm_clients import address_of, headers_of
from assistant.setup.engine_catalog import chat, key_of
from llm.chat import Message, Token
from llm.errors import LlmBroken, LlmError, LlmRefused, LlmTooSlow
from llm.protocols.protocol import ListModels, ListRequest

LIST_TIMEOUT_S = 4.0
ANSWER_TIMEOUT_S = 7.0
"""Seconds to the first token. A server that must load its model first takes longer, which is worth reporting."""

MAX_TOKENS = 8
HELLO = (Message("user", "Say hello."),)


@dataclass(slots=True)
class EndpointProbe:
    """Results of each step.

    Attributes:
        lookup_ms: Name lookup.
        connect_ms: TCP handshake.
        tls_ms: TLS handshake; None without TLS.
        proxy: Whether a proxy is used; the three times are then not measured.
        list_ms: From the request for the model list to the first byte of the answer, including the connection.
        models: The listed models; None if the list cannot be read or this kind of service has none.
        list_failure: Why there is no list, if the check can continue.
        token_ms: From the question, on a warm connection, to the first token; 0 if there was none.
        failure: Why it cannot be used: the problem, a colon, the remedy.
    """

    lookup_ms: float | None = None
    connect_ms: float | None = None
    tls_ms: float | None = None
    proxy: bool = False
    list_ms: float | None = None
    models: tuple[str, ...] | None = None
    list_failure: str = ""
    token_ms: float | None = None
    failure: str = ""


async def probe(settings: Settings, endpoint: EndpointSection, environ: Mapping[str, str]) -> EndpointProbe:
    """Checks one endpoint. Never raises; takes about 15 s at most."""
    probe = EndpointProbe()
    if endpoint.api_key_env and key_of(endpoint, environ) is None:
        probe.failure = (
            f"the environment variable {endpoint.api_key_env} is not set: "
            "set it to the key, or remove api_key_env if no key is needed"
        )
        return probe
    try:
        if (list_models := endpoint.protocol.list_models) is not None:
            await _list(probe, endpoint, environ, list_models)
        if not endpoint.is_on_this_machine:
            await _connect(probe, endpoint)
        await _ask(probe, settings, endpoint, environ)
    except (LlmError, ValueError) as error:
        probe.failure = str(error)
    return probe


async def _list(
    probe: EndpointProbe, endpoint: EndpointSection, environ: Mapping[str, str], list_models: ListModels
) -> None:
    """Raises LlmError or ValueError if the check cannot continue."""
    try:
        key, headers = key_of(endpoint, environ), headers_of(endpoint, environ)
        listing = await list_models(ListRequest(endpoint.name, endpoint.url, key, LIST_TIMEOUT_S, headers))
    except (LlmRefused, LlmBroken, LlmTooSlow) as error:
        probe.list_failure = str(error)  # only the list may fail; the question decides
        return
    probe.list_ms = listing.round_trip_ms
    if listing.needs_key:
        probe.list_failure = f"it lists its models only with a valid key: {_key_remedy(endpoint)}"
    elif listing.models is not None:
        probe.models = (*listing.models.chat, *listing.models.others)


def _key_remedy(endpoint: EndpointSection) -> str:
    if endpoint.api_key_env:
        return f"set {endpoint.api_key_env} to a valid key"
    return "set api_key_env to the name of the environment variable that holds the key"


async def _connect(probe: EndpointProbe, endpoint: EndpointSection) -> None:
    """Raises ValueError if the address is not known."""
    if not (address := address_of(endpoint)):
        return
    made = await measure_handshake(address, endpoint.protocol.scheme_of(address), endpoint.ca_file)
    probe.lookup_ms, probe.connect_ms, probe.tls_ms, probe.proxy = (
        made.lookup_ms,
        made.connect_ms,
        made.tls_ms,
        made.proxy,
    )


async def _ask(probe: EndpointProbe, settings: Settings, endpoint: EndpointSection, environ: Mapping[str, str]) -> None:
    """Raises LlmError, ValueError."""
    loop = asyncio.get_running_loop()
    model = chat(settings, endpoint, environ, max_tokens=MAX_TOKENS, timeout_s=ANSWER_TIMEOUT_S)
    try:
        await model.load()  # as before a conversation: connections are open when the question is sent
        # as in a conversation, a model on this machine has the prompt's beginning in its cache
        for _ in range(2 if endpoint.is_on_this_machine else 1):
            began_s, probe.token_ms = loop.time(), 0.0
            async with aclosing(model.stream(HELLO)) as events:
                async for event in events:
                    if isinstance(event, Token):
                        probe.token_ms = (loop.time() - began_s) * 1000
                        break
    finally:
        await model.aclose()
