"""Records LLM metrics on the turn trace: the wait for the first text chunk, tokens, and the audio made of them."""

from dataclasses import dataclass
from typing import assert_never

from assistant.pipeline.turn_trace import AnswerTrace, TurnTrace
from assistant.tools.rounds import ApprovalNeeded, ReplyEvent, ResultsDelivered, ToolsCalled, ToolsReturned, ToolWait
from assistant.trace.latency import Span, Stage
from assistant.trace.record import EventName
from audio.units import REPLY_RATE_HZ
from llm.chat import (
    AnsweringEndpoint,
    CacheLookup,
    CallInProgress,
    EndpointTried,
    Escalated,
    FallbackAnswers,
    Finished,
    FunctionCall,
    OtherSizeAnswers,
    PartAnswered,
    RequestSent,
    SizeChosen,
    SlotAcquired,
    Token,
)


@dataclass(slots=True)
class LlmTiming:
    """Measures one LLM stream from its start to its first text chunk. Times are loop seconds."""

    trace: TurnTrace
    attempt: int
    since_s: float
    _last: tuple[str, ...] = ("stt",)
    _round: int = 1
    _calls: int = 0
    _slot_s: float | None = None
    _network_until_s: float | None = None
    _has_token: bool = False
    _has_chunk: bool = False
    _tries: int = 0

    def slot_acquired(self, now_s: float) -> None:
        """Records that a connection slot was acquired. With several endpoints, the last call counts."""
        self._slot_s = now_s

    def request_sent(self, now_s: float, round_trip_s: float | None) -> None:
        """Records that the request was sent. If the round trip is unknown, only the sending counts as network."""
        self._network_until_s = now_s + (round_trip_s or 0.0)

    def tried(self, tried: EndpointTried) -> None:
        """Records a request to an endpoint that gave no answer. No other span waits for it."""
        self._tries += 1
        name = f"asked {tried.endpoint} ({self._tries})"
        end_s = tried.asked_at_s + tried.took_s
        self.trace.span(self.attempt, Span(name, "llm_first_token", tried.asked_at_s, end_s, ("stt",)))

    def part_answered(self, part: PartAnswered) -> None:
        """Records the wait for one part of a document. No other span waits for it: the parts are told in order."""
        end_s = part.ended_s if part.first_token_s is None else part.first_token_s
        self.trace.span(self.attempt, Span(f"part {part.number}", "llm_first_token", part.asked_at_s, end_s, ("stt",)))

    def token(self, now_s: float) -> None:
        """Records the first token; later calls have no effect."""
        if self._has_token:
            return
        self._has_token = True
        if self._slot_s is not None:
            self._span("queue", min(now_s, self._slot_s))
        if self._network_until_s is not None:
            self._span("llm_network", min(now_s, self._network_until_s))
        self._span("llm_first_token", now_s)

    def tools_returned(self, waits: tuple[ToolWait, ...], now_s: float) -> None:
        """Records tool calls, after which the LLM is asked again. The new request gets spans named after its round.

        After the first text chunk only the tool calls themselves are recorded: later requests delay nothing.
        """
        names = []
        for wait in waits:
            self._calls += 1
            names.append(f"tool {wait.name} ({self._calls})")
            self.trace.span(self.attempt, Span(names[-1], "queue", wait.start_s, wait.end_s, (*self._last, "commit")))
        self._round += 1
        if not self._has_chunk:
            self._last, self.since_s = tuple(names), now_s
            self._slot_s = self._network_until_s = None
            self._has_token = False

    def first_chunk(self, now_s: float) -> None:
        """Records the first text chunk; later calls have no effect."""
        self.token(now_s)  # an apology has no tokens
        if not self._has_chunk:
            self._has_chunk = True
            self._span("first_sentence", now_s)

    def abandoned(self, now_s: float) -> None:
        """Ends the current span, because the attempt was abandoned."""
        if not self._has_token:
            self.token(now_s)
        else:
            self.first_chunk(now_s)

    def _span(self, stage: Stage, end_s: float) -> None:
        end_s = max(self.since_s, end_s)
        name = stage if self._round == 1 or stage == "first_sentence" else f"{stage} {self._round}"
        self.trace.span(self.attempt, Span(name, stage, self.since_s, end_s, self._last))
        self._last, self.since_s = (name,), end_s


class LlmMetrics:
    """Metrics of one attempt. Times are loop seconds."""

    def __init__(self, trace: TurnTrace, attempt: int, answered_by: str, now_s: float) -> None:
        """Starts the metrics when `answered_by`, an LLM endpoint or skill, is asked."""
        self._trace = trace
        self._attempt = attempt
        self._timing = LlmTiming(trace, attempt, since_s=now_s)
        self._answer = trace.answers[attempt] = AnswerTrace(answered_by, now_s)

    def record(self, event: ReplyEvent, now_s: float) -> None:  # noqa: C901, PLR0912 - one case for each kind
        """Records the next event of the LLM or of a tool."""
        match event:
            case AnsweringEndpoint() | CacheLookup() | EndpointTried() | FallbackAnswers():
                self._who_answers(event, now_s)
            case SizeChosen():
                self._event("size", now_s, f"{event.size}, {event.why}")
            case OtherSizeAnswers():
                self._event("other_size", now_s, f"{event.by} answers, because no {event.requested_size} endpoint can")
            case Escalated():
                end = ", no large endpoint answers, so its words are used" if event.failed else ""
                self._event("escalated", now_s, f"{self._answer.by} {event.why}{end}")
            case SlotAcquired():
                self._timing.slot_acquired(now_s if event.at_s is None else event.at_s)
            case RequestSent():
                self._timing.request_sent(now_s if event.at_s is None else event.at_s, event.round_trip_s)
            case Token():
                self._timing.token(now_s)
                self._answer.add_piece(now_s, piece=True)
            case CallInProgress():
                pass  # the complete call follows as a FunctionCall
            case FunctionCall():
                self._timing.token(now_s)
                self._answer.add_piece(now_s, piece=False)
            case Finished():
                self._answer.end(now_s, event)
                unread = f"; calls that could not be read: {event.unread_calls}" if event.unread_calls else ""
                self._event("model_finished", now_s, event.reason + unread)
            case ToolsCalled():
                self._timing.token(now_s)
                self._answer.add_piece(now_s, piece=False)
                self._event("model_finished", now_s, event.reason)
            case ToolsReturned():
                self._tools_returned(event, now_s)
            case ResultsDelivered():
                self._results_delivered(event, now_s)
            case ApprovalNeeded():
                self._event("tool", now_s, "waits for approval")
            case PartAnswered():
                self._part_answered(event)
            case _:
                assert_never(event)

    def chunk_complete(self, now_s: float) -> None:
        """Records that a text chunk is complete."""
        self._timing.first_chunk(now_s)

    def synthesized(self, took_s: float, samples: int) -> None:
        """Records that synthesis took `took_s` for `samples` samples at 24 kHz."""
        self._answer.voice_s += took_s
        self._answer.sound_s += samples / REPLY_RATE_HZ

    def failed(self, now_s: float) -> None:
        """Records that the answer ended with an error."""
        self._answer.end(now_s)

    def abandoned(self, now_s: float) -> None:
        """Records that the answer was abandoned. The time waited so far stays in the trace."""
        self._timing.abandoned(now_s)
        self._answer.end(now_s)

    def _who_answers(
        self, event: AnsweringEndpoint | CacheLookup | EndpointTried | FallbackAnswers, now_s: float
    ) -> None:
        match event:
            case AnsweringEndpoint():
                self._answer.by = event.by
            case CacheLookup():
                self._event("cache", now_s, f"{event.outcome}{event.detail and ': '}{event.detail}")
            case EndpointTried():
                self._tried(event, now_s)
            case FallbackAnswers():
                self._event("fallback", now_s, f"{event.by} answers, because no other endpoint can")

    def _tried(self, tried: EndpointTried, now_s: float) -> None:
        """Records an endpoint's result as an event, and as a span if it was of no use."""
        cost = f", {tried.extra_tokens} tokens in vain" if tried.extra_tokens else ""
        price = f" ({tried.extra_cost:.6f})" if tried.extra_cost else ""
        took = f"{tried.why}, {tried.outcome} after {tried.took_s * 1000:.0f} ms"
        self._event("tried", now_s, f"{tried.endpoint}: {took}{cost}{price}")
        if tried.outcome != "answered":
            self._timing.tried(tried)

    def _tools_returned(self, returned: ToolsReturned, now_s: float) -> None:
        for wait in returned.waits:
            took = f"{wait.outcome} after {(wait.end_s - wait.start_s) * 1000:.0f} ms, {wait.chars} characters"
            self._event("tool", wait.end_s, f"{wait.name}: {took}")
        self._timing.tools_returned(returned.waits, now_s)

    def _results_delivered(self, event: ResultsDelivered, now_s: float) -> None:
        for delivery in event.deliveries:
            took = f"{delivery.outcome} after {delivery.took_s * 1000:.0f} ms, {len(delivery.use.output)} characters"
            self._event("delivered", now_s, f"{delivery.use.call.name}: {took}")

    def _part_answered(self, part: PartAnswered) -> None:
        """Records a part of a document that was summarized, as an event and as a span."""
        took = f"{'failed' if part.failed else 'answered'} after {(part.ended_s - part.asked_at_s) * 1000:.0f} ms"
        if part.first_token_s is not None:
            took += f", first token after {(part.first_token_s - part.asked_at_s) * 1000:.0f} ms"
        asked = "" if part.requests == 1 else f", asked {part.requests} times"
        self._event("part", part.ended_s, f"part {part.number} by {part.by}: {took}{asked}, {part.chars} characters")
        self._timing.part_answered(part)

    def _event(self, name: EventName, at_s: float, what: str) -> None:
        self._trace.event(name, at_s, f"attempt {self._attempt}: {what}")
