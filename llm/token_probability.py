"""Reads the probabilities of tokens that services report. No I/O."""

import math


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
    known = [one for one in map(probability_of, entries) if one is not None]
    return sum(known) / len(known) if known else None
