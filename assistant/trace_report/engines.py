"""Figures of what served the turns: engines, and endpoints that were asked. Pure."""

from array import array
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from assistant.trace_report.facts import Try, TurnFacts
from assistant.trace_report.statistics import Spread, ordered, spread


@dataclass(frozen=True, slots=True)
class EngineFigures:
    """One engine or endpoint.

    Attributes:
        turns: That it served.
        failed: Of those, with an error.
        latency: Their response latency.
        work: Its own part: words, first token, or first sound; waited for or not.
        per_speech: Recognizers: its part of the work per second of speech, over all turns; None for others.
        real_time: Recognizers: waiting for words, in all attempts, per second of speech. Voices: making sound, heard or
            not, per second of sound. None where it is not known.
    """

    turns: int
    failed: int
    latency: Spread | None
    work: Spread | None
    per_speech: float | None
    real_time: float | None


@dataclass(frozen=True, slots=True)
class AskedFigures:
    """One of several endpoints.

    Attributes:
        asked: How often.
        outcomes: What came of it: answered, overtaken, failed, given up.
        reasons: Why it was asked: first, failover, hedge, look.
        first_token: Of those that answered, ms.
        tokens_in_vain: Asked of it and not used, as far as it can be known.
    """

    asked: int
    outcomes: dict[str, int]
    reasons: dict[str, int]
    first_token: Spread | None
    tokens_in_vain: int


def floats() -> "array[float]":
    """Room for values of four bytes."""
    return array("f")


@dataclass(slots=True)
class EngineTally:
    """Counts of one engine while turns come in."""

    turns: int = 0
    failed: int = 0
    latency: "array[float]" = field(default_factory=floats)
    work: "array[float]" = field(default_factory=floats)
    work_ms: float = 0.0
    speech_ms: float = 0.0
    busy_ms: float = 0.0
    busy_for_ms: float = 0.0

    def add(self, facts: TurnFacts, work_ms: float | None, *, busy_ms: float = 0.0, busy_for_ms: float = 0.0) -> None:
        """It served one more turn, and was busy so long for so much sound."""
        self.busy_ms += busy_ms
        self.busy_for_ms += busy_for_ms
        self.turns += 1
        self.failed += facts.failed
        if facts.latency_ms is not None:
            self.latency.append(facts.latency_ms)
        if work_ms is not None:
            self.work.append(work_ms)
            if facts.speech_ms:
                self.work_ms += work_ms
                self.speech_ms += facts.speech_ms

    def merge(self, other: "EngineTally") -> None:
        """What another tally has of it."""
        self.turns += other.turns
        self.failed += other.failed
        self.latency += other.latency
        self.work += other.work
        self.work_ms += other.work_ms
        self.speech_ms += other.speech_ms
        self.busy_ms += other.busy_ms
        self.busy_for_ms += other.busy_for_ms

    def figures(self, *, per_speech: bool) -> EngineFigures:
        """So far."""
        rate = round(self.work_ms / self.speech_ms, 4) if per_speech and self.speech_ms else None
        real_time = round(self.busy_ms / self.busy_for_ms, 4) if self.busy_for_ms else None
        return EngineFigures(
            self.turns, self.failed, spread(ordered(self.latency)), spread(ordered(self.work)), rate, real_time
        )  # fmt: skip


@dataclass(slots=True)
class AskedTally:
    """Counts of one endpoint while turns come in."""

    outcomes: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    first_token: "array[float]" = field(default_factory=floats)
    tokens_in_vain: int = 0

    def add(self, tried: Try) -> None:
        """It was asked once more."""
        self.outcomes[tried.outcome] += 1
        self.reasons[tried.why] += 1
        self.tokens_in_vain += tried.tokens_in_vain
        if tried.outcome == "answered":
            self.first_token.append(tried.took_ms)

    def merge(self, later: "AskedTally") -> None:
        """What another tally has of it."""
        self.outcomes.update(later.outcomes)
        self.reasons.update(later.reasons)
        self.first_token += later.first_token
        self.tokens_in_vain += later.tokens_in_vain

    def figures(self) -> AskedFigures:
        """So far."""
        outcomes, reasons = dict(self.outcomes.most_common()), dict(self.reasons.most_common())
        first_token = spread(ordered(self.first_token))
        return AskedFigures(self.outcomes.total(), outcomes, reasons, first_token, self.tokens_in_vain)


def engine_figures(engines: Mapping[str, EngineTally], *, per_speech: bool = False) -> dict[str, EngineFigures]:
    """Those that served most turns first."""
    most_used = sorted(engines.items(), key=lambda item: (-item[1].turns, item[0]))
    return {name: engine.figures(per_speech=per_speech) for name, engine in most_used}


def asked_figures(endpoints: Mapping[str, AskedTally]) -> dict[str, AskedFigures]:
    """Those that were asked most often first."""
    found = {name: endpoint.figures() for name, endpoint in endpoints.items()}
    return dict(sorted(found.items(), key=lambda item: (-item[1].asked, item[0])))
