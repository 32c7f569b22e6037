"""Tests of W3C trace context ids."""

import re

from hypothesis import given
from hypothesis import strategies as st

from assistant.trace.context import answer_span_id, span_id_of, trace_id_of, traceparent


@given(st.text(), st.integers(min_value=1, max_value=10**6), st.integers(min_value=1, max_value=99))
def test_traceparent_header_conforms_to_the_standard(conversation: str, turn: int, attempt: int) -> None:
    trace_id = trace_id_of(conversation, turn)
    header = traceparent(trace_id, attempt)
    assert re.fullmatch(r"00-[0-9a-f]{32}-[0-9a-f]{16}-01", header)
    assert header == f"00-{trace_id}-{answer_span_id(trace_id, attempt)}-01"
    assert trace_id.strip("0")


def test_trace_ids_differ_by_turn_and_conversation() -> None:
    ids = {trace_id_of(conversation, turn) for conversation in ("a", "a1", "b") for turn in (1, 11, 2)}
    assert len(ids) == 9
    assert trace_id_of("a", 1) == trace_id_of("a", 1)


def test_span_ids_differ_by_name() -> None:
    assert len({span_id_of("t", "turn"), answer_span_id("t", 1), answer_span_id("t", 2), span_id_of("u", "turn")}) == 4
