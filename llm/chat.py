"""The interface to a language model: messages in, tokens out."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

CONNECT_TIMEOUT_S = 3.0
"""Longest wait for a connection, in seconds, for TCP and for TLS each: one lost packet is sent again after 1 s."""

TOKEN_GAP_TIMEOUT_S = 5.0
"""Longest wait for a further token, in seconds: 250 times the pace of a service that writes 50 a second."""

Role = Literal["system", "user", "assistant", "tool"]

Size = Literal["small", "large"]
"""Size of a model: a small one answers sooner and costs less, a large one solves harder requests."""


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


ImageDetail = Literal["auto", "low", "high"]

PIXELS_PER_TOKEN = 750
"""Anthropic's rule; OpenAI's models count about as many."""

MIN_IMAGE_TOKENS, MAX_IMAGE_TOKENS = 85, 1000
"""Services scale larger images down. A higher limit would leave no room in the default history for what follows."""


@dataclass(frozen=True, slots=True)
class Image:
    """An image in a user message.

    Attributes:
        media_type: "image/png" or "image/jpeg".
        data: The file in base64; "" if it is not kept any more.
        width: In pixels.
        height: In pixels.
        detail: How closely the model is to look at it, for services that know this.
    """

    media_type: str
    data: str = field(repr=False)
    width: int
    height: int
    detail: ImageDetail = "auto"

    @property
    def tokens(self) -> int:
        """An estimate of its token count."""
        if self.detail == "low":
            return MIN_IMAGE_TOKENS
        return min(MAX_IMAGE_TOKENS, max(MIN_IMAGE_TOKENS, self.width * self.height // PIXELS_PER_TOKEN))


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation, as the model sees it.

    Attributes:
        calls: The function calls of an assistant message.
        call_id: For a tool message: the call whose output it is.
        images: The images of a user message, which belong before its text.
        speaker: Who said a user message, where several people speak; else "".
        language: Code of a user message's language, where the conversation follows it; services do not get it.
        item: Id of a user message's item in the history; "" for none. Services do not get it.
    """

    role: Role
    content: str
    calls: tuple[FunctionCall, ...] = ()
    call_id: str = ""
    images: tuple[Image, ...] = ()
    speaker: str = ""
    language: str = ""
    item: str = field(default="", compare=False, repr=False)

    @property
    def named_content(self) -> str:
        """The text as a service gets it: with the speaker, if there is one. Skills read `content`."""
        return f"[{self.speaker}] {self.content}" if self.speaker and self.content else self.content


def spoken_language(messages: Sequence[Message], own: str) -> str:
    """Returns the language of the last words of the user; `own` if none is known."""
    return next((message.language for message in reversed(messages) if message.language), own)


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
        is_trusted: Whether its results may lead to calls of other functions. Those of others are data.
        mode: Whether the reply waits for the result; "": as the settings say.
        source: The server that it is of; "": the program or the client itself.
    """

    name: str
    description: str
    parameters: str
    is_trusted: bool = True
    mode: Literal["", "wait", "background"] = ""
    source: str = ""


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
        size: Size of the model to ask, if endpoints have sizes; None: it is chosen by the words.
        probabilities: Whether the service is to report the probability of each token, if it can.
    """

    functions: tuple[Function, ...] = ()
    choice: str = "auto"
    max_tokens: int | None = None
    traceparent: str = ""
    size: Size | None = None
    probabilities: bool = False

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


CacheOutcome = Literal["exact", "similar", "vetoed", "miss", "excluded", "late", "failed", "paused"]
"""Outcome of a lookup in the answer cache. "paused": the cache failed shortly before."""


@dataclass(frozen=True, slots=True)
class CacheLookup:
    """The request was looked up in the answer cache. Emitted before the answer.

    Attributes:
        outcome: "exact" or "similar": a stored answer follows. All others: the language model is asked. "vetoed": a
            similar request has another meaning. "excluded": it may not be looked up. "late": the lookup took too long.
            "failed": see `detail`.
        detail: Similarity, reason or problem, without words of the conversation.
    """

    outcome: CacheOutcome
    detail: str = ""


@dataclass(frozen=True, slots=True)
class FallbackAnswers:
    """A fallback answers, because no other endpoint can. Emitted before its first token."""

    by: str


@dataclass(frozen=True, slots=True)
class SizeChosen:
    """Tells which size of model a request is for. Emitted before the first request, if endpoints have sizes.

    Attributes:
        why: Points and reasons, without words of the conversation.
    """

    size: Size
    why: str


@dataclass(frozen=True, slots=True)
class OtherSizeAnswers:
    """An endpoint of the other size answers, because none of this size can. Emitted before its first token."""

    by: str
    requested_size: Size


@dataclass(frozen=True, slots=True)
class Escalated:
    """The large model is asked after the small one. Emitted before the request, and again if it was in vain.

    Attributes:
        why: What the small model does: "declines", "is unsure (...)", "says the first sentence".
        failed: Whether no large endpoint answered, so that the small model's words are used.
    """

    why: str
    failed: bool = False


Outcome = Literal["answered", "overtaken", "failed", "given up", "escalated"]
"""Outcome of a request to one endpoint.

"answered": its first token was the first one. "overtaken": another endpoint's was. "failed": an error. "given up": it
was silent for too long. "escalated": its words were not used, because the large model was asked."""

Why = Literal["first", "failover", "hedge", "look", "escalation"]
"""Reason for a request to one endpoint.

"first": the first request. "failover": another endpoint failed. "hedge": another endpoint was silent. "look": a probe,
to measure whether the endpoint has become better. "escalation": a small model declined, was unsure, or has said the
first sentence."""


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
    """A piece of the answer's text. Never empty; never ends inside a character.

    Attributes:
        probability: Mean probability that the model gave to the tokens in it; None if it is not known.
    """

    text: str
    probability: float | None = field(default=None, kw_only=True, compare=False)


@dataclass(frozen=True, slots=True)
class CallInProgress:
    """A piece of a function call has arrived. It carries no content and only shows that the model is active."""


REPETITION = "repetition"
"""Finish reason of an answer that was stopped because it repeated itself."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The answer is complete.

    Attributes:
        reason: The service's own finish reason: "stop", "length", ...; REPETITION.
        prompt_tokens: Counted by the service, cached tokens included; None if it does not report them.
        completion_tokens: Counted by the service; None if it does not report them.
        cached_tokens: Prompt tokens that the service read from its cache; None if it does not report them.
        hint: A line for the screen that is not part of the answer; "" for none.
        unread_calls: Number of function calls beside the answer that could not be read.
    """

    reason: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = field(default=None, kw_only=True)
    hint: str = field(default="", kw_only=True, compare=False)
    unread_calls: int = field(default=0, kw_only=True, compare=False)


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
    | CacheLookup
    | FallbackAnswers
    | SizeChosen
    | OtherSizeAnswers
    | Escalated
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
        endpoint takes over, and EndpointTried and FallbackAnswers appear among them. If endpoints have sizes,
        SizeChosen comes first, and OtherSizeAnswers and Escalated may follow.

        Closing the generator cancels the request at once. Raises LlmError; events yielded before stay valid.
        """
        ...

    async def aclose(self) -> None:
        """Closes the connections. Idempotent; bounded in time."""
        ...


@runtime_checkable
class PrefillingChat(ChatModel, Protocol):
    """A language model that computes the beginning of a question before it is asked."""

    async def prefill(self, messages: Sequence[Message]) -> None:
        """Computes the beginning of the next question in advance. The question itself stops it. Never fails."""
        ...
