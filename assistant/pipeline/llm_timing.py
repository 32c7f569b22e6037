"""Measures the wait for a reply's first text chunk: queue, network, first token, first sentence."""

from dataclasses import dataclass

from assistant.pipeline.turn_trace import TurnTrace
from assistant.tools.rounds import ToolWait
from assistant.trace.latency import Span, Stage
from llm.chat import EndpointTried, PartAnswered


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
