"""Values that the parsers of all protocols share: limits of an answer, finish reasons, token counts, probabilities."""

import math

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


def probability_of(log_probability: object) -> float | None:
    """Returns the probability for its natural logarithm as a service reports it; None if it is invalid."""
    if isinstance(log_probability, bool) or not isinstance(log_probability, int | float):
        return None
    return math.exp(min(0.0, log_probability)) if not math.isnan(log_probability) else None


def mean_probability(logprobs: object) -> float | None:
    """Returns the mean probability in the `logprobs` of a chat-completion choice; None if it has none."""
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    entries = (
        [entry.get("logprob") for entry in content if isinstance(entry, dict)] if isinstance(content, list) else []
    )
    known = [entry for entry in map(probability_of, entries) if entry is not None]
    return sum(known) / len(known) if known else None


def count_of(value: object) -> int | None:
    """Returns a token count, or None for an invalid value."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_TOKEN_COUNT else None
