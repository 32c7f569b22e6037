"""The trace: one record for every finished turn. This module is the schema; docs/traces.md is checked against it.

Times are milliseconds on the microphone's line (0 = the first sample of the conversation). Words appear only if the
configuration says so; what is needed to replay decisions is kept as facts without words.
"""

import json
from dataclasses import dataclass, fields, replace
from typing import Annotated, Literal, get_args, get_type_hints

from assistant.trace.latency import Stage, StageShare

SCHEMA = 1

FAILED = frozenset(("failed", "stuck"))
"""Outcomes of turns that got no answer."""

Outcome = Literal[
    "answered",
    "interrupted",
    "failed",
    "no words",
    "noise",
    "stuck",
    "requested",
    "cleared",
    "taken down",
    "called",
    "backchannel",
]  # fmt: skip

EventName = Literal[
    "attempt", "drafted", "judged", "dropped", "endpoint", "commit", "retracted", "tried", "model_finished", "tool",
    "moment", "duck", "unduck", "interrupt", "unheard", "language", "error",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class TracedSpan:
    """A span as it stands in the record; the waterfall is drawn from these."""

    name: Annotated[str, "what was done or waited for: see above"]
    stage: Annotated[Stage, "the stage that pays for it"]
    attempt: Annotated[int, "the attempt it belongs to; attempts that were dropped are kept"]
    start_ms: Annotated[float, "when it began"]
    end_ms: Annotated[float, "when it finished or was given up"]
    after: Annotated[tuple[str, ...], "the spans of the same attempt that it waited for"]
    dropped: Annotated[bool, "true: its attempt was abandoned, nobody heard of it"]


@dataclass(frozen=True, slots=True)
class TracedAnswer:
    """What an attempt was answered, in numbers. Token counts are the service's own; most count at the end only."""

    attempt: Annotated[int, "the attempt that it answers"]
    by: Annotated[str, "who answered, or was to"]
    asked_ms: Annotated[float, "when it was asked for"]
    first_token_ms: Annotated[float | None, "its first piece of text, or call; null: none came"]
    ended_ms: Annotated[float | None, "its last, or when it failed or was given up; null: the conversation broke off"]
    reason: Annotated[str | None, "the service's own word for its end; null: it did not come to an end"]
    prompt_tokens: Annotated[int | None, "what was asked, cached tokens included; null: the service did not say"]
    completion_tokens: Annotated[int | None, "what was answered; null: the service did not say"]
    cached_tokens: Annotated[int | None, "of the prompt, what the service had cached; null: it did not say"]
    pieces: Annotated[int, "pieces of text that came: about as many tokens, also where none were counted"]
    sound_ms: Annotated[float, "how much sound was made of it"]
    voice_ms: Annotated[float, "how long the voice took for that, heard or not"]
    dropped: Annotated[bool, "true: its attempt was abandoned, nobody heard of it"]


@dataclass(frozen=True, slots=True)
class TracedEvent:
    """A moment worth knowing."""

    name: Annotated[EventName, "what happened: see above"]
    at_ms: Annotated[float, "when"]
    detail: Annotated[str, "the attempt, reason or error it is about; never what was said"]


@dataclass(frozen=True, slots=True)
class TracedPartial:
    """A partial transcript, without its words."""

    at_ms: Annotated[float, "when it came"]
    segment_ms: Annotated[float, "where its segment begins"]
    words: Annotated[int, "how many words it has"]
    completeness: Annotated[float, "how finished it sounds, 0..1 (assistant/end_of_turn/completeness.py)"]
    hash: Annotated[str, "salted hash of the normalized text: tells whether two partials agree, not what they say"]


@dataclass(frozen=True, slots=True)
class TracedHearing:
    """One segment: the facts from which the decisions of turn taking can be replayed."""

    segment_ms: Annotated[float, "where it begins (the onset less the pre-roll)"]
    onset_ms: Annotated[float, "its first speech sample, dated back"]
    vad_start_ms: Annotated[float, "position of the first frame in `vad`"]
    vad: Annotated[str, "speech probability per 20 ms frame, one byte each (0..255), base64"]
    silences_ms: Annotated[tuple[tuple[float, float], ...], "every silence of 60 ms or more, with the last"]
    partials: Annotated[tuple[TracedPartial, ...], "the partial transcripts, without words"]


@dataclass(frozen=True, slots=True)
class TracedWords:
    """What was said; only with `trace.words = true`."""

    user: Annotated[str, "the transcript the reply was made from"]
    assistant: Annotated[str, "what of the reply was heard"]


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """One finished turn."""

    schema: Annotated[int, "version of this schema"]
    conversation: Annotated[str, "random id of the conversation"]
    turn: Annotated[int, "number of the turn, from 1"]
    trace_id: Annotated[str, "the turn's id in OpenTelemetry, W3C trace context and exemplars, 32 hex digits"]
    started_at: Annotated[str, "wall clock at 0 ms of the line, UTC, ISO 8601"]
    outcome: Annotated[Outcome, "how the turn ended: see above"]
    rough: Annotated[bool, "whether the recognizer calls its words a guess"]
    speech_start_ms: Annotated[float | None, "first speech sample, dated back; null: nobody spoke"]
    speech_end_ms: Annotated[
        float | None, "last speech sample, dated back, less the detector's bias; null: nobody spoke"
    ]
    speech_end_bias_ms: Annotated[float, "the detector's calibrated bias, already subtracted"]
    endpoint_ms: Annotated[float | None, "the decision that the turn is over"]
    playout_start_ms: Annotated[float | None, "the first audible sample of the reply leaves the speaker"]
    response_latency_ms: Annotated[float | None, "playout_start_ms - speech_end_ms"]
    no_latency_reason: Annotated[str | None, "why response_latency_ms is null: see above"]
    stages: Annotated[
        dict[Stage, StageShare], "per stage `ms` (they sum to the latency) and `slack_ms`; empty without a latency"
    ]
    spans: Annotated[tuple[TracedSpan, ...], "all work, also what was hidden or abandoned"]
    answers: Annotated[tuple[TracedAnswer, ...], "tokens and sound, one for each attempt that was answered"]
    events: Annotated[tuple[TracedEvent, ...], "moments, in order"]
    attempts: Annotated[int, "how often an answer was begun"]
    hearings: Annotated[tuple[TracedHearing, ...], "what was heard, one for each segment the turn is made of"]
    engines: Annotated[dict[str, str], "engine per stage; `answered_by` tells what answered this turn"]
    fallbacks: Annotated[tuple[str, ...], "what ran in place of what was asked for, and why"]
    error: Annotated[str | None, "what went wrong in this turn, if anything did"]
    counters: Annotated[
        dict[str, int],
        "counts of the conversation so far, by name: see above",
    ]
    words: Annotated[TracedWords | None, "what was said, or null"]
    told_before: Annotated[int, "how many entries of `told` the conversation has before these"] = 0
    told: Annotated[
        tuple[str, ...],
        "events of turn taking since the last record, without words (assistant/turns/event_log.py), for replay",
    ] = ()

    @property
    def failed(self) -> bool:
        """Whether anything went wrong in it: what was heard, if anything, is an apology or a part of an answer."""
        return self.error is not None or self.outcome in FAILED

    @property
    def counted_latency_ms(self) -> float | None:
        """The response latency as statistics count it: None for a turn that failed."""
        return None if self.failed else self.response_latency_ms

    def to_json(self, *, told: bool = True) -> str:
        """The record as one line of JSON; without `told`, which only a replay needs, it is a good deal shorter."""
        record = self if told else replace(self, told=())
        return json.dumps(_plain(record), separators=(",", ":"))


def _plain(value: object) -> object:
    """Dataclasses to dicts, floats to microseconds: a sum of ten stages stays exact to 0.01 ms."""
    if isinstance(value, float):
        return round(value, 3)
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if hasattr(value, "__dataclass_fields__"):
        return {name: _plain(getattr(value, name)) for name in value.__dataclass_fields__}
    return value


def schema_rows(record: type) -> list[tuple[str, str, str]]:
    """(field, type, meaning) of a record class, for the documentation."""
    hints = get_type_hints(record, include_extras=True)
    return [
        (item.name, _type_name(get_args(hints[item.name])[0]), hints[item.name].__metadata__[0])
        for item in fields(record)
    ]


def _type_name(annotation: object) -> str:
    name = annotation.__name__ if isinstance(annotation, type) and not get_args(annotation) else str(annotation)
    return name.replace("typing.", "").replace("assistant.trace.record.", "").replace("assistant.trace.latency.", "")
