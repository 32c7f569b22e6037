"""Input of the client of an LLM endpoint: the keys of its table, and the settings of all endpoints."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypedDict

if TYPE_CHECKING:
    from llm.chat import Message
    from llm.templates.chat_template import ChatTemplate


class EndpointKeys(Protocol):
    """The checked keys of an endpoint's table. A key that its protocol does not accept has its default.

    Attributes:
        name: Name of the endpoint, for messages.
        url: Base address; "" if none is set.
        model: The service's name of the model.
        region: Region; "" if none is set.
        template: Chat template of the model; "": requests contain messages instead of a prompt.
        bos: Whether the prompt begins with the BOS token.
        ca_file: PEM file of the trusted certificates; "": the default ones.
        images: Whether the model takes images.
        own: The protocol's own keys: a value of `LlmProtocol.settings`.
    """

    @property
    def name(self) -> str: ...
    @property
    def url(self) -> str: ...
    @property
    def model(self) -> str: ...
    @property
    def region(self) -> str: ...
    @property
    def template(self) -> str: ...
    @property
    def bos(self) -> bool: ...
    @property
    def ca_file(self) -> str: ...
    @property
    def images(self) -> bool: ...
    @property
    def own(self) -> object: ...


class ClientOptions(TypedDict):
    """Arguments of every client of the program: limits of all endpoints, and the endpoint's own fields and headers."""

    first_token_timeout_s: float
    token_gap_timeout_s: float
    connect_timeout_s: float
    max_tokens: int
    temperature: float
    parameters: Mapping[str, object]
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ClientRequest:
    """Input of `LlmProtocol.make`.

    Attributes:
        endpoint: Its table.
        options: Limits, and additional fields and headers of requests.
        api_key: The endpoint's API key; None if it has none.
        model: File of the model, for a protocol with models; else None.
        threads: Number of threads that a model on this machine may use, unless its settings say another.
        instructions: System message of the conversations; "" if it is not known yet.
        history_tokens: Longest history.
        is_alone: Whether no other endpoint is configured.
        now: Returns the local time, for templates that state the date.
    """

    endpoint: EndpointKeys
    options: ClientOptions
    api_key: str | None
    model: Path | None
    threads: int
    instructions: str
    history_tokens: int
    is_alone: bool
    now: Callable[[], datetime]

    def template(self) -> "ChatTemplate":
        """Returns the endpoint's chat template. Raises ValueError if it cannot be used."""
        from llm.templates.chat_template import load_template  # noqa: PLC0415 - on use: Jinja takes 30 ms

        named = self.endpoint.template
        path = str(Path(named).expanduser()) if "~" in named else named
        return load_template(self.endpoint.name, path, now=self.now())

    def prompt(self, template: "ChatTemplate") -> "Callable[[Sequence[Message]], str]":
        """Returns what renders messages as the prompt of a model with this template."""
        return lambda messages: template.prompt(messages, now=self.now(), bos=self.endpoint.bos)
