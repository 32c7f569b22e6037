"""Collects the facts of one turn while they happen. `assistant.trace.record` defines the record made of them."""

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
    without_name,
)
from assistant.turns.log.event_entries import probability_byte
from assistant.turns.log.event_log import LogEntries
from llm.chat import Finished

MIN_SILENCE_S = 0.06
"""Shorter gaps are stop consonants, not silences."""


@dataclass(frozen=True, slots=True)
class ConversationTimeline:
    """The conversation's time line when a turn finished.

    Attributes:
        conversation: Its id.
        started_at: Wall clock of its first sample.
        zero_s: Loop time of its first sample.
        speech_end_bias_ms: Bias of the VAD in use.
    """

    conversation: str
    started_at: str
    zero_s: float
    speech_end_bias_ms: float

    def position_ms(self, loop_s: float) -> float:
        """Converts loop seconds to milliseconds since the first sample."""
        return (loop_s - self.zero_s) * 1000

    def ms(self, loop_s: float | None) -> float | None:
        """Converts like `position_ms`; None stays None."""
        return None if loop_s is None else self.position_ms(loop_s)


class PartialFacts(NamedTuple):
    """An interim transcript, without its words."""

    at_s: float
    words: int
    completeness: float
    digest: str


@dataclass(slots=True)
class SegmentTrace:
    """The facts of one segment while it is open. Times are loop seconds."""

    segment_s: float
    onset_s: float
    vad_start_s: float
    vad: bytearray
    silences: list[tuple[float, float]] = field(default_factory=list)
    partials: list[PartialFacts] = field(default_factory=list)
    problems: list[tuple[float, str]] = field(default_factory=list)  # problems before the turn was known
    silent_since_s: float | None = None

    def frame(self, speaking: bool, boundary_s: float, probability: float) -> None:
        """Adds the VAD result of the next frame."""
        self.vad.append(probability_byte(probability))
        if not speaking:
            self.silent_since_s = boundary_s
        elif self.silent_since_s is not None:
            self._silence(self.silent_since_s, boundary_s)
            self.silent_since_s = None

    def end(self, now_s: float) -> None:
        """Ends the segment, and with it the last silence."""
        if self.silent_since_s is not None:
            self._silence(self.silent_since_s, now_s)
            self.silent_since_s = None

    def _silence(self, start_s: float, end_s: float) -> None:
        if end_s - start_s >= MIN_SILENCE_S:
            self.silences.append((start_s, end_s))

    def traced(self, line: ConversationTimeline) -> TracedHearing:
        """Returns the segment as it is stored in the record."""
        return TracedHearing(
            segment_ms=line.position_ms(self.segment_s),
            onset_ms=line.position_ms(self.onset_s),
            vad_start_ms=line.position_ms(self.vad_start_s),
            vad=base64.b64encode(self.vad).decode(),
            silences_ms=tuple((line.position_ms(start), line.position_ms(end)) for start, end in self.silences),
            partials=tuple(
                TracedPartial(
                    line.position_ms(fact.at_s),
                    line.position_ms(self.segment_s),
                    fact.words,
                    fact.completeness,
                    fact.digest,
                )
                for fact in self.partials
            ),
        )


@dataclass(slots=True)
class AnswerTrace:
    """The numbers of one attempt's answer while it arrives. Times are loop seconds.

    Attributes:
        by: Who answers.
        asked_s: When it was requested.
        first_token_s: When its first text or call arrived.
        ended_s: When it ended.
        finished: How it ended.
        pieces: Pieces of text so far.
        sound_s: Length of the audio synthesized from it.
        voice_s: How long the synthesis took.
    """

    by: str
    asked_s: float
    first_token_s: float | None = None
    ended_s: float | None = None
    finished: Finished | None = None
    pieces: int = 0
    sound_s: float = 0.0
    voice_s: float = 0.0

    def add_piece(self, now_s: float, *, piece: bool) -> None:
        """Records a piece of text (`piece`) or a call."""
        self.first_token_s = now_s if self.first_token_s is None else self.first_token_s
        self.pieces += piece

    def end(self, now_s: float, finished: Finished | None = None) -> None:
        """Records the end of the answer; later calls have no effect."""
        if self.ended_s is None:
            self.ended_s, self.finished = now_s, finished

    def traced(self, line: ConversationTimeline, attempt: int, *, dropped: bool) -> TracedAnswer:
        """Returns the answer as it is stored in the record."""
        end = self.finished
        return TracedAnswer(
            attempt=attempt,
            by=self.by,
            asked_ms=line.position_ms(self.asked_s),
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
    """The facts of one turn while they happen. Times are loop seconds. `record` makes the turn record at the end."""

    number: int
    speech_start_s: float | None = None
    speech_end_s: float | None = None
    endpoint_s: float | None = None
    input_ended_s: float | None = None  # when the key was released or the client ended the turn
    playout_start_s: float | None = None
    withdrawn_s: tuple[float, float] | None = None  # when a withdrawn reply became audible, and when it ended
    overlap_s: float | None = None
    committed_attempt: int | None = None
    no_latency_reason: str | None = None
    error: str | None = None
    answered_by: str = ""
    user_words: str = ""
    speaker: str = ""  # who spoke, as in the history
    language: str = ""  # of the words, where the conversation follows the user's
    low_confidence: bool = False
    attempts: int = 0
    recheck_span: Span | None = None  # a second transcription that confirmed the words
    drafted_s: float | None = None  # when the transcript after a draft was requested
    segments: list[SegmentTrace] = field(default_factory=list)
    answers: dict[int, AnswerTrace] = field(default_factory=dict)  # by attempt
    _spans: dict[int, dict[str, Span]] = field(default_factory=dict)
    _dropped: set[int] = field(default_factory=set)
    _events: list[tuple[EventName, float, str]] = field(default_factory=list)

    def span(self, attempt: int, span: Span) -> None:
        """Adds a finished span of an attempt. A later span of the same name replaces it."""
        self._spans.setdefault(attempt, {})[span.name] = span

    def end_of(self, attempt: int, name: str) -> float | None:
        """Returns when a span of this attempt ended; None if it did not."""
        span = self._spans.get(attempt, {}).get(name)
        return None if span is None else span.end_s

    def drop(self, attempt: int, *, confirmed: bool = False) -> None:
        """Marks the attempt's spans as dropped. `confirmed`: it only transcribed again and got the same words."""
        self._dropped.add(attempt)
        self.drafted_s = None
        self.recheck_span = self._spans.get(attempt, {}).get("stt") if confirmed else None

    def event(self, name: EventName, at_s: float, detail: str = "") -> None:
        """Adds an event. `detail` never contains what was said."""
        self._events.append((name, at_s, detail))

    def withdraw(self, now_s: float) -> None:
        """Notes that the reply is withdrawn, because the user went on. `go_on` follows."""
        audible_s = self.playout_start_s
        self.withdrawn_s = None if audible_s is None or audible_s >= now_s else (audible_s, now_s)
        self.playout_start_s = self.committed_attempt = self.no_latency_reason = None

    def go_on(self, onset_s: float) -> None:
        """Adds how long the withdrawn reply was audible beside the speech that began at `onset_s`."""
        if self.withdrawn_s is not None:
            audible_s, ended_s = self.withdrawn_s
            self.overlap_s = (self.overlap_s or 0.0) + max(0.0, ended_s - max(audible_s, onset_s))
            self.withdrawn_s = None

    def stages(self) -> dict[Stage, StageShare]:
        """Returns the latency breakdown of the committed attempt; {} where there is no latency."""
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
        turn_events: LogEntries,
    ) -> TurnRecord:
        """Returns the record of the finished turn. `assistant_words` None: words are not recorded."""
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
            rough=self.low_confidence,
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
            events=tuple(TracedEvent(name, line.position_ms(at_s), detail) for name, at_s, detail in self._events),
            attempts=self.attempts,
            hearings=tuple(hearing.traced(line) for hearing in self.segments),
            engines={**engines, "answered_by": self.answered_by},
            fallbacks=fallbacks,
            error=self.error,
            counters=counters,
            words=None if assistant_words is None else TracedWords(self.user_words, assistant_words),
            turn_events_before=turn_events.before,
            turn_events=turn_events.entries,
            overlap_ms=None if self.overlap_s is None else self.overlap_s * 1000,
            speaker=without_name(self.speaker) if assistant_words is None else self.speaker,
            language=self.language,
        )

    def _traced_spans(self, line: ConversationTimeline) -> list[TracedSpan]:
        return [
            TracedSpan(
                span.name,
                span.stage,
                attempt,
                line.position_ms(span.start_s),
                line.position_ms(span.end_s),
                span.after,
                attempt in self._dropped,
            )
            for attempt, spans in sorted(self._spans.items())
            for span in sorted(spans.values(), key=lambda span: (span.start_s, STAGES.index(span.stage)))
        ]  # fmt: skip


def salted_hash(salt: bytes, text: str) -> str:
    """Returns eight hex digits that are equal for equal texts. Case and punctuation do not count."""
    normal = " ".join("".join(char if char.isalnum() or char == "'" else " " for char in text.lower()).split())
    return blake2b(normal.encode(), key=salt, digest_size=4).hexdigest()
