"""Errors of language models.

LlmError                 text for the user, and whether another endpoint may succeed
├── LlmUnreachable       no answer: connection refused, DNS, TLS, timeout before the first byte
├── LlmRefused           an HTTP status or in-stream error (401, 404, 429, 5xx, validation)
│   ├── LlmFiltered      a content filter refused, before or during the answer
│   └── LlmContextOverflow   the prompt is longer than the model's context
├── LlmTooSlow           no content token, or no further one, before the deadline
└── LlmBroken            an invalid answer: HTML, no end mark, a broken stream
"""

SPOKEN_BROKEN_OFF = "My language model broke off in the middle of its answer."
SPOKEN_EMPTY = "My language model gave no answer."


class LlmError(Exception):
    """Base class of this package's errors.

    Attributes:
        endpoint: The endpoint's name in the configuration.
        spoken: One sentence to speak to the user, without addresses or jargon.
        retryable: Whether another endpoint, or this one later, may succeed.
        retry_after_s: How long the service asks not to be asked again; None: it does not say.
    """

    retry_after_s: float | None = None

    def __init__(self, endpoint: str, message: str, *, spoken: str, retryable: bool) -> None:
        """Initializes the error.

        Args:
            endpoint: The endpoint's name in the configuration.
            message: Text for the log and the screen: what, where and the remedy. It never quotes the conversation.
            spoken: See the class.
            retryable: See the class.
        """
        super().__init__(message)
        self.endpoint = endpoint
        self.spoken = spoken
        self.retryable = retryable


class LlmUnreachable(LlmError):
    """The service does not answer."""


class LlmRefused(LlmError):
    """The service refuses the request.

    Attributes:
        field: The request field that the service does not accept, if that is the only problem; else "".
    """

    def __init__(self, endpoint: str, message: str, *, spoken: str, retryable: bool, field: str = "") -> None:
        """Initializes the error; arguments as for the base class."""
        super().__init__(endpoint, message, spoken=spoken, retryable=retryable)
        self.field = field


class LlmContextOverflow(LlmRefused):
    """The prompt is longer than the model's context.

    Attributes:
        limit_tokens: The longest prompt; None if the service does not tell it.
        prompt_tokens: The length of the refused prompt; None if the service does not tell it.
    """

    limit_tokens: int | None = None
    prompt_tokens: int | None = None


class LlmFiltered(LlmRefused):
    """A content filter refuses the request or stops the answer. Text that arrived before stays valid."""


class LlmTooSlow(LlmError):
    """No content token arrived before the deadline."""


class LlmBroken(LlmError):
    """The service sent an invalid answer."""


def causes_of(error: BaseException) -> list[BaseException]:
    """Returns the causes of an error, itself included.

    httpx and httpcore each wrap an error once; anyio groups the errors of several addresses.
    """
    exceptions: list[BaseException] = []
    pending: list[BaseException | None] = [error]
    while pending and len(exceptions) < 20:
        cause = pending.pop()
        if cause is not None and cause not in exceptions:
            exceptions.append(cause)
            pending += [cause.__cause__, cause.__context__]
            if isinstance(cause, BaseExceptionGroup):
                pending += cause.exceptions
    return exceptions
