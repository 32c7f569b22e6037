"""Schema of the trace: one record for every finished turn. docs/lab/trace-record.md is checked against it.

Times are milliseconds since the first microphone sample of the conversation. Words are included only if the
configuration says so. The facts needed to replay decisions are stored without words.
"""

import json
import re
from dataclasses import dataclass, field, fields
from typing import Annotated, Literal

from assistant.skills.answers import REFUSED
from assistant.trace.latency import Stage, StageShare

SCHEMA = 3
"""Version of the schema. Version 2 had other names for the events of turn taking, and version 1 six flags for the modes
in their settings."""

FAILED = frozenset(("failed", "stuck"))
"""Outcomes of turns that got no answer: nothing, or an apology in its place."""

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
    "other voice",
]  # fmt: skip

EventName = Literal[
    "attempt", "foreseen", "drafted", "estimate", "dropped", "endpoint", "commit", "retracted", "cache", "tried",
    "size", "other_size", "escalated", "summarized", "model_finished", "tool", "delivered", "part", "moment",
    "fallback", "duck", "unduck", "overlap", "interrupt", "unheard", "language", "guessed", "error", "listening_sound",
    "listening_sound_cut",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class TracedSpan:
    """A span in the record. The waterfall is drawn from these."""

    name: Annotated[str, "the work or wait: see above"]
    stage: Annotated[Stage, "the stage that its time counts for"]
    attempt: Annotated[int, "the attempt it belongs to, which may have been dropped"]
    start_ms: Annotated[float, "when it began"]
    end_ms: Annotated[float, "when it finished or was given up"]
    after: Annotated[tuple[str, ...], "the spans of the same attempt that it waited for"]
    dropped: Annotated[bool, "true: its attempt was dropped and never heard"]


@dataclass(frozen=True, slots=True)
class TracedAnswer:
    """Numbers of an attempt's answer. Token counts are the service's own, and usually come at the end only."""

    attempt: Annotated[int, "the attempt it belongs to"]
    by: Annotated[str, "the LLM endpoint or skill that answered or was asked"]
    asked_ms: Annotated[float, "when it was requested"]
    first_token_ms: Annotated[float | None, "when its first text or call arrived; null: none did"]
    ended_ms: Annotated[float | None, "when it ended, failed or was abandoned; null: the conversation ended first"]
    reason: Annotated[
        str | None,
        "finish reason, as the service calls it; `refused`: of the skills; `repetition`: it repeated itself and was "
        "stopped; null: it was not finished",
    ]
    prompt_tokens: Annotated[int | None, "tokens of the prompt, including cached ones; null: the service did not say"]
    completion_tokens: Annotated[int | None, "tokens of the answer; null: the service did not say"]
    cached_tokens: Annotated[int | None, "tokens of the prompt that the service had cached; null: it did not say"]
    pieces: Annotated[
        int, "number of text pieces received, about the number of tokens, even if the service counts none"
    ]
    sound_ms: Annotated[float, "length of the audio synthesized from it"]
    voice_ms: Annotated[float, "how long that synthesis took, whether it was heard or not"]
    dropped: Annotated[bool, "true: its attempt was dropped and never heard"]


@dataclass(frozen=True, slots=True)
class TracedEvent:
    """Something that happened at one moment."""

    name: Annotated[EventName, "what happened: see above"]
    at_ms: Annotated[float, "when it happened"]
    detail: Annotated[str, "attempt, reason or error; never what was said"]


@dataclass(frozen=True, slots=True)
class TracedPartial:
    """An interim transcript, without its words."""

    at_ms: Annotated[float, "when it arrived"]
    segment_ms: Annotated[float, "beginning of its segment"]
    words: Annotated[int, "number of words"]
    completeness: Annotated[float, "completeness of the sentence, 0..1 (assistant/end_of_turn/completeness.py)"]
    hash: Annotated[str, "salted hash of the normalized text, equal for equal transcripts"]


@dataclass(frozen=True, slots=True)
class TracedHearing:
    """One speech segment: the facts from which the decisions of turn taking can be replayed."""

    segment_ms: Annotated[float, "its beginning: the onset minus the pre-roll"]
    onset_ms: Annotated[float, "its first speech sample, not the moment of detection"]
    vad_start_ms: Annotated[float, "position of the first frame in `vad`"]
    vad: Annotated[str, "speech probability per 20 ms frame, one byte each (0..255), base64"]
    silences_ms: Annotated[tuple[tuple[float, float], ...], "every silence of 60 ms or more, including the last"]
    partials: Annotated[tuple[TracedPartial, ...], "the interim transcripts, without words"]


@dataclass(frozen=True, slots=True)
class TracedWords:
    """Words of the turn; only with `trace.words = true`."""

    user: Annotated[str, "the transcript that was answered"]
    assistant: Annotated[str, "the part of the reply that was heard"]


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """One finished turn."""

    schema: Annotated[int, "version of this schema"]
    conversation: Annotated[str, "random id of the conversation"]
    turn: Annotated[int, "number of the turn, from 1"]
    trace_id: Annotated[str, "the turn's id in OpenTelemetry, W3C trace context and exemplars, 32 hex digits"]
    started_at: Annotated[str, "wall clock at 0 ms of the line, UTC, ISO 8601"]
    outcome: Annotated[Outcome, "how the turn ended: see above"]
    rough: Annotated[bool, "whether the recognizer's confidence is low"]
    speech_start_ms: Annotated[float | None, "first speech sample, not the moment of detection; null: no speech"]
    speech_end_ms: Annotated[
        float | None,
        "last speech sample, not the moment of detection, minus the VAD's bias; if a key or the client ended the turn, "
        "its release or commit; null: no speech",
    ]
    speech_end_bias_ms: Annotated[float, "the VAD's calibrated bias, already subtracted"]
    endpoint_ms: Annotated[float | None, "the decision that the turn is over"]
    playout_start_ms: Annotated[float | None, "when the first audible sample of the reply leaves the speaker"]
    response_latency_ms: Annotated[float | None, "playout_start_ms - speech_end_ms"]
    no_latency_reason: Annotated[str | None, "why response_latency_ms is null: see above"]
    stages: Annotated[
        dict[Stage, StageShare], "per stage `ms` (they sum to the latency) and `slack_ms`; empty without a latency"
    ]
    spans: Annotated[tuple[TracedSpan, ...], "all work, including hidden and abandoned work"]
    answers: Annotated[tuple[TracedAnswer, ...], "tokens and audio, one entry for each attempt with an answer"]
    events: Annotated[tuple[TracedEvent, ...], "what happened, in order"]
    attempts: Annotated[int, "number of attempts at an answer"]
    hearings: Annotated[tuple[TracedHearing, ...], "the speech segments of the turn"]
    engines: Annotated[
        dict[str, str],
        "engine per stage; `answered_by`: what answered this turn; `stt_model`: why the recognizer has its model; "
        "`tts_provider`, `turn_provider`: where Piper and Smart Turn compute; `degradation`: what was left out because "
        "the engines were late; `tts_relief`: why espeak-ng spoke in place of another voice",
    ]
    fallbacks: Annotated[tuple[str, ...], "engines that replaced configured ones, and why"]
    error: Annotated[str | None, "what went wrong in this turn; null: nothing"]
    counters: Annotated[
        dict[str, int],
        "counts of the conversation so far, by name: see above",
    ]
    words: Annotated[TracedWords | None, "what was said, or null"]
    turn_events_before: Annotated[int, "number of `turn_events` in earlier records of the conversation"] = 0
    turn_events: Annotated[
        tuple[str, ...],
        "events of turn taking since the last record, without words (assistant/turns/log/event_entries.py), for replay",
    ] = ()
    busy_others: Annotated[
        float | None,
        "share of the machine's processors that other programs used, 0..1, if they kept it busy during the turn; "
        "null: they did not",
    ] = None
    overlap_ms: Annotated[
        float | None,
        "how long a reply was audible beside the speech of a user who went on after a pause, until it was withdrawn; "
        "null: none was",
    ] = None
    speaker: Annotated[
        str,
        "who spoke: S1, S2, … in the order of the conversation, or `enrolled`; the name of an enrolled voice only with "
        "`trace.words = true`; absent if it is unknown",
    ] = ""
    language: Annotated[
        str, "language of the words, where the conversation follows the user's; absent in any other conversation"
    ] = ""
    tracing: Annotated[
        dict[str, str],
        "names that the client gave in `session.tracing`: workflow_name, group_id, metadata (JSON); absent without any",
    ] = field(default_factory=dict)

    @property
    def failed(self) -> bool:
        """Whether anything went wrong. If anything was heard, it is an apology or a part of an answer."""
        return self.error is not None or self.outcome in FAILED

    @property
    def refused(self) -> bool:
        """Whether the skills said that they cannot do what was asked. Such a turn is answered, and counts as such."""
        return any(answer.reason == REFUSED and not answer.dropped for answer in self.answers)

    @property
    def counted_latency_ms(self) -> float | None:
        """The response latency for statistics: None for a turn that failed."""
        return None if self.failed else self.response_latency_ms

    def to_json(self, *, turn_events: bool = True) -> str:
        """Returns the record as one line of JSON; much shorter without `turn_events`, which only a replay needs."""
        names = [column.name for column in fields(self) if column.name not in _ABSENT or getattr(self, column.name)]
        content = {name: getattr(self, name) for name in names} | ({} if turn_events else {"turn_events": ()})
        return json.dumps(_plain(content), separators=(",", ":"))


_ABSENT = frozenset({"language", "speaker", "tracing"})
"""Fields that are absent without a value."""

_NUMBERED = re.compile(r"S\d+")


def without_name(speaker: str) -> str:
    """Returns the label of a speaker for a record without words: the name of an enrolled voice is personal."""
    return speaker if not speaker or is_numbered(speaker) else "enrolled"


def is_numbered(speaker: str) -> bool:
    """Returns whether a label of a speaker is a number of this conversation, and no name."""
    return _NUMBERED.fullmatch(speaker) is not None


def _plain(value: object) -> object:
    """Converts dataclasses to dicts and rounds floats to microseconds, so that ten stages sum exactly to 0.01 ms."""
    if isinstance(value, float):
        return round(value, 3)
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if hasattr(value, "__dataclass_fields__"):
        return {name: _plain(getattr(value, name)) for name in value.__dataclass_fields__}
    return value
