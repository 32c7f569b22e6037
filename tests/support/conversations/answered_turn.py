"""The record of one answered turn, for tests of what is computed from records."""

from assistant.trace.latency import StageShare
from assistant.trace.record import TracedEvent, TurnRecord

ANSWERED = TurnRecord(
    schema=1,
    conversation="c",
    turn=1,
    trace_id="0af7651916cd43dd8448eb211c80319c",
    started_at="2026-01-01T00:00:00Z",
    outcome="answered",
    rough=False,
    speech_start_ms=100.0,
    speech_end_ms=1000.0,
    speech_end_bias_ms=30.0,
    endpoint_ms=1400.0,
    playout_start_ms=1435.0,
    response_latency_ms=435.0,
    no_latency_reason=None,
    stages={"endpoint_wait": StageShare(407.0, 0.0), "tts": StageShare(28.0, 0.0)},
    spans=(),
    answers=(),
    events=(TracedEvent("dropped", 1.0, "attempt 1: voice"), TracedEvent("commit", 2.0, "attempt 2")),
    attempts=2,
    hearings=(),
    engines={},
    fallbacks=(),
    error=None,
    counters={},
    words=None,
)
