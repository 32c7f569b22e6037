"""The facts of one turn, gathered while they happen; `assistant.trace.record` is what becomes of them."""

import base64
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import NamedTuple

from assistant.trace.context import trace_id_of
from assistant.trace.latency import STAGES, Span, Stage, StageShare, account
from assistant.trace.record import (
    SCHEMA,
    EventName,
    Outcome,
    TracedAnswer,
    TracedEvent,
    TracedHearing,
    TracedPartial,
    TracedSpan,
    TracedWords,
    TurnRecord,
)
from assistant.turns.event_log import LogEntries, probability_byte
from llm.chat import Finished

SHORTEST_SILENCE_S = 0.06
"""Shorter gaps are stop consonants, not silences."""


@dataclass(frozen=True, slots=True)
class ConversationTimeline:
    """The conversation's time line, as it stood when the turn finished.

    Attributes:
        conversation: Its id.
        started_at: Wall clock of its first sample.
        zero_s: Loop time of its first sample.
        speech_end_bias_ms: Of the detector in use.
    """

    conversation: str
    started_at: str
    zero_s: float
    speech_end_bias_ms: float

    def at(self, loop_s: float) -> float:
        """Loop seconds to milliseconds on the line."""
        return (loop_s - self.zero_s) * 1000

    def ms(self, loop_s: float | None) -> float | None:
        """The same for what may be unknown."""
        return None if loop_s is None else self.at(loop_s)


class PartialFacts(NamedTuple):
    """A partial transcript, without its words."""

    at_s: float
    words: int
    completeness: float
    digest: str


@dataclass(slots=True)
class SegmentTrace:
    """The facts of one segment while it is heard; times are loop seconds."""

    segment_s: float
    onset_s: float
    vad_start_s: float
    vad: bytearray
    silences: list[tuple[float, float]] = field(default_factory=list)
    partials: list[PartialFacts] = field(default_factory=list)
    troubles: list[tuple[float, str]] = field(default_factory=list)  # that came before its turn was known
    silent_since_s: float | None = None

    def frame(self, voicing_speaking: bool, edge_s: float, probability: float) -> None:
        """The detector's opinion of the next frame."""
        self.vad.append(probability_byte(probability))
        if not voicing_speaking:
            self.silent_since_s = edge_s
        elif self.silent_since_s is not None:
            self._silence(self.silent_since_s, edge_s)
            self.silent_since_s = None

    def end(self, now_s: float) -> None:
        """Nothing more of this segment counts: the silence at its end is one."""
        if self.silent_since_s is not None:
            self._silence(self.silent_since_s, now_s)
            self.silent_since_s = None

    def _silence(self, start_s: float, end_s: float) -> None:
        if end_s - start_s >= SHORTEST_SILENCE_S:
            self.silences.append((start_s, end_s))

    def traced(self, line: ConversationTimeline) -> TracedHearing:
        """As it stands in the record."""
        return TracedHearing(
            segment_ms=line.at(self.segment_s),
            onset_ms=line.at(self.onset_s),
            vad_start_ms=line.at(self.vad_start_s),
            vad=base64.b64encode(self.vad).decode(),
            silences_ms=tuple((line.at(start), line.at(end)) for start, end in self.silences),
            partials=tuple(
                TracedPartial(line.at(fact.at_s), line.at(self.segment_s), fact.words, fact.completeness, fact.digest)
                for fact in self.partials
            ),
        )


@dataclass(slots=True)
class AnswerTrace:
    """The numbers of one attempt's answer while it comes; times are loop seconds.

    Attributes:
        sound_s: How much was made of it.
        voice_s: How long that took.
    """

    by: str
    asked_s: float
    first_token_s: float | None = None
    ended_s: float | None = None
    finished: Finished | None = None
    pieces: int = 0
    sound_s: float = 0.0
    voice_s: float = 0.0

    def came(self, now_s: float, *, piece: bool) -> None:
        """A piece of text (`piece`) or a call."""
        self.first_token_s = now_s if self.first_token_s is None else self.first_token_s
        self.pieces += piece

    def end(self, now_s: float, finished: Finished | None = None) -> None:
        """Nothing more comes; the first word on that counts."""
        if self.ended_s is None:
            self.ended_s, self.finished = now_s, finished

    def traced(self, line: ConversationTimeline, attempt: int, *, dropped: bool) -> TracedAnswer:
        """As it stands in the record."""
        end = self.finished
        return TracedAnswer(
            attempt=attempt,
            by=self.by,
            asked_ms=line.at(self.asked_s),
            first_token_ms=line.ms(self.first_token_s),
            ended_ms=line.ms(self.ended_s),
            reason=None if end is None else end.reason,
            prompt_tokens=None if end is None else end.prompt_tokens,
            completion_tokens=None if end is None else end.completion_tokens,
            cached_tokens=None if end is None else end.cached_tokens,
            pieces=self.pieces,
            sound_ms=self.sound_s * 1000,
            voice_ms=self.voice_s * 1000,
            dropped=dropped,
        )


@dataclass(slots=True)
class TurnTrace:
    """The facts of one turn while they happen. Times come in as loop seconds; the record is made at the end."""

    number: int
    speech_start_s: float | None = None
    speech_end_s: float | None = None
    endpoint_s: float | None = None
    playout_start_s: float | None = None
    committed_attempt: int | None = None
    no_latency_reason: str | None = None
    error: str | None = None
    answered_by: str = ""
    user_words: str = ""
    rough: bool = False
    attempts: int = 0
    again: Span | None = None  # asking for the words again, which confirmed them
    drafted_s: float | None = None  # since when the words behind a draft have been waited for
    hearings: list[SegmentTrace] = field(default_factory=list)
    answers: dict[int, AnswerTrace] = field(default_factory=dict)  # by attempt
    _spans: dict[int, dict[str, Span]] = field(default_factory=dict)
    _dropped: set[int] = field(default_factory=set)
    _events: list[tuple[EventName, float, str]] = field(default_factory=list)

    def span(self, attempt: int, span: Span) -> None:
        """A span of an attempt has ended. A later one of the same name replaces it."""
        self._spans.setdefault(attempt, {})[span.name] = span

    def end_of(self, attempt: int, name: str) -> float | None:
        """When a span of this attempt ended, if it did."""
        span = self._spans.get(attempt, {}).get(name)
        return None if span is None else span.end_s

    def drop(self, attempt: int, *, confirmed: bool = False) -> None:
        """The attempt was abandoned; its spans stay, marked. `confirmed`: it only asked for the words again."""
        self._dropped.add(attempt)
        self.drafted_s = None
        self.again = self._spans.get(attempt, {}).get("stt") if confirmed else None

    def event(self, name: EventName, at_s: float, detail: str = "") -> None:
        """A moment worth knowing; `detail` never holds what was said."""
        self._events.append((name, at_s, detail))

    def stages(self) -> dict[Stage, StageShare]:
        """The accounting of the committed attempt, or {} where there is no latency."""
        if self.playout_start_s is None or self.speech_end_s is None or self.committed_attempt is None:
            return {}
        spans = self._spans.get(self.committed_attempt, {})
        return account(self.speech_end_s, spans, "playout") if "playout" in spans else {}

    def record(
        self,
        line: ConversationTimeline,
        outcome: Outcome,
        *,
        engines: dict[str, str],
        fallbacks: tuple[str, ...],
        counters: dict[str, int],
        assistant_words: str | None,
        told: LogEntries,
    ) -> TurnRecord:
        """The turn is finished. `assistant_words` None: words are not recorded."""
        stages = self.stages()
        latency_ms = None
        if stages and self.playout_start_s is not None and self.speech_end_s is not None:
            latency_ms = (self.playout_start_s - self.speech_end_s) * 1000
        return TurnRecord(
            schema=SCHEMA,
            conversation=line.conversation,
            turn=self.number,
            trace_id=trace_id_of(line.conversation, self.number),
            started_at=line.started_at,
            outcome=outcome,
            rough=self.rough,
            speech_start_ms=line.ms(self.speech_start_s),
            speech_end_ms=line.ms(self.speech_end_s),
            speech_end_bias_ms=line.speech_end_bias_ms,
            endpoint_ms=line.ms(self.endpoint_s),
            playout_start_ms=line.ms(self.playout_start_s),
            response_latency_ms=latency_ms,
            no_latency_reason=None if stages else self.no_latency_reason or outcome,
            stages=stages,
            spans=tuple(self._traced_spans(line)),
            answers=tuple(
                answer.traced(line, attempt, dropped=attempt in self._dropped)
                for attempt, answer in sorted(self.answers.items())
            ),
            events=tuple(TracedEvent(name, line.at(at_s), detail) for name, at_s, detail in self._events),
            attempts=self.attempts,
            hearings=tuple(hearing.traced(line) for hearing in self.hearings),
            engines={**engines, "answered_by": self.answered_by},
            fallbacks=fallbacks,
            error=self.error,
            counters=counters,
            words=None if assistant_words is None else TracedWords(self.user_words, assistant_words),
            told_before=told.before,
            told=told.entries,
        )

    def _traced_spans(self, line: ConversationTimeline) -> list[TracedSpan]:
        return [
            TracedSpan(
                span.name, span.stage, attempt, line.at(span.start_s), line.at(span.end_s), span.after,
                attempt in self._dropped,
            )
            for attempt, spans in sorted(self._spans.items())
            for span in sorted(spans.values(), key=lambda span: (span.start_s, STAGES.index(span.stage)))
        ]  # fmt: skip


def salted_hash(salt: bytes, text: str) -> str:
    """Eight hex digits that tell whether two texts agree; case and punctuation do not count."""
    normal = " ".join("".join(char if char.isalnum() or char == "'" else " " for char in text.lower()).split())
    return blake2b(normal.encode(), key=salt, digest_size=4).hexdigest()
