"""Collects the facts of each turn of a conversation and writes the turn record when the turn is complete."""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from assistant.end_of_turn.completeness import completeness
from assistant.end_of_turn.dictation.dictation_rules import NOTHING
from assistant.end_of_turn.estimator import SELDOM, EndOfTurnEstimate
from assistant.events import SessionEvent, TurnFinished
from assistant.pipeline.busy_machine import BusyMachine, share_of_others
from assistant.pipeline.transcript_requests import RecognizerRequest
from assistant.pipeline.turn_trace import ConversationTimeline, PartialFacts, SegmentTrace, TurnTrace, salted_hash
from assistant.trace.context import trace_id_of, traceparent
from assistant.trace.latency import Span
from assistant.trace.record import EventName, Outcome, TurnRecord
from assistant.turns.effects import CommitTurn, CommitWithoutReply, OpenSegment, TurnDiscarded
from assistant.turns.events import ReplyId
from assistant.turns.log.event_entries import probability_byte
from assistant.turns.log.event_log import EventLog
from audio.clock import StreamClock
from audio.frame import Frame, SilentSpan
from audio.stt import Transcript
from audio.units import FRAME_SAMPLES, Samples, s_of_samples
from audio.vad import VadResult

FRAMES_BEFORE = 150
"""VAD results kept from before a segment: 3 s, more than pre-roll, VAD delay and speech candidate together."""


@dataclass(slots=True)
class Recorder:
    """Traces of the open turns of one conversation. Times are loop seconds.

    Attributes:
        conversation_id: Random id.
        started_at: Wall clock at loop time `started_s`, ISO 8601; if `started_s` is None, at the first sample.
        salt: For hashes of transcripts; new for every conversation, never written down.
        engines: Engine name per stage, and why the recognizer has its model.
        fallbacks: Engines that replace configured ones, and why; grows when an engine is replaced.
        keep_words: Whether words may be recorded.
        speech_end_bias_ms: Bias of the VAD's speech end.
        counters: Returns the conversation's counters; called at the end of every turn.
        write: Receives the turn records; must not block.
        on_event: Receives a TurnFinished event for each turn record.
        started_s: See `started_at`.
        exports: Whether turns are exported as OpenTelemetry spans. Requests to LLM endpoints then carry a trace id.
        input_ended_s: When a key or the client ended the turn that ends now; None while the VAD ends turns.
        in_use: Returns engines that may have changed, such as the microphone; called at the end of every turn.
        tracing: Names that the client gives to its traces.
        event_log: Log of the events of turn taking, from which its decisions can be replayed.
    """

    conversation_id: str
    started_at: str
    salt: bytes
    engines: dict[str, str]
    fallbacks: list[str]
    keep_words: bool
    speech_end_bias_ms: float
    counters: Callable[[], Mapping[str, int]]
    write: Callable[[TurnRecord], None]
    on_event: Callable[[SessionEvent], None]
    started_s: float | None = None
    exports: bool = False
    in_use: Callable[[], Mapping[str, str]] = dict
    tracing: Mapping[str, str] = field(default_factory=dict)
    input_ended_s: float | None = None
    busy_machine: BusyMachine | None = None
    event_log: EventLog = field(init=False)
    _turns: dict[int, TurnTrace] = field(default_factory=dict)
    _recent_vad: deque[int] = field(default_factory=lambda: deque(maxlen=FRAMES_BEFORE))
    _segment: SegmentTrace | None = None
    _is_addressed: bool = True  # the open segment is addressed to the assistant, as far as is known
    _speaking: bool = False
    _overheard_continues: bool = False  # overheard speech continues after its segment
    _overheard: int = 0
    _inserted_frames: int = 0
    _position: Samples = Samples(0)

    def __post_init__(self) -> None:
        self.event_log = EventLog(self.salt)

    # ---- while the user speaks ----

    def frame_received(self, frame: Frame) -> None:
        """Counts the frames that the microphone inserted. `frame`: as the microphone gave it."""
        self._inserted_frames += frame.is_inserted

    def silence_passed(self, span: SilentSpan) -> None:
        """Counts inserted silence that comes in one piece."""
        frames = (span.end - span.start) // FRAME_SAMPLES
        self._inserted_frames += frames
        self._position = span.end
        self._recent_vad.extend(bytes(min(frames, FRAMES_BEFORE)))

    def frame(self, frame: Frame, vad_result: VadResult, clock: StreamClock) -> None:
        """Records a frame's VAD result."""
        self._position = frame.end
        self._speaking = vad_result.speaking
        if not self._speaking:
            self._end_overheard()
        if self._segment is not None:
            self._segment.frame(vad_result.speaking, clock.to_loop_s(vad_result.boundary), vad_result.probability)
        self._recent_vad.append(probability_byte(vad_result.probability))

    def segment_opened(self, effect: OpenSegment, onset_s: float, *, addressed: bool = True) -> None:
        """Starts the trace of a segment. `turn_started` assigns it to a turn; `addressed`: it is for the assistant."""
        self._end_overheard()
        self._is_addressed = addressed
        segment_s = onset_s - s_of_samples(effect.onset - effect.segment)
        frames = min(len(self._recent_vad), -(-(self._position - effect.segment) // FRAME_SAMPLES))
        recent = list(self._recent_vad)[len(self._recent_vad) - frames :]
        vad_start_s = onset_s + s_of_samples(self._position - effect.onset - frames * FRAME_SAMPLES)
        self._segment = SegmentTrace(segment_s, onset_s, vad_start_s, bytearray(recent))

    def turn_started(self, turn: int, onset_s: float) -> None:
        """Assigns the current segment to a turn, which may be new."""
        if self.busy_machine is not None:
            self.busy_machine.begin_turn()
        trace = self._trace(turn)
        trace.go_on(onset_s)
        if trace.speech_start_s is None:
            trace.speech_start_s = onset_s
        if self._segment is not None:
            trace.segments.append(self._segment)
            for at_s, what in self._segment.problems:
                trace.event("error", at_s, what)

    def mark_addressed(self) -> None:
        """Marks the current segment as addressed to the assistant."""
        self._is_addressed = True

    def interim_transcript(self, words: Transcript, now_s: float) -> None:
        """Records an interim transcript of the open segment."""
        if self._segment is not None:
            score = completeness(words.text)
            digest = salted_hash(self.salt, words.text)
            self._segment.partials.append(PartialFacts(now_s, len(words.text.split()), score, digest))

    def end_of_turn_estimated(self, estimate: EndOfTurnEstimate, now_s: float) -> None:
        """Records an EOT estimate in the current silence."""
        for trace in self._turns.values():
            if self._is_segment_of(trace):
                sources = estimate.sources or "habits"
                detail = f"{estimate.probability:.3f} at {estimate.silence_ms:.0f} ms by {sources}"
                if estimate.pausing > SELDOM:  # such speakers get a longer silence timeout
                    detail += f", who pauses in {100 * estimate.pausing:.0f} % of their turns"
                if estimate.dictation != NOTHING:
                    detail += f", {estimate.dictation.described}"
                trace.event("estimate", now_s, detail)

    def segment_ended(self, turn: int, now_s: float) -> None:
        """Ends the segment. A discarded segment is added to the turn during which it was heard.

        Nothing is kept of speech that was not addressed to the assistant.
        """
        if self._is_overheard:
            self._segment = None
            self.event_log.forget()
            self._overheard_continues = self._speaking
        if self._segment is not None:
            self._segment.end(now_s)
            trace = self._turns.get(turn)
            if trace is not None and not self._is_segment_of(trace):
                trace.segments.append(self._segment)
            self._segment = None

    # ---- an attempt ----

    def transcript_requested(self, request: RecognizerRequest, now_s: float, speech_end_s: float) -> None:
        """Records that a transcript was requested in a silence."""
        trace = self._trace(request.reply_id.turn)
        trace.attempts = request.reply_id.attempt
        trace.speech_end_s = speech_end_s
        trace.event("attempt", now_s, str(request.reply_id.attempt))
        # Waiting for a transcript that was requested after the end of turn counts as `stt`, the next span.
        ended_s = trace.endpoint_s
        asked_s = now_s if trace.drafted_s is None else trace.drafted_s
        until_s = asked_s if ended_s is None or ended_s < speech_end_s else min(ended_s, asked_s)
        trace.span(request.reply_id.attempt, Span("silence", "endpoint_wait", speech_end_s, until_s))

    def foreseen(self, reply_id: ReplyId, now_s: float) -> None:
        """Records that an attempt began while the user spoke."""
        trace = self._trace(reply_id.turn)
        trace.attempts = reply_id.attempt
        trace.span(reply_id.attempt, Span("stt", "stt", now_s, now_s))  # it waits for no transcript
        trace.event("foreseen", now_s, f"attempt {reply_id.attempt}")

    def transcribed(self, reply_id: ReplyId, began_s: float, now_s: float, *, draft: bool = False) -> None:
        """Records that a transcript or draft arrived, failed or was abandoned."""
        trace = self._trace(reply_id.turn)
        began_s = began_s if trace.drafted_s is None else trace.drafted_s
        trace.span(reply_id.attempt, Span("stt", "stt", began_s, now_s, ("silence",)))
        trace.drafted_s = began_s if draft else None
        if draft:
            trace.event("drafted", now_s, f"attempt {reply_id.attempt}")

    def drop(self, reply_id: ReplyId, now_s: float, reason: str) -> None:
        """Records that an attempt was abandoned before its commit."""
        trace = self._trace(reply_id.turn)
        trace.drop(reply_id.attempt, confirmed=reason == "same words")
        trace.event("dropped", now_s, f"attempt {reply_id.attempt}: {reason}")

    def end_of_turn(self, turn: int, now_s: float) -> None:
        """Records the end of the user's turn."""
        trace = self._trace(turn)
        trace.endpoint_s, trace.input_ended_s = now_s, self.input_ended_s
        trace.event("endpoint", now_s)

    def trace_of(self, reply_id: ReplyId) -> TurnTrace:
        """Returns the turn trace that the attempt's spans go to."""
        return self._trace(reply_id.turn)

    def traceparent(self, reply_id: ReplyId) -> str:
        """Returns the trace header of an attempt's requests; "" where spans are not exported.

        A header without exported spans would say "not sampled" and would prevent an endpoint from tracing the request.
        """
        return traceparent(trace_id_of(self.conversation_id, reply_id.turn), reply_id.attempt) if self.exports else ""

    @property
    def _is_overheard(self) -> bool:
        return self._overheard_continues or (self._segment is not None and not self._is_addressed)

    def _end_overheard(self) -> None:
        """Ends the exclusion of speech that was not addressed to the assistant and has now ended."""
        if self._overheard_continues:
            self._overheard_continues = False
            self.event_log.forget()

    def _is_segment_of(self, trace: TurnTrace) -> bool:
        """Returns whether the open segment belongs to this turn."""
        return any(segment is self._segment for segment in trace.segments)

    def _wall_clock_at(self, zero_s: float) -> str:
        """Returns the wall clock at the first sample of the microphone."""
        if self.started_s is None:
            return self.started_at
        wall_clock = datetime.fromisoformat(self.started_at) + timedelta(seconds=zero_s - self.started_s)
        return wall_clock.isoformat(timespec="milliseconds")

    def _trace(self, turn: int) -> TurnTrace:
        return self._turns.setdefault(turn, TurnTrace(turn))

    # ---- the reply ----

    def commit(self, commit: CommitTurn, now_s: float, speech_end_s: float | None) -> None:
        """Records the commit. `speech_end_s`: end of the user's speech, as known now; None: no speech.

        If a key or the client ended the turn, its latency counts from there: nobody waits for a reply before.
        """
        attempt = commit.reply_id.attempt
        trace = self._trace(commit.reply_id.turn)
        trace.committed_attempt = attempt
        trace.attempts = max(trace.attempts, attempt)  # typed text needs no transcript
        trace.user_words, trace.low_confidence = commit.text, commit.low_confidence
        trace.event("commit", now_s, f"attempt {attempt}")
        trace.speech_end_s = speech_end_s
        if speech_end_s is not None and trace.input_ended_s is not None:
            trace.speech_end_s = trace.input_ended_s
        if trace.speech_end_s is None or trace.endpoint_s is None:
            trace.speech_end_s = None
            trace.no_latency_reason = commit.origin
            return
        trace.span(attempt, Span("endpoint", "endpoint_wait", trace.speech_end_s, trace.endpoint_s))
        predecessors: tuple[str, ...] = ("endpoint", "stt")
        if trace.recheck_span is not None:
            predecessors = (*predecessors, "again")
            asked_late = trace.recheck_span.start_s >= trace.endpoint_s
            trace.span(attempt, replace(trace.recheck_span, name="again", after=("endpoint",) if asked_late else ()))
        for_words = any((trace.end_of(attempt, name) or 0.0) > trace.endpoint_s for name in ("stt", "again"))
        trace.span(
            attempt, Span("commit", "stt" if for_words else "endpoint_wait", trace.endpoint_s, now_s, predecessors)
        )

    def speaker_known(self, turn: int, speaker: str) -> None:
        """Records who spoke in a turn."""
        self._trace(turn).speaker = speaker

    def language_known(self, turn: int, language: str) -> None:
        """Records the language of a turn, where the conversation follows the user's."""
        self._trace(turn).language = language

    def retract(self, reply_id: ReplyId, now_s: float) -> None:
        """Records that a committed reply was retracted, because the user went on. Its turn continues."""
        trace = self._trace(reply_id.turn)
        trace.drop(reply_id.attempt)
        trace.withdraw(now_s)
        trace.event("retracted", now_s, f"attempt {reply_id.attempt}")

    def event(self, turn: int, name: EventName, at_s: float, detail: str = "") -> None:
        """Records an event of a turn that is being answered."""
        if turn in self._turns:
            self._turns[turn].event(name, at_s, detail)

    def problem(self, what: str, now_s: float) -> None:
        """Records a problem on every open turn, and on the turn that the open segment will start."""
        if self._segment is not None and not any(map(self._is_segment_of, self._turns.values())):
            self._segment.problems.append((now_s, what))
        for trace in self._turns.values():
            trace.event("error", now_s, what)

    def vad_replaced(self, vad_name: str, bias_ms: float, reason: str) -> None:
        """Records that another VAD has taken over."""
        self.engines = {**self.engines, "vad": vad_name}
        self.speech_end_bias_ms = bias_ms
        self.fallbacks.append(reason)

    # ---- the end of a turn ----

    def commit_without_reply(self, effect: CommitWithoutReply, speech_end_s: float, clock: StreamClock) -> None:
        """Finishes a turn whose words went into the history without a reply."""
        trace = self._trace(effect.turn)
        trace.speech_end_s = speech_end_s
        trace.user_words, trace.low_confidence = effect.text, effect.low_confidence
        self.finish(effect.turn, "taken down", "", clock)

    def turn_discarded(self, discarded: TurnDiscarded, speech_end_s: float, clock: StreamClock) -> None:
        """Finishes a turn of speech that gave nothing to answer."""
        if discarded.reason == "overheard":
            self.overheard(discarded.turn)
            return
        trace = self._trace(discarded.turn)
        trace.speech_end_s, trace.low_confidence = speech_end_s, discarded.reason == "noise"
        self.finish(discarded.turn, discarded.reason, "", clock)

    def overheard(self, turn: int) -> None:
        """Discards a turn that was not addressed to the assistant. Only a counter records it."""
        self._turns.pop(turn, None)
        self.event_log.forget()
        self._overheard += 1

    def finish_all(self, clock: StreamClock, error: str | None = None) -> None:
        """Writes all open turns as they are, because the conversation ends. `error`: why it ended early."""
        for turn, trace in list(self._turns.items()):
            if trace.speech_start_s is None and error is None:
                continue  # a transcript that arrived after the end of its turn
            if self._is_overheard and self._is_segment_of(trace):
                self.overheard(turn)
                continue
            trace.error = trace.error or error
            self.finish(turn, "failed" if error else "cleared", "", clock)

    def finish(self, turn: int, outcome: Outcome, heard: str, clock: StreamClock) -> None:
        """Writes the record of a complete turn."""
        trace = self._turns.pop(turn, None)
        if trace is None:
            return
        if self._is_overheard:
            self.event_log.forget()
        # Without a single frame the sample clock does not run yet: any zero point will do.
        zero_s = clock.to_loop_s(Samples(0)) if clock.running else 0.0
        counters = {**self.counters(), "inserted_frames": self._inserted_frames}
        if self._overheard:
            counters["overheard"] = self._overheard
        record = trace.record(
            ConversationTimeline(self.conversation_id, self._wall_clock_at(zero_s), zero_s, self.speech_end_bias_ms),
            outcome,
            engines={**self.engines, **self.in_use()},
            fallbacks=tuple(self.fallbacks),
            counters=counters,
            assistant_words=heard if self.keep_words else None,
            turn_events=self.event_log.drain(),
        )
        record = replace(record, tracing=dict(self.tracing)) if self.tracing else record
        load = None if self.busy_machine is None else self.busy_machine.load()
        if load is not None:
            record = replace(record, busy_others=share_of_others(load))
        self.write(record)
        self.on_event(TurnFinished(record))
        if self.busy_machine is not None and load is not None:
            self.busy_machine.tell(record, load)
