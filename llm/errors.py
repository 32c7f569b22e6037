"""What can go wrong with a language model.

LlmError                 what a person can be told, and whether trying elsewhere makes sense
├── LlmUnreachable       nobody answers: refused, DNS, TLS, timeout before the first byte
├── LlmRefused           an HTTP status or in-stream error says no (401, 404, 429, 5xx, validation)
│   └── LlmFiltered      a content filter says no, before the answer or in the midst of it
├── LlmTooSlow           no content token, or no further one, before the deadline
└── LlmBroken            what came is not an answer: HTML, no end mark, a torn stream
"""

SPOKEN_TORN = "My language model broke off in the middle of its answer."
SPOKEN_EMPTY = "My language model gave no answer."


class LlmError(Exception):
    """Root of this package's errors.

    Attributes:
        endpoint: Name of the endpoint in the configuration.
        spoken: One clear sentence for the ear; no address, no jargon.
        retryable: Whether another endpoint, or this one later, may do better.
    """

    def __init__(self, endpoint: str, message: str, *, spoken: str, retryable: bool) -> None:
        """`message` is for the log and the screen: what, where, and what to do next; never what was said."""
        super().__init__(message)
        self.endpoint = endpoint
        self.spoken = spoken
        self.retryable = retryable


class LlmUnreachable(LlmError):
    """Nobody answers."""


class LlmRefused(LlmError):
    """The endpoint says no.

    Attributes:
        field: Of the request, where that is all it does not take; else "".
    """

    def __init__(self, endpoint: str, message: str, *, spoken: str, retryable: bool, field: str = "") -> None:
        """As the class above."""
        super().__init__(endpoint, message, spoken=spoken, retryable=retryable)
        self.field = field


class LlmFiltered(LlmRefused):
    """A content filter says no. What came of the answer before stays valid."""


class LlmTooSlow(LlmError):
    """No content token came before the deadline."""


class LlmBroken(LlmError):
    """What came is not an answer."""


def causes_of(error: BaseException) -> list[BaseException]:
    """The chain behind an error: httpx and httpcore each wrap once, and anyio groups what several addresses said."""
    found: list[BaseException] = []
    pending: list[BaseException | None] = [error]
    while pending and len(found) < 20:
        cause = pending.pop()
        if cause is not None and cause not in found:
            found.append(cause)
            pending += [cause.__cause__, cause.__context__]
            if isinstance(cause, BaseExceptionGroup):
                pending += cause.exceptions
    return found
