"""Bounds an answer by the tokens that were asked for, because a service may ignore the limit."""

from collections.abc import Mapping

from llm.chat import NO_LIMIT, ChatOptions
from llm.errors import SPOKEN_BROKEN_OFF, LlmBroken

LONG_TOKEN_CHARS = 40
"""Characters of a long token. Most have 3 or 4; a run of blanks or dashes may be one token."""

SPARE_CHARS = 4096
"""Characters that an answer may have beyond its tokens: services count differently."""

_NAMES = ("max_tokens", "max_completion_tokens", "max_new_tokens", "max_gen_len", "maxTokens")
"""Names of the limit in requests. A configured parameter overrides the setting."""


def asked_tokens(
    options: ChatOptions, setting: int | None, parameters: Mapping[str, object], *, always: bool = False
) -> int | None:
    """Returns the tokens to which a request limits its answer; None: to none that is known.

    Args:
        options: The request's own limit, if it has one.
        setting: That of the endpoint.
        parameters: Further fields of the request.
        always: Whether the service gets the endpoint's limit also if the request wants none.
    """
    if options.max_tokens:
        return options.max_tokens
    if options.max_tokens == NO_LIMIT and not always:
        return None
    tables = [parameters, *(value for value in parameters.values() if isinstance(value, Mapping))]
    given = [table[name] for table in tables for name in _NAMES if name in table]
    limit = given[0] if given else setting
    return limit if isinstance(limit, int) and not isinstance(limit, bool) and limit > 0 else None


class AnswerLength:
    """Counts the text of one answer."""

    def __init__(self, endpoint: str, max_tokens: int | None) -> None:
        """`max_tokens`: the tokens that were asked for; None: any number."""
        self._endpoint = endpoint
        self._most_chars = None if max_tokens is None else max_tokens * LONG_TOKEN_CHARS + SPARE_CHARS
        self._chars = 0

    def add_text(self, text: str) -> None:
        """Adds a piece of the answer. Raises LlmBroken if the answer is too long."""
        self._chars += len(text)
        if self._most_chars is not None and self._chars > self._most_chars:
            what = f"sent more than {self._most_chars} characters: check that it keeps to max_tokens"
            text = f"llm endpoint {self._endpoint!r} {what}"
            raise LlmBroken(self._endpoint, text, spoken=SPOKEN_BROKEN_OFF, retryable=True)
