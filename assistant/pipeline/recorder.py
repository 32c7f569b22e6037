"""Keeps the books of a conversation: which fact belongs to which turn, and when a turn's record is complete."""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from assistant.end_of_turn.completeness import completeness
from assistant.end_of_turn.estimator import SELDOM, EndOfTurnEstimate
from assistant.events import SessionEvent, TurnFinished
from assistant.pipeline.turn_trace import ConversationTimeline, PartialFacts, SegmentTrace, TurnTrace, salted_hash
from assistant.trace.context import trace_id_of, traceparent
from assistant.trace.latency import Span
from assistant.trace.record import EventName, Outcome, TurnRecord
from assistant.turns.event_log import EventLog, probability_byte
from assistant.turns.events import CommitTurn, OpenSegment, RecordTurn, ReplyId, Transcribe, TurnDiscarded
from audio.clock import StreamClock
from audio.frame import Frame
from audio.stt import Transcript
from audio.units import FRAME_SAMPLES, Samples, s_of_samples
from audio.vad import VadResult

FRAMES_BEFORE = 150
"""Detector output kept from before a segment was opened: 3 s, more than pre-roll, detection delay and an approach."""


@dataclass(slots=True)
class Recorder:
    """The traces of one conversation's open turns. Times are loop seconds.

    Attributes:
        conversation: Random id.
        started_at: Wall clock, ISO 8601, at loop time `started_s`; None: at the first sample, whenever that was.
        salt: For hashes of transcripts; new for every conversation, never written down.
        engines: Engine name per stage.
        fallbacks: What runs in place of what was asked for; grows if an engine is replaced.
        keep_words: Whether words may be recorded.
        speech_end_bias_ms: Of the voice detector.
        counters: Asked for at the end of every turn.
        in_use: Likewise: what of the engines may be another one by then, such as the microphone.
        write: Where records go; must not block.
        show: Who else wants to know.
        exports: Turns go out as spans, too: whoever is asked for an answer is told of their trace.
        told: What turn taking is told, so that it can decide again.
    """

    conversation: str
    started_at: str
    salt: bytes
    engines: dict[str, str]
    fallbacks: list[str]
    keep_words: bool
    speech_end_bias_ms: float
    counters: Callable[[], Mapping[str, int]]
    write: Callable[[TurnRecord], None]
    show: Callable[[SessionEvent], None]
    started_s: float | None = None
    exports: bool = False
    in_use: Callable[[], Mapping[str, str]] = dict
    told: EventLog = field(init=False)
    _turns: dict[int, TurnTrace] = field(default_factory=dict)
    _before: deque[int] = field(default_factory=lambda: deque(maxlen=FRAMES_BEFORE))
    _hearing: SegmentTrace | None = None
    _meant: bool = True  # what is heard is for the assistant, as far as is known
    _speaking: bool = False
    _others_go_on: bool = False  # who was not meant, behind the end of what was listened to
    _overheard: int = 0
    _at: Samples = Samples(0)

    def __post_init__(self) -> None:
        self.told = EventLog(self.salt)

    # ---- while somebody speaks ----

    def frame(self, frame: Frame, voicing: VadResult, clock: StreamClock) -> None:
        """A frame went by."""
        self._at = frame.end
        self._speaking = voicing.speaking
        if not self._speaking:
            self._forget_others()
        if self._hearing is not None:
            self._hearing.frame(voicing.speaking, clock.to_loop_s(voicing.boundary), voicing.probability)
        self._before.append(probability_byte(voicing.probability))

    def segment_opened(self, opened: OpenSegment, onset_s: float, *, meant: bool = True) -> None:
        """A segment is heard; `started` tells whose it is, `addressed` that it is meant for the assistant after all."""
        self._forget_others()
        self._meant = meant
        segment_s = onset_s - s_of_samples(opened.onset - opened.segment)
        frames = min(len(self._before), -(-(self._at - opened.segment) // FRAME_SAMPLES))
        recent = list(self._before)[len(self._before) - frames :]
        vad_start_s = onset_s + s_of_samples(self._at - opened.onset - frames * FRAME_SAMPLES)
        self._hearing = SegmentTrace(segment_s, onset_s, vad_start_s, bytearray(recent))

    def started(self, turn: int, onset_s: float) -> None:
        """What is heard belongs to this turn, which may be new."""
        trace = self._trace(turn)
        if trace.speech_start_s is None:
            trace.speech_start_s = onset_s
        if self._hearing is not None:
            trace.hearings.append(self._hearing)
            for at_s, what in self._hearing.troubles:
                trace.event("error", at_s, what)

    def addressed(self) -> None:
        """What is heard is meant for the assistant."""
        self._meant = True

    def partial(self, words: Transcript, now_s: float) -> None:
        """Words so far of the open segment."""
        if self._hearing is not None:
            score = completeness(words.text)
            digest = salted_hash(self.salt, words.text)
            self._hearing.partials.append(PartialFacts(now_s, len(words.text.split()), score, digest))

    def judged(self, estimate: EndOfTurnEstimate, now_s: float) -> None:
        """How likely the turn is over was estimated in the silence at hand."""
        for trace in self._turns.values():
            if self._is_heard_in(trace):
                sources = estimate.sources or "habits"
                detail = f"{estimate.probability:.3f} at {estimate.silence_ms:.0f} ms by {sources}"
                if estimate.pausing > SELDOM:  # from here on they are waited for longer
                    detail += f", who pauses in {100 * estimate.pausing:.0f} % of their turns"
                trace.event("judged", now_s, detail)

    def segment_ended(self, turn: int, now_s: float) -> None:
        """Nothing more of it counts. One that was nothing is a fact of the turn during which it was heard.

        Of what was for somebody else nothing is kept.
        """
        if self._for_others:
            self._hearing = None
            self.told.forget()
            self._others_go_on = self._speaking
        if self._hearing is not None:
            self._hearing.end(now_s)
            trace = self._turns.get(turn)
            if trace is not None and not self._is_heard_in(trace):
                trace.hearings.append(self._hearing)
            self._hearing = None

    # ---- an attempt ----

    def attempt(self, asked: Transcribe, now_s: float, speech_end_s: float) -> None:
        """A silence: words are asked for."""
        trace = self._trace(asked.reply.turn)
        trace.attempts = asked.reply.attempt
        trace.speech_end_s = speech_end_s
        trace.event("attempt", now_s, str(asked.reply.attempt))
        # Words that are asked for behind the endpoint were waited for since then: `stt` pays, which comes after this.
        ended_s = trace.endpoint_s
        asked_s = now_s if trace.drafted_s is None else trace.drafted_s
        until_s = asked_s if ended_s is None or ended_s < speech_end_s else min(ended_s, asked_s)
        trace.span(asked.reply.attempt, Span("silence", "endpoint_wait", speech_end_s, until_s))

    def transcribed(self, reply: ReplyId, began_s: float, now_s: float, *, draft: bool = False) -> None:
        """The words have come, or a draft of them, failed to, or are not wanted any more."""
        trace = self._trace(reply.turn)
        began_s = began_s if trace.drafted_s is None else trace.drafted_s
        trace.span(reply.attempt, Span("stt", "stt", began_s, now_s, ("silence",)))
        trace.drafted_s = began_s if draft else None
        if draft:
            trace.event("drafted", now_s, f"attempt {reply.attempt}")

    def drop(self, reply: ReplyId, now_s: float, why: str) -> None:
        """The attempt was abandoned before its commit."""
        trace = self._trace(reply.turn)
        trace.drop(reply.attempt, confirmed=why == "same words")
        trace.event("dropped", now_s, f"attempt {reply.attempt}: {why}")

    def endpoint(self, turn: int, now_s: float) -> None:
        """The turn is over."""
        trace = self._trace(turn)
        trace.endpoint_s = now_s
        trace.event("endpoint", now_s)

    def trace_of(self, reply: ReplyId) -> TurnTrace:
        """Where the attempt's spans go."""
        return self._trace(reply.turn)

    def traceparent(self, reply: ReplyId) -> str:
        """What the requests of an attempt say of their trace; "" where its spans go nowhere.

        A header without spans behind it would say "not sampled", and keep an endpoint from tracing on its own.
        """
        return traceparent(trace_id_of(self.conversation, reply.turn), reply.attempt) if self.exports else ""

    @property
    def _for_others(self) -> bool:
        return self._others_go_on or (self._hearing is not None and not self._meant)

    def _forget_others(self) -> None:
        """Who was not meant and went on speaking has ended."""
        if self._others_go_on:
            self._others_go_on = False
            self.told.forget()

    def _is_heard_in(self, trace: TurnTrace) -> bool:
        """What is heard belongs to this turn."""
        return any(hearing is self._hearing for hearing in trace.hearings)

    def _zero_at(self, zero_s: float) -> str:
        """Wall clock at the line's first sample."""
        if self.started_s is None:
            return self.started_at
        at = datetime.fromisoformat(self.started_at) + timedelta(seconds=zero_s - self.started_s)
        return at.isoformat(timespec="milliseconds")

    def _trace(self, turn: int) -> TurnTrace:
        return self._turns.setdefault(turn, TurnTrace(turn))

    # ---- the answer ----

    def commit(self, commit: CommitTurn, now_s: float, speech_end_s: float | None) -> None:
        """The gate is opened; `speech_end_s`: when the speech ended, as is known now; None: nobody spoke."""
        attempt = commit.reply.attempt
        trace = self._trace(commit.reply.turn)
        trace.committed_attempt = attempt
        trace.attempts = max(trace.attempts, attempt)  # of words that nobody spoke none was asked for
        trace.user_words, trace.rough = commit.text, commit.low_confidence
        trace.event("commit", now_s, f"attempt {attempt}")
        trace.speech_end_s = speech_end_s
        if trace.speech_end_s is None or trace.endpoint_s is None:
            trace.speech_end_s = None
            trace.no_latency_reason = commit.origin
            return
        trace.span(attempt, Span("endpoint", "endpoint_wait", trace.speech_end_s, trace.endpoint_s))
        waited: tuple[str, ...] = ("endpoint", "stt")
        if trace.again is not None:
            waited = (*waited, "again")
            asked_late = trace.again.start_s >= trace.endpoint_s
            trace.span(attempt, replace(trace.again, name="again", after=("endpoint",) if asked_late else ()))
        for_words = any((trace.end_of(attempt, name) or 0.0) > trace.endpoint_s for name in ("stt", "again"))
        trace.span(attempt, Span("commit", "stt" if for_words else "endpoint_wait", trace.endpoint_s, now_s, waited))

    def retract(self, reply: ReplyId, now_s: float) -> None:
        """The committed reply was cancelled before a word of it was heard; its turn goes on."""
        trace = self._trace(reply.turn)
        trace.drop(reply.attempt)
        trace.playout_start_s = trace.committed_attempt = trace.no_latency_reason = None
        trace.event("retracted", now_s, f"attempt {reply.attempt}")

    def event(self, turn: int, name: EventName, at_s: float, detail: str = "") -> None:
        """A moment of a turn that is being answered."""
        if turn in self._turns:
            self._turns[turn].event(name, at_s, detail)

    def trouble(self, what: str, now_s: float) -> None:
        """Something failed: a fact of every turn that is open, and of one that is about to begin."""
        if self._hearing is not None and not any(map(self._is_heard_in, self._turns.values())):
            self._hearing.troubles.append((now_s, what))
        for trace in self._turns.values():
            trace.event("error", now_s, what)

    def vad_replaced(self, vad_name: str, bias_ms: float, why: str) -> None:
        """Another detector has taken over."""
        self.engines = {**self.engines, "vad": vad_name}
        self.speech_end_bias_ms = bias_ms
        self.fallbacks.append(why)

    # ---- the end of a turn ----

    def taken_down(self, taken: RecordTurn, speech_end_s: float, clock: StreamClock) -> None:
        """The turn's words are in the history, unanswered."""
        trace = self._trace(taken.turn)
        trace.speech_end_s = speech_end_s
        trace.user_words, trace.rough = taken.text, taken.low_confidence
        self.finish(taken.turn, "taken down", "", clock)

    def nothing_said(self, nothing: TurnDiscarded, speech_end_s: float, clock: StreamClock) -> None:
        """There was voice, but nothing to answer."""
        if nothing.reason == "overheard":
            self.overheard(nothing.turn)
            return
        trace = self._trace(nothing.turn)
        trace.speech_end_s, trace.rough = speech_end_s, nothing.reason == "noise"
        self.finish(nothing.turn, nothing.reason, "", clock)

    def overheard(self, turn: int) -> None:
        """What was said was not meant for the assistant: of it is kept that it happened, and nothing else."""
        self._turns.pop(turn, None)
        self.told.forget()
        self._overheard += 1

    def give_up(self, clock: StreamClock, error: str | None = None) -> None:
        """The conversation ends here and now: what is open is written as it stands. `error`: what broke it off."""
        for turn, trace in list(self._turns.items()):
            if trace.speech_start_s is None and error is None:
                continue  # words that came after the end of their turn
            if self._for_others and self._is_heard_in(trace):
                self.overheard(turn)
                continue
            trace.error = trace.error or error
            self.finish(turn, "failed" if error else "cleared", "", clock)

    def finish(self, turn: int, outcome: Outcome, heard: str, clock: StreamClock) -> None:
        """Everything about the turn is known: write its record."""
        trace = self._turns.pop(turn, None)
        if trace is None:
            return
        if self._for_others:
            self.told.forget()
        # Without a single frame there is no line yet: times are then as good as any on one of their own.
        zero_s = clock.to_loop_s(Samples(0)) if clock.running else 0.0
        record = trace.record(
            ConversationTimeline(self.conversation, self._zero_at(zero_s), zero_s, self.speech_end_bias_ms),
            outcome,
            engines={**self.engines, **self.in_use()},
            fallbacks=tuple(self.fallbacks),
            counters={**self.counters(), **({"overheard": self._overheard} if self._overheard else {})},
            assistant_words=heard if self.keep_words else None,
            told=self.told.drain(),
        )
        self.write(record)
        self.show(TurnFinished(record))
