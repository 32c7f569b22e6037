"""Values that the parsers of all protocols share: limits of an answer, finish reasons, token counts."""

MAX_ANSWER_CHARS = 256 * 1024
"""Maximum length of an answer, about five hours of speech; anything longer is a fault."""

MAX_CALLS = 16
"""Maximum number of function calls in one answer."""

DONE_REASON = "done"
"""Finish reason for a service that ends with `[DONE]` and gives no finish_reason."""

END_MARK_REASON = "stop_sequence"
"""Finish reason of an answer whose text has the mark that ends the model's turn; the word is TGI's."""

MAX_TOKEN_COUNT = 1_000_000_000
"""Larger token counts are ignored as invalid."""


def count_of(value: object) -> int | None:
    """Returns a token count, or None for an invalid value."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_TOKEN_COUNT else None
