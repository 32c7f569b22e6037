"""Converts the JSON of a turn record from a server to a `TurnRecord`. Pure.

A server of another version may send fewer or more fields. Missing fields count as unknown; new ones are ignored.
"""

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from typing import Any, TypeVar, get_args

from assistant.trace.latency import STAGES, StageShare
from assistant.trace.record import (
    SCHEMA,
    Outcome,
    TracedAnswer,
    TracedEvent,
    TracedHearing,
    TracedPartial,
    TracedSpan,
    TracedWords,
    TurnRecord,
)

Made = TypeVar("Made")

_UNKNOWN: Mapping[str, Any] = {
    "schema": SCHEMA,
    "conversation": "",
    "trace_id": "",
    "started_at": "",
    "rough": False,
    "speech_end_bias_ms": 0.0,
    "attempts": 0,
    "words": None,
    "error": None,
    "detail": "",
    "after": (),
    "dropped": False,
}
"""Values of fields that the server did not send; numbers are None."""


def record_of(trace: Mapping[str, Any]) -> TurnRecord:
    """Returns the record. Raises ValueError if it has no `turn`, or times that are not numbers."""
    try:
        return _record(trace)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"not the record of a turn: {type(error).__name__} ({error})") from error


def _record(trace: Mapping[str, Any]) -> TurnRecord:
    made: dict[str, Any] = {
        "turn": int(trace["turn"]),
        "outcome": _outcome(trace.get("outcome")),
        "response_latency_ms": _number_or_none(trace.get("response_latency_ms")),
        "stages": _stages(trace.get("stages") or {}),
        "spans": tuple(_all(TracedSpan, trace.get("spans"))),
        "answers": tuple(_all(TracedAnswer, trace.get("answers"))),
        "events": tuple(_all(TracedEvent, trace.get("events"))),
        "hearings": tuple(_hearing(traced_fields) for traced_fields in trace.get("hearings") or ()),
        "engines": {str(stage): str(name) for stage, name in (trace.get("engines") or {}).items()},
        "fallbacks": tuple(str(traced_fields) for traced_fields in trace.get("fallbacks") or ()),
        "counters": {str(name): int(count) for name, count in (trace.get("counters") or {}).items()},
        "words": None if trace.get("words") is None else _dataclass_of(TracedWords, trace["words"]),
        "turn_events_before": 0,  # inputs for a replay, which only the server's trace has
        "turn_events": (),
    }
    return _dataclass_of(TurnRecord, {**trace, **made})


def _stages(traced: Mapping[str, Mapping[str, float]]) -> dict[str, StageShare]:
    """Returns the stages in their usual order, without unknown ones."""
    return {
        stage: StageShare(traced[stage]["ms"] + 0.0, traced[stage]["slack_ms"] + 0.0)
        for stage in STAGES
        if stage in traced
    }


def _number_or_none(traced: float | None) -> float | None:
    return (
        None if traced is None else traced + 0.0
    )  # raises for text, also for text that float() would read as infinite


def _outcome(traced: object) -> str:
    """Returns the outcome; "answered" for one that this version does not know."""
    return str(traced) if traced in get_args(Outcome) else "answered"


def _hearing(traced: Mapping[str, Any]) -> TracedHearing:
    partials = tuple(_all(TracedPartial, traced.get("partials")))
    silences = tuple((float(start), float(end)) for start, end in traced.get("silences_ms") or ())
    return _dataclass_of(TracedHearing, {**traced, "partials": partials, "silences_ms": silences})


def _all(kind: type[Made], traced: Iterable[Mapping[str, Any]] | None) -> list[Made]:
    return [
        _dataclass_of(kind, traced_fields)
        for traced_fields in traced or ()
        if traced_fields.get("stage", STAGES[0]) in STAGES
    ]


def _dataclass_of(kind: type[Made], traced: Mapping[str, Any]) -> Made:
    """Creates a dataclass from its fields by name; lists become tuples."""
    made = {}
    for field in fields(kind):  # type: ignore[arg-type]  # each of them is a dataclass
        if field.name in traced:
            value = traced[field.name]
            made[field.name] = tuple(value) if isinstance(value, list) else value
        elif field.default is MISSING and field.default_factory is MISSING:
            made[field.name] = _UNKNOWN.get(field.name)
    return kind(**made)
