"""The ids of a turn as others know it: W3C trace context. Pure.

They are hashes of what names the turn, so that a record, its spans and the header of a request agree without asking
each other; they hold nothing of what was said.
"""

from hashlib import blake2b

SAMPLED = "01"
"""Our spans go out: whoever is asked may add its own to them."""


def trace_id_of(conversation: str, turn: int) -> str:
    """32 hex digits for this turn of this conversation."""
    return _digest(f"{conversation}\0{turn}", size_bytes=16)


def span_id_of(trace_id: str, name: str) -> str:
    """16 hex digits for the span that `name` alone means within its trace."""
    return _digest(f"{trace_id}\0{name}", size_bytes=8)


def answer_span_id(trace_id: str, attempt: int) -> str:
    """Of the span of an attempt's answer: the parent of what an endpoint adds."""
    return span_id_of(trace_id, f"answer {attempt}")


def traceparent(trace_id: str, attempt: int) -> str:
    """The header of the requests that an attempt makes."""
    return f"00-{trace_id}-{answer_span_id(trace_id, attempt)}-{SAMPLED}"


def _digest(text: str, size_bytes: int) -> str:
    digest = blake2b(text.encode(), digest_size=size_bytes).hexdigest()
    # All zeros mean "none"; one in 2^64 spans would.
    return digest if digest.strip("0") else f"{1:0{2 * size_bytes}x}"
