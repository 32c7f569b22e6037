"""Converts a turn record to OpenTelemetry spans. No I/O, and no OpenTelemetry package is needed.

Each turn is one trace. Its root span is `turn`. Below it are the record's spans and one span for each answer. Answers
of an LLM carry the attributes of the semantic conventions for generative AI. No span contains what was said, whatever
`trace.words` says.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from assistant.trace.context import answer_span_id, span_id_of
from assistant.trace.record import TracedAnswer, TracedSpan, TurnRecord, without_name

Value = str | bool | int | float | tuple[str, ...]
Kind = Literal["internal", "client"]

MODEL_STAGES = frozenset(("queue", "llm_network", "llm_first_token"))
"""Stages whose spans are children of an answer's span."""

_TOOL = re.compile(r"tool (.+) \(\d+\)")
"""Name of a tool call's span in the record."""


@dataclass(frozen=True, slots=True)
class EndpointDetails:
    """Details of an LLM endpoint.

    Attributes:
        provider: Name of the service in the semantic conventions for generative AI.
        model: Name of the model in requests.
    """

    provider: str
    model: str


@dataclass(frozen=True, slots=True)
class OtelEvent:
    """An event of a span."""

    name: str
    at_ns: int
    attributes: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class OtelSpan:
    """One span. Times are nanoseconds of Unix time.

    Attributes:
        parent_id: "" for the root.
        failure: What went wrong; None: nothing, as far as is known; "": an error without a description.
    """

    trace_id: str
    span_id: str
    parent_id: str
    name: str
    kind: Kind
    start_ns: int
    end_ns: int
    attributes: Mapping[str, Value]
    events: tuple[OtelEvent, ...] = ()
    failure: str | None = None


def spans_of(record: TurnRecord, endpoints: Mapping[str, EndpointDetails]) -> list[OtelSpan]:
    """Returns the spans of a turn, root first.

    Args:
        record: The turn record.
        endpoints: Details by endpoint name. An answer by any other name, such as a built-in skill, is no LLM answer.
    """
    return list(_spans(_Frame(record, endpoints)))


class _Frame:
    """The values that all spans of a turn share."""

    def __init__(self, record: TurnRecord, endpoints: Mapping[str, EndpointDetails]) -> None:
        self.record = record
        self.endpoints = endpoints
        self.root_id = span_id_of(record.trace_id, "turn")
        self.zero_ns = round(datetime.fromisoformat(record.started_at).timestamp() * 1000) * 1_000_000

    def ns(self, ms: float) -> int:
        """Converts ms of the time line to Unix time in ns, rounded to the microsecond as in the JSON."""
        return self.zero_ns + round(round(ms, 3) * 1000) * 1000


def _spans(frame: _Frame) -> Iterator[OtelSpan]:
    record = frame.record
    yield _root(frame)
    for answer in record.answers:
        yield _answer(frame, answer)
    answered = {answer.attempt for answer in record.answers}
    for number, span in enumerate(record.spans):
        yield _record_span(frame, span, number, inside_answer=span.stage in MODEL_STAGES and span.attempt in answered)


def _root(frame: _Frame) -> OtelSpan:
    record = frame.record
    attributes: dict[str, Value | None] = {
        "gen_ai.conversation.id": record.conversation,
        "repartee.turn": record.turn,
        "repartee.outcome": record.outcome,
        "repartee.attempts": record.attempts,
        "repartee.rough": record.rough,
        "repartee.speaker": without_name(record.speaker) or None,
        "repartee.response_latency_ms": _plain(record.response_latency_ms),
        "repartee.no_latency_reason": record.no_latency_reason,
        "repartee.speech_start_ms": _plain(record.speech_start_ms),
        "repartee.speech_end_ms": _plain(record.speech_end_ms),
        "repartee.speech_end_bias_ms": _plain(record.speech_end_bias_ms),
        "repartee.endpoint_ms": _plain(record.endpoint_ms),
        "repartee.playout_start_ms": _plain(record.playout_start_ms),
        "repartee.fallbacks": record.fallbacks or None,
        "repartee.error": record.error,
    }
    for stage, share in record.stages.items():
        attributes[f"repartee.stage.{stage}.ms"] = _plain(share.ms)
        attributes[f"repartee.stage.{stage}.slack_ms"] = _plain(share.slack_ms)
    attributes |= {f"repartee.engine.{stage}": name for stage, name in record.engines.items() if name}
    attributes |= {f"repartee.tracing.{name}": value for name, value in record.tracing.items()}
    attributes |= {f"repartee.counter.{name}": count for name, count in record.counters.items()}
    start_ms, end_ms = _extent(record)
    return OtelSpan(
        record.trace_id, frame.root_id, "", "turn", "internal", frame.ns(start_ms), frame.ns(end_ms),
        _known(attributes),
        tuple(
            OtelEvent(event.name, frame.ns(event.at_ms), {"repartee.detail": event.detail} if event.detail else {})
            for event in record.events
        ),
        (record.error or "") if record.failed else None,
    )  # fmt: skip


def _answer(frame: _Frame, answer: TracedAnswer) -> OtelSpan:
    trace_id = frame.record.trace_id
    asked = frame.endpoints.get(answer.by)
    attributes: dict[str, Value | None] = {
        "repartee.attempt": answer.attempt,
        "repartee.dropped": answer.dropped,
        "repartee.answered_by": answer.by,
        "repartee.pieces": answer.pieces,
        "repartee.sound_ms": _plain(answer.sound_ms),
        "repartee.voice_ms": _plain(answer.voice_ms),
    }
    if answer.first_token_ms is not None:
        attributes["repartee.first_token_ms"] = _plain(answer.first_token_ms - answer.asked_ms)
    if asked is not None:
        attributes |= _gen_ai(frame, answer, asked)
    last_ms = next(ms for ms in (answer.ended_ms, answer.first_token_ms, answer.asked_ms) if ms is not None)
    return OtelSpan(
        trace_id,
        answer_span_id(trace_id, answer.attempt),
        frame.root_id,
        f"answer {answer.by}" if asked is None else f"chat {asked.model}",
        "internal" if asked is None else "client",
        frame.ns(answer.asked_ms),
        frame.ns(max(answer.asked_ms, last_ms)),
        _known(attributes),
    )


def _gen_ai(frame: _Frame, answer: TracedAnswer, asked: EndpointDetails) -> dict[str, Value | None]:
    first_ms = answer.first_token_ms
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": asked.provider,
        "gen_ai.request.model": asked.model,
        "gen_ai.request.stream": True,
        "gen_ai.conversation.id": frame.record.conversation,
        "gen_ai.response.finish_reasons": None if answer.reason is None else (answer.reason,),
        "gen_ai.response.time_to_first_chunk": (
            None if first_ms is None else round((first_ms - answer.asked_ms) / 1000, 6)
        ),
        "gen_ai.usage.input_tokens": answer.prompt_tokens,
        "gen_ai.usage.output_tokens": answer.completion_tokens,
        "gen_ai.usage.cache_read.input_tokens": answer.cached_tokens,
    }


def _record_span(frame: _Frame, span: TracedSpan, number: int, *, inside_answer: bool) -> OtelSpan:
    trace_id = frame.record.trace_id
    attributes: dict[str, Value | None] = {
        "repartee.stage": span.stage,
        "repartee.attempt": span.attempt,
        "repartee.dropped": span.dropped,
        "repartee.after": span.after or None,
        "repartee.duration_ms": _plain(span.end_ms - span.start_ms),
    }
    name = span.name
    if tool := _TOOL.fullmatch(span.name):
        name = f"execute_tool {tool[1]}"
        attributes |= {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool[1]}
    return OtelSpan(
        trace_id,
        span_id_of(trace_id, f"span {number}"),
        answer_span_id(trace_id, span.attempt) if inside_answer else frame.root_id,
        name,
        "internal",
        frame.ns(span.start_ms),
        frame.ns(span.end_ms),
        _known(attributes),
    )


def _extent(record: TurnRecord) -> tuple[float, float]:
    """Returns the first and the last known time of the turn, in ms of the time line."""
    times = [event.at_ms for event in record.events]
    times += [ms for span in record.spans for ms in (span.start_ms, span.end_ms)]
    times += [ms for answer in record.answers for ms in (answer.asked_ms, answer.ended_ms) if ms is not None]
    times += [ms for ms in (record.speech_start_ms, record.speech_end_ms, record.playout_start_ms) if ms is not None]
    return min(times, default=0.0), max(times, default=0.0)


def _plain(ms: float | None) -> float | None:
    """Rounds as the JSON does."""
    return None if ms is None else round(ms, 3)


def _known(attributes: Mapping[str, Value | None]) -> dict[str, Value]:
    return {name: value for name, value in attributes.items() if value is not None}
