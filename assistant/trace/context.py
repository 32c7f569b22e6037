"""W3C trace context: the ids of a turn, for other systems. No I/O.

The ids are hashes of the conversation's id and the turn's number. The record, its spans and the request header
therefore agree without shared state. They reveal nothing of what was said.
"""

from hashlib import blake2b

SAMPLED = "01"
"""Trace flag: our spans are exported, so that the receiver may add its own to the trace."""


def trace_id_of(conversation: str, turn: int) -> str:
    """Returns the trace id of a turn: 32 hex digits."""
    return _digest(f"{conversation}\0{turn}", size_bytes=16)


def span_id_of(trace_id: str, name: str) -> str:
    """Returns the id of the span called `name` within a trace: 16 hex digits."""
    return _digest(f"{trace_id}\0{name}", size_bytes=8)


def answer_span_id(trace_id: str, attempt: int) -> str:
    """Returns the id of the span of an attempt's answer, which is the parent of an endpoint's own spans."""
    return span_id_of(trace_id, f"answer {attempt}")


def traceparent(trace_id: str, attempt: int) -> str:
    """Returns the `traceparent` header of an attempt's requests."""
    return f"00-{trace_id}-{answer_span_id(trace_id, attempt)}-{SAMPLED}"


def _digest(text: str, size_bytes: int) -> str:
    digest = blake2b(text.encode(), digest_size=size_bytes).hexdigest()
    # All zeros would mean "none"; that happens for one span in 2^64.
    return digest if digest.strip("0") else f"{1:0{2 * size_bytes}x}"
