"""Suggests settings, with the gain that the traces show. Pure.

A slow stage leads to the keys of config.toml that affect it. For the wait for the end of a turn (EOT), the gain is
measured: the recorded turns are decided again with other settings. The work of other stages cannot be repeated here.
For these the advice reports an upper bound (slack): the latency if the stage had taken no time. If the traces hold two
engines or endpoints, the advice compares them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

from assistant.replay.figures import COMPARED, ReplayFigures, figures
from assistant.replay.findings import (
    KEYS,
    MIN_GAIN_MS,
    MIN_TURNS,
    AdviceInputs,
    AdviceItem,
    Certainty,
    TurnGain,
    is_proven,
    largest_gain,
    less,
    price_of,
    reason_unproven,
)
from assistant.replay.work_advice import models_of, stage_advice
from assistant.trace.latency import STAGES
from assistant.trace_report.figures import Figures, SlowTurns
from assistant.trace_report.statistics import IntervalEstimate, Proportion, min_turns
from assistant.trace_report.text import number_of

TRIED: tuple[tuple[str, ...], ...] = (
    ("turn.profile=auto",),
    ("turn.profile=eager",),
    ("turn.profile=balanced",),
    ("turn.profile=patient",),
    ("turn.hangover_ms=200",),
    ("turn.hangover_ms=300",),
    ("turn.hangover_ms=400",),
    ("turn.speculate_after_ms=40",),
    ("turn.speculate_after_ms=120",),
)
"""Settings that the recorded turns are decided again with."""


@dataclass(frozen=True, slots=True)
class BusyTurns:
    """Turns during which other programs kept the machine busy.

    Attributes:
        turns: Number of them.
        others: Share of the processors that the other programs used, 0..1, median.
        latency_ms: Their median latency.
        free_latency_ms: The median latency of the other turns; None if there are none.
    """

    turns: int
    others: float
    latency_ms: float
    free_latency_ms: float | None


@dataclass(frozen=True, slots=True)
class Advice:
    """The complete advice.

    Attributes:
        turns: Turns with a latency.
        replayed: Turns that could be decided again.
        tail: What makes the slowest turns slow; None if there are too few turns.
        findings: Pieces of advice; the stage that costs most in the tail comes first.
        engines: Turns served by each recognizer, TTS engine and endpoint, where there are several.
        recognizer: The recognizer that the advice is for, where there are several.
        on_device: Turns whose reply a sound device played, here or at a client.
        busy: Turns during which other programs kept the machine busy; None if there are none.
    """

    turns: int
    replayed: int
    tail: SlowTurns | None
    findings: tuple[AdviceItem, ...]
    engines: dict[str, dict[str, int]] = field(default_factory=dict)
    recognizer: str = ""
    on_device: int = 0
    busy: BusyTurns | None = None

    @property
    def enough(self) -> bool:
        """Whether there are enough turns to say what to do."""
        return self.turns >= MIN_TURNS


def advice(evidence: AdviceInputs) -> Advice:
    """Returns the advice that the turns support."""
    tail = evidence.figures.tail
    order = list(tail.excesses_ms) if tail is not None else list(STAGES)
    findings: list[AdviceItem] = []
    for stage in order:
        if stage == "endpoint_wait":
            findings += _wait_advice(evidence)
        elif (item := stage_advice(stage, evidence, slow=tail is not None and tail.stage == stage)) is not None:
            findings.append(item)
    on_device = sum(turn.on_device for turn in evidence.turns)
    return Advice(
        len(evidence.turns),
        len(evidence.replays),
        tail,
        tuple(findings),
        _several(evidence.figures),
        evidence.recognizer,
        on_device,
        busy_turns(evidence.turns),
    )


def busy_turns(turns: Sequence[TurnGain]) -> BusyTurns | None:
    """Returns the turns during which other programs kept the machine busy; None if there are none."""
    shares = [turn.busy_others for turn in turns if turn.busy_others is not None]
    if not shares:
        return None
    busy = [turn.latency_ms for turn in turns if turn.busy_others is not None]
    free = [turn.latency_ms for turn in turns if turn.busy_others is None]
    return BusyTurns(len(shares), median(shares), median(busy), median(free) if free else None)


def _several(figures: Figures) -> dict[str, dict[str, int]]:
    kinds = {"recognizers": figures.recognizers, "voices": figures.voices, "endpoints": models_of(figures)}
    turns = {kind: {name: engine.turns for name, engine in engines.items()} for kind, engines in kinds.items()}
    return {kind: served for kind, served in turns.items() if len(served) > 1}


# ---- the wait for the end of a turn ----


def _wait_advice(evidence: AdviceInputs) -> list[AdviceItem]:
    if not evidence.replays:
        says = (
            "The beginning of the conversation is missing, but a replay needs all earlier events."
            if evidence.beheaded
            else "These traces lack the events that a replay needs; traces of this version have them."
        )
        return [AdviceItem("endpoint_wait", KEYS["endpoint_wait"], "cannot tell", 0, {}, says)]
    replay_events = [figures([turns[number] for turns in evidence.replays]) for number in range(len(TRIED))]
    items = [_replay_advice(tried, figure) for tried, figure in zip(TRIED, replay_events, strict=True)]
    useful = [finding for finding in items if finding is not None]
    if not useful and any(_may_be_sooner(figure) for figure in replay_events):
        says = (
            f"None of the {len(TRIED)} other settings that were tried is proven to answer sooner or to cut in less: "
            f"p95 needs {min_turns(95)} turns."
        )
        return [AdviceItem("endpoint_wait", KEYS["endpoint_wait"], "cannot tell", len(evidence.replays), {}, says)]
    if not useful:
        says = f"None of the {len(TRIED)} other settings that were tried answers sooner or cuts in less."
        return [AdviceItem("endpoint_wait", KEYS["endpoint_wait"], "measured", len(evidence.replays), {}, says)]
    return sorted(useful, key=lambda finding: (finding.certainty != "measured", -largest_gain(finding.gain)))


def _replay_advice(tried: Sequence[str], figures: ReplayFigures) -> AdviceItem | None:
    """Returns advice on one replayed change. None if it gains nothing and does not trade latency for fewer cut-ins."""
    if figures.latency is None or not figures.changed:
        return None
    gain = {percent: less(figures.latency.change[percent]) for percent in COMPARED}
    spared = _count(figures.was.cut_ins) - _count(figures.now.cut_ins)
    if largest_gain(gain) < MIN_GAIN_MS and spared <= 0:
        return None
    certainty: Certainty = "measured" if is_proven(gain, figures.latency.turns) else "cannot tell"
    says = _sentence(tried, gain, spared, figures)
    return AdviceItem(
        "endpoint_wait",
        tuple(tried),
        certainty,
        figures.latency.turns,
        gain,
        says,
        (figures.was.cut_ins, figures.now.cut_ins),
        (figures.was.in_vain, figures.now.in_vain),
        price_of(tried[0]) if largest_gain(gain) > 0 else "",
    )


def _sentence(tried: Sequence[str], gain: dict[int, IntervalEstimate], spared: int, figures: ReplayFigures) -> str:
    turns = 0 if figures.latency is None else figures.latency.turns
    proven = is_proven(gain, turns)
    in_these = f"In {f'these {turns:,} turns' if turns != 1 else 'this turn'} answers would have come"
    what = f"{'Answers would come' if proven else in_these} {_shift(gain[50])} in the median"
    median_ms, tail_ms = round(gain[50].value), round(gain[95].value) if gain[95].enough else 0
    # A change that shortens the tail but lengthens the median is reported with both numbers. The user decides.
    if tail_ms and (median_ms <= 0 or tail_ms < 0):
        what += f" and {_shift(gain[95])} at p95"
    price = (
        f"with {abs(spared)} {'more' if spared < 0 else 'fewer'} cut-in{'s' * (abs(spared) != 1)}"
        if spared
        else "with no more cut-ins"
    )
    vain = figures.now.in_vain - figures.was.in_vain
    waste = f" and {abs(vain)} {'more' if vain > 0 else 'fewer'} wasted answer{'s' * (abs(vain) != 1)}" if vain else ""
    joined = f"; {number_of(figures.joined, 'turn')} would be joined with the next" if figures.joined else ""
    wish = ", if the slow ones matter more" if median_ms < 0 < tail_ms else ""
    if not proven:
        return f"{what}, {price}{waste}{joined}, with {' '.join(tried)}. {reason_unproven(gain, turns)}".rstrip()
    return f"{what}, {price}{waste}{joined}: set {' '.join(tried)}{wish}."


def _shift(gain: IntervalEstimate) -> str:
    ms = round(gain.value)
    return f"{abs(ms)} ms {'sooner' if ms > 0 else 'later'}" if ms else "as soon as now"


def _may_be_sooner(figures: ReplayFigures) -> bool:
    """Returns whether the change may shorten a percentile for which there are too few turns."""
    if figures.latency is None:
        return False
    gains = [less(figures.latency.change[percent]) for percent in COMPARED]
    return any(each.value >= MIN_GAIN_MS and not each.enough for each in gains)


def _count(share: Proportion | None) -> int:
    return 0 if share is None else share.count
