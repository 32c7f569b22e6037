"""The installed protocols of LLM endpoints."""

from functools import cache
from typing import TYPE_CHECKING

from assistant.registry.entry_points import Registry
from llm.protocols.protocol import CHOSEN_KEYS, LlmProtocol

if TYPE_CHECKING:
    from llm.chat import ChatModel
    from llm.protocols.request import ClientRequest

PROTOCOLS = Registry("repartee.llm", LlmProtocol)


def kind_choices() -> tuple[str, ...]:
    """Returns the values that `kind` of an endpoint may have."""
    return PROTOCOLS.names


def default_kind() -> str:
    """Returns the kind of an endpoint that names none."""
    return next(protocol.name for protocol in PROTOCOLS.all() if protocol.is_default)


def protocol_of(kind: str) -> LlmProtocol:
    """Returns the protocol of a kind. If its package cannot be loaded, one that says so when a client is made."""
    return PROTOCOLS.get(kind) or _unusable(kind)


def protocol_on_this_machine() -> LlmProtocol:
    """Returns the program's own protocol for models on this machine."""
    return next(protocol for protocol in PROTOCOLS.all() if protocol.is_on_this_machine)


@cache
def _unusable(kind: str) -> LlmProtocol:
    def fail(request: "ClientRequest") -> "ChatModel":
        raise ValueError(f"llm endpoint {request.endpoint.name!r}: {PROTOCOLS.problem_of(kind)}.")

    return LlmProtocol(name=kind, make=fail, about="", chosen_keys=CHOSEN_KEYS)
