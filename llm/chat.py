"""The interface to a language model: messages in, tokens out."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class CallExtra:
    """Additional fields that a service attached to a function call, such as Gemini's signature.

    The service that sent them wants them back with the call; other services reject them.

    Attributes:
        endpoint: The endpoint that sent them.
        fields: A JSON object, as text.
    """

    endpoint: str
    fields: str


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A function call that the model requests. As an event, it is complete.

    Attributes:
        arguments: JSON text, as the model wrote it.
        extra: Fields to send back to the same endpoint with the call.
    """

    call_id: str
    name: str
    arguments: str
    extra: CallExtra | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation, as the model sees it.

    Attributes:
        calls: The function calls of an assistant message.
        call_id: For a tool message: the call whose output it is.
    """

    role: Role
    content: str
    calls: tuple[FunctionCall, ...] = ()
    call_id: str = ""


def texts_of(messages: Sequence[Message]) -> tuple[str, ...]:
    """Returns all texts of the messages. Errors must not quote them."""
    return tuple(
        text for message in messages for text in (message.content, *(call.arguments for call in message.calls))
    )


@dataclass(frozen=True, slots=True)
class Function:
    """A function that the model may call.

    Attributes:
        parameters: JSON Schema of its arguments, as JSON text.
        is_trusted: Whether the model may call other functions in the same reply once it knows the result.
    """

    name: str
    description: str
    parameters: str
    is_trusted: bool = True


NO_LIMIT = 0
"""Value of `ChatOptions.max_tokens` that requests no limit."""


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """Options of one request.

    Attributes:
        functions: Functions that the model may call.
        choice: "auto", "none", "required", or the name of the function that the model must call.
        max_tokens: Longest answer. None: the endpoint's own setting. NO_LIMIT: as long as the service allows; a service
            that requires a number (TGI, Triton) gets the endpoint's own setting.
        traceparent: W3C trace context of the turn, sent to the service; "" for none.
    """

    functions: tuple[Function, ...] = ()
    choice: str = "auto"
    max_tokens: int | None = None
    traceparent: str = ""

    @property
    def headers(self) -> dict[str, str]:
        """The HTTP headers of this request."""
        return {"traceparent": self.traceparent} if self.traceparent else {}


PLAIN = ChatOptions()
"""A request without options."""


@dataclass(frozen=True, slots=True)
class AnsweringEndpoint:
    """Names the endpoint that answers, if there are several. Emitted before the first token; the last one is valid."""

    by: str


@dataclass(frozen=True, slots=True)
class FallbackAnswers:
    """A fallback answers, because no other endpoint can. Emitted before its first token."""

    by: str


Outcome = Literal["answered", "overtaken", "failed", "given up"]
"""Outcome of a request to one endpoint.

"answered": its first token was the first one. "overtaken": another endpoint's was. "failed": an error. "given up": it
was silent for too long."""

Why = Literal["first", "failover", "hedge", "look"]
"""Reason for a request to one endpoint.

"first": the first request. "failover": another endpoint failed. "hedge": another endpoint was silent. "look": a probe,
to measure whether the endpoint has become better."""


@dataclass(frozen=True, slots=True)
class EndpointTried:
    """Reports the outcome of a request to one of several endpoints. Emitted before the first token or before the error.

    Attributes:
        asked_at_s: Event-loop time of the request.
        took_s: Time from the request to its first token, its error or its cancellation.
        extra_tokens: Estimate of the tokens requested without use; 0 for the endpoint that answers.
        extra_cost: Cost of these tokens, in the currency of the endpoint's prices.
    """

    endpoint: str
    why: Why
    outcome: Outcome
    asked_at_s: float
    took_s: float
    extra_tokens: int = 0
    extra_cost: float = 0.0


@dataclass(frozen=True, slots=True)
class SlotAcquired:
    """The request got a connection slot; until then it waited for one.

    Attributes:
        at_s: Event-loop time, if the event is delivered later; None: now.
    """

    at_s: float | None = None


@dataclass(frozen=True, slots=True)
class RequestSent:
    """The request has been sent.

    Attributes:
        round_trip_s: Network round trip, measured on this connection or an earlier one; None if unknown.
        at_s: Event-loop time, if the event is delivered later; None: now.
    """

    round_trip_s: float | None
    at_s: float | None = None


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the answer's text. Never empty; never ends inside a character."""

    text: str


@dataclass(frozen=True, slots=True)
class CallInProgress:
    """A piece of a function call has arrived. It carries no content and only shows that the model is active."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The answer is complete.

    Attributes:
        reason: The service's own finish reason: "stop", "length", ...
        prompt_tokens: Counted by the service, cached tokens included; None if it does not report them.
        completion_tokens: Counted by the service; None if it does not report them.
        cached_tokens: Prompt tokens that the service read from its cache; None if it does not report them.
    """

    reason: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = field(default=None, kw_only=True)


@dataclass(frozen=True, slots=True)
class PartAnswered:
    """One of several requests that make up one answer has ended, such as the summary of a part of a document.

    Attributes:
        number: Number of the part, from 1.
        by: The endpoint that answered, or that was asked last.
        asked_at_s: Event-loop time of its first request.
        first_token_s: Event-loop time of its first token; None if there was none.
        ended_s: Event-loop time of its end.
        requests: How often it was asked.
        chars: Length of the answer.
        failed: Whether it failed in the end.
    """

    number: int
    by: str
    asked_at_s: float
    first_token_s: float | None
    ended_s: float
    requests: int
    chars: int
    failed: bool


ChatEvent = (
    AnsweringEndpoint
    | FallbackAnswers
    | EndpointTried
    | SlotAcquired
    | RequestSent
    | Token
    | CallInProgress
    | FunctionCall
    | PartAnswered
    | Finished
)


class ChatModel(Protocol):
    """A language model, or an object that answers like one.

    Attributes:
        name: The endpoint's name in the configuration.
        detail: One line for the screen: kind and model.
    """

    name: str

    @property
    def detail(self) -> str: ...

    async def load(self) -> None:
        """Prepares the model (opens connections, builds tables). Does not fail if the network is down."""
        ...

    def stream(self, messages: Sequence[Message], options: ChatOptions = PLAIN) -> AsyncGenerator[ChatEvent]:
        """Answers the last message.

        Yields AnsweringEndpoint?, SlotAcquired?, RequestSent?, Token*, FunctionCall*, Finished in this order;
        CallInProgress at any place before the calls. With several endpoints, the first three repeat when another
        endpoint takes over, and EndpointTried and FallbackAnswers appear among them.

        Closing the generator cancels the request at once. Raises LlmError; events yielded before stay valid.
        """
        ...

    async def aclose(self) -> None:
        """Closes the connections. Idempotent; bounded in time."""
        ...
