"""Figures of the engines that served the turns, and of the endpoints that were asked. No I/O, no clock."""

from array import array
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from assistant.trace_report.facts import Try, TurnFacts
from assistant.trace_report.statistics import Spread, ordered, spread


@dataclass(frozen=True, slots=True)
class EngineFigures:
    """Figures of one engine or endpoint.

    Attributes:
        turns: Turns that it served.
        failed: Turns among them with an error.
        latency: Response latency of these turns.
        work: Time of its own stage: transcript, first token, or first sound; hidden work included. Without turns that
            failed.
        per_speech: Recognizers: time of its stage per second of speech, over all turns. None for other engines.
        real_time: Real-time factor. Recognizers: waiting for transcripts, in all attempts, per second of speech. TTS
            engines: synthesis time per second of sound, heard or not. None if unknown.
    """

    turns: int
    failed: int
    latency: Spread | None
    work: Spread | None
    per_speech: float | None
    real_time: float | None


@dataclass(frozen=True, slots=True)
class AskedFigures:
    """Figures of one of several LLM endpoints.

    Attributes:
        asked: Number of requests.
        outcomes: Requests by outcome: answered, overtaken, failed, given up.
        reasons: Requests by reason: first, failover, hedge, look.
        first_token: Time to the first token of the requests that it answered, in milliseconds.
        tokens_in_vain: Requested tokens that were not used, as far as they are known.
    """

    asked: int
    outcomes: dict[str, int]
    reasons: dict[str, int]
    first_token: Spread | None
    tokens_in_vain: int


def floats() -> "array[float]":
    """Returns an empty array of 32-bit floats."""
    return array("f")


@dataclass(slots=True)
class EngineTally:
    """Accumulates the figures of one engine over turns."""

    turns: int = 0
    failed: int = 0
    latency: "array[float]" = field(default_factory=floats)
    work: "array[float]" = field(default_factory=floats)
    work_ms: float = 0.0
    speech_ms: float = 0.0
    busy_ms: float = 0.0
    busy_for_ms: float = 0.0

    def add_turn(
        self, facts: TurnFacts, work_ms: float | None, *, busy_ms: float = 0.0, busy_for_ms: float = 0.0
    ) -> None:
        """Adds a turn that the engine served. It was busy for `busy_ms` with `busy_for_ms` of sound."""
        self.busy_ms += busy_ms
        self.busy_for_ms += busy_for_ms
        self.turns += 1
        self.failed += facts.failed
        if facts.latency_ms is not None:
            self.latency.append(facts.latency_ms)
        if work_ms is not None and not facts.failed:
            self.work.append(work_ms)
            if facts.speech_ms:
                self.work_ms += work_ms
                self.speech_ms += facts.speech_ms

    def merge(self, other: "EngineTally") -> None:
        """Adds the counts of another tally of the same engine."""
        self.turns += other.turns
        self.failed += other.failed
        self.latency += other.latency
        self.work += other.work
        self.work_ms += other.work_ms
        self.speech_ms += other.speech_ms
        self.busy_ms += other.busy_ms
        self.busy_for_ms += other.busy_for_ms

    def figures(self, *, per_speech: bool) -> EngineFigures:
        """Returns the figures so far."""
        rate = round(self.work_ms / self.speech_ms, 4) if per_speech and self.speech_ms else None
        real_time = round(self.busy_ms / self.busy_for_ms, 4) if self.busy_for_ms else None
        return EngineFigures(
            self.turns, self.failed, spread(ordered(self.latency)), spread(ordered(self.work)), rate, real_time
        )  # fmt: skip


@dataclass(slots=True)
class AskedTally:
    """Accumulates the figures of one endpoint over turns."""

    outcomes: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    first_token: "array[float]" = field(default_factory=floats)
    tokens_in_vain: int = 0

    def add_request(self, tried: Try) -> None:
        """Adds a request to the endpoint."""
        self.outcomes[tried.outcome] += 1
        self.reasons[tried.why] += 1
        self.tokens_in_vain += tried.tokens_in_vain
        if tried.outcome == "answered":
            self.first_token.append(tried.took_ms)

    def merge(self, later: "AskedTally") -> None:
        """Adds the counts of another tally of the same endpoint."""
        self.outcomes.update(later.outcomes)
        self.reasons.update(later.reasons)
        self.first_token += later.first_token
        self.tokens_in_vain += later.tokens_in_vain

    def figures(self) -> AskedFigures:
        """Returns the figures so far."""
        outcomes, reasons = dict(self.outcomes.most_common()), dict(self.reasons.most_common())
        first_token = spread(ordered(self.first_token))
        return AskedFigures(self.outcomes.total(), outcomes, reasons, first_token, self.tokens_in_vain)


def engine_figures(engines: Mapping[str, EngineTally], *, per_speech: bool = False) -> dict[str, EngineFigures]:
    """Returns the figures by engine, the most used engine first."""
    most_used = sorted(engines.items(), key=lambda item: (-item[1].turns, item[0]))
    return {name: engine.figures(per_speech=per_speech) for name, engine in most_used}


def asked_figures(endpoints: Mapping[str, AskedTally]) -> dict[str, AskedFigures]:
    """Returns the figures by endpoint, the most often asked endpoint first."""
    by_name = {name: endpoint.figures() for name, endpoint in endpoints.items()}
    return dict(sorted(by_name.items(), key=lambda item: (-item[1].asked, item[0])))
