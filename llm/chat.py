"""The port to a language model: messages in, tokens out."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class CallExtra:
    """What else a service said of a call, as Gemini signs it: it wants that back with the call, and others refuse it.

    Attributes:
        endpoint: Whose it is.
        fields: A JSON object.
    """

    endpoint: str
    fields: str


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """The model wants a function called; as an event, it comes whole.

    Attributes:
        arguments: JSON, as the model wrote it.
        extra: To be sent back to the same endpoint with the call.
    """

    call_id: str
    name: str
    arguments: str
    extra: CallExtra | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation, as the model sees it.

    Attributes:
        calls: Of an assistant's message: what it called.
        call_id: Of a tool's message: the call that it answers.
    """

    role: Role
    content: str
    calls: tuple[FunctionCall, ...] = ()
    call_id: str = ""


def texts_of(messages: Sequence[Message]) -> tuple[str, ...]:
    """All that was said or written: what a prompt is made of, and what no error may quote."""
    return tuple(
        text for message in messages for text in (message.content, *(call.arguments for call in message.calls))
    )


@dataclass(frozen=True, slots=True)
class Function:
    """A function that the model may call.

    Attributes:
        parameters: JSON Schema of its arguments, as JSON text.
    """

    name: str
    description: str
    parameters: str


NO_LIMIT = 0
"""In place of a number of tokens: no limit is asked for."""


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """What one request asks for besides an answer.

    Attributes:
        functions: Those the model may call.
        choice: "auto", "none", "required", or the name of the function that it must call.
        max_tokens: Longest answer; None: the endpoint's own setting; NO_LIMIT: as long as the service allows. One that
            has to be told a number (TGI, Triton) is told the endpoint's own setting.
        traceparent: W3C trace context of the turn, told to the service; "": none.
    """

    functions: tuple[Function, ...] = ()
    choice: str = "auto"
    max_tokens: int | None = None
    traceparent: str = ""

    @property
    def headers(self) -> dict[str, str]:
        """Of this request alone."""
        return {"traceparent": self.traceparent} if self.traceparent else {}


PLAIN = ChatOptions()
"""Nothing but an answer."""


@dataclass(frozen=True, slots=True)
class AnsweringEndpoint:
    """Who answers, where the model at hand is several: said before the first token; the last one said is true."""

    by: str


Outcome = Literal["answered", "overtaken", "failed", "given up"]
"""Of asking one endpoint: its first token came first, or another's did; an error; or it was silent for too long."""

Why = Literal["first", "failover", "hedge", "look"]
"""Why it was asked: first; another had failed; another was silent; to see whether it has become better."""


@dataclass(frozen=True, slots=True)
class EndpointTried:
    """One of several endpoints was asked, and this came of it. Said before the first token, or before the error.

    Attributes:
        asked_at_s: Loop time.
        took_s: From the asking to the first token, the error, or its being closed.
        extra_tokens: What was asked for in vain, as far as it can be known here; of the one that answers 0.
        extra_cost: Of these, in the currency of the endpoint's prices.
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
    """A connection slot was got: what came before was waiting for one.

    Attributes:
        at_s: Loop time, where it is told later; None: now.
    """

    at_s: float | None = None


@dataclass(frozen=True, slots=True)
class RequestSent:
    """The request is on its way.

    Attributes:
        round_trip_s: The network's share of the wait for the first token, where it is known (measured on the
            connection's own handshake or an earlier one), else None.
        at_s: Loop time, where it is told later; None: now.
    """

    round_trip_s: float | None
    at_s: float | None = None


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the answer's text; never empty, never half a character."""

    text: str


@dataclass(frozen=True, slots=True)
class CallInProgress:
    """A piece of a function call came, of which nothing can be passed on yet: a sign of life."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The stream ended as it should.

    Attributes:
        reason: The service's own word for it: "stop", "length", ...
        prompt_tokens: As the service counts, else None; those that it had cached are among them.
        completion_tokens: As the service counts, else None.
        cached_tokens: How much of the prompt it had cached and did not read again; None where it does not say.
    """

    reason: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = field(default=None, kw_only=True)


ChatEvent = (
    AnsweringEndpoint | EndpointTried | SlotAcquired | RequestSent | Token | CallInProgress | FunctionCall | Finished
)


class ChatModel(Protocol):
    """A language model, or something that answers like one.

    Attributes:
        name: Of the endpoint, as in the configuration.
        detail: One line for the screen: kind, model.
    """

    name: str

    @property
    def detail(self) -> str: ...

    async def load(self) -> None:
        """Get ready (open connections, build tables); never fails because a network is down."""
        ...

    def stream(self, messages: Sequence[Message], options: ChatOptions = PLAIN) -> AsyncGenerator[ChatEvent]:
        """Answer the last message. Events in order: Answering?, Queued?, Sent?, Token*, FunctionCall*, Finished;
        Calling anywhere before the calls.

        Several endpoints behind one model: the first three come again where another takes over, and Tried among them.
        Closing the generator cancels the request at once. Raises LlmError; whatever was yielded before stays
        valid.
        """
        ...

    async def aclose(self) -> None:
        """Close connections. Idempotent; bounded in time."""
        ...
