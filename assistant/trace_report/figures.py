"""Aggregates the facts of many turns into the figures of a report. No I/O, no clock.

Turns are counted one at a time; memory grows by 64 bytes a turn.
"""

from array import array
from collections import Counter, defaultdict
from dataclasses import dataclass, field

import numpy as np

from assistant.trace.latency import STAGES, Stage
from assistant.trace.waterfall import BAND_MS
from assistant.trace_report.engines import (
    AskedFigures,
    AskedTally,
    EngineFigures,
    EngineTally,
    asked_figures,
    engine_figures,
    floats,
)
from assistant.trace_report.facts import TurnFacts
from assistant.trace_report.statistics import Proportion, Spread, Values, ordered, share, spread
from assistant.trace_report.tokens import TokenFigures, TokenTally

TAIL_SHARE = 0.05
MIN_IN_TAIL = 20
"""Minimum number of turns for a tail: the slowest 5 % of 20 turns are one turn."""


@dataclass(frozen=True, slots=True)
class SlowTurns:
    """Describes the slowest 5 % of the turns and the stage that makes them slow.

    Attributes:
        turns: Number of slow turns.
        from_ms: Smallest latency among them.
        stage: Stage with the largest mean excess over its own median in these turns.
        excess_ms: That mean excess.
        leads: Number of these turns in which this stage has the largest excess.
        excesses_ms: Mean excess of every stage, largest first.
    """

    turns: int
    from_ms: float
    stage: Stage
    excess_ms: float
    leads: int
    excesses_ms: dict[Stage, float]


@dataclass(frozen=True, slots=True)
class Speculation:
    """Figures of the attempts that were started before the EOT decision.

    Attributes:
        hits: Heard replies that were started before the EOT decision, of all whose start is known.
        ahead: How long before the EOT decision they were started.
        hidden: Work per answered turn that did not add to the latency.
        attempts: All attempts.
        confirmed: Attempts that requested the transcript again and got the same words.
        dropped: Attempts that were not used.
        wasted_answers: Dropped attempts for which an answer was started.
        wasted_model_ms: Time spent on these answers.
    """

    hits: Proportion | None
    ahead: Spread | None
    hidden: Spread | None
    attempts: int
    confirmed: int
    dropped: int
    wasted_answers: int
    wasted_model_ms: float


@dataclass(frozen=True, slots=True)
class Figures:
    """All figures of a report. Times are in milliseconds.

    Attributes:
        within: Turns whose latency lies within the band, bounds included, of all with a latency. `sooner` and
            `later` count
            the other turns.
        cut_ins: Replies that began before the user had finished, of all that were begun.
        overlaps: Time for which replies were audible beside the user's speech, in the turns that were talked over.
        interruptions: Interrupted replies, of all that were begun.
        failures: Turns with an error, of all turns.
        apologies: Response latency of failed turns, which no other figure counts.
        refusals: Turns that the skills refused, of all turns. They count as answered.
        busy: Turns during which other programs kept the machine busy, of all turns.
        busy_others: Share of the processors that these programs used, 0..1, the median; None without such turns.
        tokens: None if no language model was asked, or if the traces are older than token counts.
    """

    turns: int
    conversations: int
    latency: Spread | None
    stages: dict[Stage, Spread]
    within: Proportion | None
    sooner: Proportion | None
    later: Proportion | None
    tail: SlowTurns | None
    cut_ins: Proportion | None
    overlaps: Spread | None
    interruptions: Proportion | None
    failures: Proportion | None
    apologies: Spread | None
    refusals: Proportion | None
    busy: Proportion | None
    busy_others: float | None
    outcomes: dict[str, int]
    speculation: Speculation
    endpoints: dict[str, EngineFigures]
    recognizers: dict[str, EngineFigures]
    voices: dict[str, EngineFigures]
    asked: dict[str, AskedFigures]
    tokens: TokenFigures | None


@dataclass(slots=True)
class Tally:
    """Accumulates figures over turns. Stores one or two numbers per quantity and turn, not the turns.

    Attributes:
        latency: One value for each turn that has a latency.
    """

    latency: "array[float]" = field(default_factory=floats)
    _apologies: "array[float]" = field(default_factory=floats)
    _stages: "array[float]" = field(default_factory=floats)  # turn by turn, each in the order of STAGES
    _ahead: "array[float]" = field(default_factory=floats)
    _hidden: "array[float]" = field(default_factory=floats)
    _busy_others: "array[float]" = field(default_factory=floats)
    _overlaps: "array[float]" = field(default_factory=floats)
    _outcomes: Counter[str] = field(default_factory=Counter)
    _counts: Counter[str] = field(default_factory=Counter)
    _wasted_model_ms: float = 0.0
    _endpoints: defaultdict[str, EngineTally] = field(default_factory=lambda: defaultdict(EngineTally))
    _recognizers: defaultdict[str, EngineTally] = field(default_factory=lambda: defaultdict(EngineTally))
    _voices: defaultdict[str, EngineTally] = field(default_factory=lambda: defaultdict(EngineTally))
    _asked: defaultdict[str, AskedTally] = field(default_factory=lambda: defaultdict(AskedTally))
    _tokens: TokenTally = field(default_factory=TokenTally)
    _conversation: str = ""

    def add_turn(self, conversation: str, facts: TurnFacts) -> None:
        """Adds a turn. The turns of one conversation must be added together, in the order of their file."""
        if conversation != self._conversation:
            self._conversation = conversation
            self._counts["conversations"] += 1
        self._outcomes[facts.outcome] += 1
        if facts.latency_ms is not None and facts.stages_ms:
            self.latency.append(facts.latency_ms)
            self._hidden.append(facts.hidden_ms)
            self._stages.extend(facts.stages_ms)
        if facts.apology_ms is not None:
            self._apologies.append(facts.apology_ms)
        if facts.busy_others is not None:
            self._busy_others.append(facts.busy_others)
        if facts.overlap_ms is not None:
            self._overlaps.append(facts.overlap_ms)
        self._count(facts)
        if facts.answered_by:
            self._endpoints[facts.answered_by].add_turn(facts, facts.model_ms)
        if facts.speech_ms is not None:
            recognizer = self._recognizers[facts.recognizer]
            recognizer.add_turn(facts, facts.words_ms, busy_ms=facts.decoding_ms, busy_for_ms=facts.speech_ms)
        if facts.voice_ms is not None:
            voice = self._voices[facts.voice]
            voice.add_turn(facts, facts.voice_ms, busy_ms=facts.voicing_ms, busy_for_ms=facts.sound_ms)
        self._tokens.add_turn(conversation, facts.tokens, facts.last_ms)
        for tried in facts.tries:
            self._asked[tried.endpoint].add_request(tried)

    def _count(self, facts: TurnFacts) -> None:
        counts = self._counts
        for name, count in (
            ("given", facts.given),
            ("committed", facts.committed),
            ("cut_ins", facts.cut_ins),
            ("interrupted", facts.interrupted),
            ("failed", facts.failed),
            ("refused", facts.refused),
            ("dropped", facts.dropped),
            ("confirmed", facts.confirmed),
            ("wasted_answers", facts.wasted_answers),
        ):
            if count:  # most counts are zero
                counts[name] += count
        self._wasted_model_ms += facts.wasted_model_ms
        if facts.committed and facts.ahead_ms is not None and not facts.failed:
            counts["placed"] += 1
            if facts.ahead_ms > 0:
                self._ahead.append(facts.ahead_ms)

    def merge(self, later: "Tally") -> None:
        """Adds the turns of another tally. They must come later and belong to other conversations."""
        self.latency += later.latency
        self._apologies += later._apologies
        self._stages += later._stages
        self._ahead += later._ahead
        self._hidden += later._hidden
        self._busy_others += later._busy_others
        self._overlaps += later._overlaps
        self._outcomes.update(later._outcomes)
        self._counts.update(later._counts)
        self._wasted_model_ms += later._wasted_model_ms
        self._tokens.merge(later._tokens)
        for mine, others in (
            (self._endpoints, later._endpoints),
            (self._recognizers, later._recognizers),
            (self._voices, later._voices),
        ):
            for name, engine in others.items():
                mine[name].merge(engine)
        for name, asked in later._asked.items():
            self._asked[name].merge(asked)

    def figures(self) -> Figures:
        """Returns the figures of all turns so far."""
        latency = ordered(self.latency)
        turns = self._outcomes.total()
        sooner, later = int((latency < BAND_MS[0]).sum()), int((latency > BAND_MS[1]).sum())
        given = self._counts["given"]
        return Figures(
            turns=turns,
            conversations=self._counts["conversations"],
            latency=spread(latency),
            stages={
                stage: values_spread
                for stage, values in zip(STAGES, self.stages(), strict=True)
                if (values_spread := spread(ordered(values)))
            },
            within=share(int(latency.size) - sooner - later, int(latency.size)),
            sooner=share(sooner, int(latency.size)),
            later=share(later, int(latency.size)),
            tail=self._tail(),
            cut_ins=share(self._counts["cut_ins"], given),
            overlaps=spread(ordered(self._overlaps)),
            interruptions=share(self._counts["interrupted"], given),
            failures=share(self._counts["failed"], turns),
            apologies=spread(ordered(self._apologies)),
            refusals=share(self._counts["refused"], turns),
            busy=share(len(self._busy_others), turns),
            busy_others=float(np.median(self._busy_others)) if self._busy_others else None,
            outcomes=dict(self._outcomes.most_common()),
            speculation=self._speculation(),
            endpoints=engine_figures(self._endpoints),
            recognizers=engine_figures(self._recognizers, per_speech=True),
            voices=engine_figures(self._voices),
            asked=asked_figures(self._asked),
            tokens=self._tokens.figures(),
        )

    def ordered(self) -> dict[str, Values]:
        """Returns the values that can be compared: the response latency and each stage, sorted."""
        stages: dict[str, Values] = dict(zip(STAGES, self.stages(), strict=True))
        return {"response_latency": ordered(self.latency)} | {name: ordered(stages[name]) for name in stages}

    def stages(self) -> Values:
        """Returns an array with a row for each of STAGES and a column for each turn with a latency, in turn order."""
        flat: Values = np.array(self._stages, np.float32)
        return flat.reshape(-1, len(STAGES)).T

    def _speculation(self) -> Speculation:
        counts = self._counts
        return Speculation(
            hits=share(len(self._ahead), counts["placed"]),
            ahead=spread(ordered(self._ahead)),
            hidden=spread(ordered(self._hidden)),
            attempts=counts["committed"] + counts["dropped"] + counts["confirmed"],
            confirmed=counts["confirmed"],
            dropped=counts["dropped"],
            wasted_answers=counts["wasted_answers"],
            wasted_model_ms=round(self._wasted_model_ms, 3),
        )

    def _tail(self) -> SlowTurns | None:
        latency: Values = np.array(self.latency, np.float32)
        if latency.size < MIN_IN_TAIL:
            return None
        turns = int(latency.size * TAIL_SHARE)
        slowest = np.argpartition(latency, -turns)[-turns:]
        above = np.stack([_above_median(values)[slowest] for values in self.stages()])
        mean = above.mean(axis=1)
        first = int(mean.argmax())
        return SlowTurns(
            turns=turns,
            from_ms=round(float(latency[slowest].min()), 3),
            stage=STAGES[first],
            excess_ms=round(float(mean[first]), 3),
            leads=int((above.argmax(axis=0) == first).sum()),
            excesses_ms={STAGES[index]: round(float(mean[index]), 3) for index in np.argsort(-mean, kind="stable")},
        )


def _above_median(stage: Values) -> Values:
    return stage - np.float32(np.median(stage))
