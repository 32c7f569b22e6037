"""Makes the client of one [[llm.endpoints]] entry, as the protocol of its kind declares."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from assistant.config.endpoint_settings import EndpointSection
from assistant.config.llm_settings import LlmSection
from assistant.models.needs import Need, at_hand, lacking_model
from assistant.registry.packages import lacking_package
from assistant.registry.protocols import PROTOCOLS
from assistant.support.cpu import cores, half_of_cores
from llm.chat import CONNECT_TIMEOUT_S, TOKEN_GAP_TIMEOUT_S, ChatModel
from llm.protocols.request import ClientOptions, ClientRequest


def model_of(
    endpoint: EndpointSection, settings: LlmSection, environ: Mapping[str, str], *, instructions: str = ""
) -> ChatModel:
    """Returns the client of an endpoint, not loaded yet.

    `instructions`: system message of the conversations, which a local model computes in advance.

    Raises ValueError, in one line with the endpoint and the remedy, if a key or an extra is missing, a setting is
    invalid, or the protocol's package fails.
    """
    key = environ.get(endpoint.api_key_env) if endpoint.api_key_env else None
    if endpoint.api_key_env and not key:
        raise ValueError(
            f"endpoint {endpoint.name}: the environment variable {endpoint.api_key_env} is not set; "
            "set it to the key, or remove api_key_env if no key is needed."
        )
    protocol = endpoint.protocol
    model, recommended = _model_file(endpoint)
    options = ClientOptions(
        first_token_timeout_s=max(settings.first_token_timeout_s, protocol.least_timeout_s),
        token_gap_timeout_s=max(TOKEN_GAP_TIMEOUT_S, protocol.least_timeout_s),
        connect_timeout_s=CONNECT_TIMEOUT_S,
        max_tokens=settings.max_tokens,
        temperature=settings.temperature,
        parameters={**recommended, **endpoint.parameters.values},
        headers=headers_of(endpoint, environ),
    )
    if lacking := lacking_package(protocol):
        raise ValueError(f"llm endpoint {endpoint.name!r}: {lacking}")
    request = ClientRequest(
        endpoint,
        options,
        api_key=key or None,
        model=model,
        threads=half_of_cores(cores()),
        instructions=instructions,
        history_tokens=settings.max_history_tokens,
        is_alone=len(settings.endpoints) <= 1,
        now=_local_now,
    )
    try:
        return protocol.make(request)
    except Exception as error:
        names_endpoint = isinstance(error, ValueError) and f"endpoint {endpoint.name!r}" in str(error)
        is_own_fault = PROTOCOLS.is_of_program(protocol.name) and not isinstance(error, ImportError)
        if names_endpoint or is_own_fault:
            raise
        cause = " ".join(f"{type(error).__name__}: {error}".split())
        raise ValueError(
            f"llm endpoint {endpoint.name!r}: its protocol {protocol.name} cannot be used ({cause}); "
            "install its package again, or set another kind."
        ) from error


def model_need(endpoint: EndpointSection) -> Need | None:
    """Returns the model that an endpoint needs on this machine; None if its service has it."""
    kind = endpoint.protocol.models
    return None if kind is None else Need(endpoint.model, kind.name, kind.purpose, "model")


def clients_of(model: ChatModel | None) -> Sequence[ChatModel]:
    """Returns the clients behind the language model of a conversation: one for each endpoint."""
    if model is None:
        return ()
    from llm.routing.router import Router  # noqa: PLC0415

    return model.models if isinstance(model, Router) else (model,)


def headers_of(endpoint: EndpointSection, environ: Mapping[str, str]) -> dict[str, str]:
    """Returns the endpoint's own headers as they are sent. Raises ValueError for a variable that is not set."""
    try:
        return endpoint.headers.expanded(environ)
    except KeyError as error:
        raise ValueError(
            f"endpoint {endpoint.name}: the environment variable {error.args[0]} is not set; "
            "set it, or remove it from headers."
        ) from None


def address_of(endpoint: EndpointSection) -> str:
    """Returns the endpoint's address with a scheme; "" for a model on this machine.

    Raises ValueError if its protocol cannot tell the address where none is set.
    """
    protocol = endpoint.protocol
    if not endpoint.url and (lacking := lacking_package(protocol)):
        raise ValueError(f"llm endpoint {endpoint.name!r}: {lacking}")
    return endpoint.url or protocol.default_address(endpoint)


def _model_file(endpoint: EndpointSection) -> tuple[Path | None, Mapping[str, object]]:
    """Returns the file of the endpoint's model, and the parameters that its authors recommend. Raises ValueError."""
    need = model_need(endpoint)
    if need is None:
        return None, {}
    file = at_hand(need)
    if file is None:
        raise ValueError(f"llm endpoint {endpoint.name!r}: {lacking_model(need)}")
    return file, {} if need.model is None else need.model.parameters


def _local_now() -> datetime:
    return datetime.now().astimezone()
