"""What could be set otherwise, and what the traces themselves say it would gain. Pure.

A stage that is slow names the keys of config.toml that move it. For the wait for the end of a turn the gain is found by
deciding the recorded turns again with other settings. For stages that are work, nothing here can do the work faster:
what is told is the most that could be gained, the latency had the stage taken no time (its slack), and where the same
traces hold two engines or endpoints, how they differ.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from assistant.latency import STAGES, Stage
from assistant.replay.figures import COMPARED, ReplayFigures, figures, paired
from assistant.replay.turns import Replayed
from assistant.trace_report.engines import EngineFigures
from assistant.trace_report.figures import Figures, Tail
from assistant.trace_report.reading import Record
from assistant.trace_report.statistics import Estimate, Share, least_turns

TRIED: tuple[tuple[str, ...], ...] = (
    ("turn.profile=eager",),
    ("turn.profile=balanced",),
    ("turn.profile=patient",),
    ("turn.hangover_ms=200",),
    ("turn.hangover_ms=300",),
    ("turn.hangover_ms=400",),
    ("turn.speculate_after_ms=40",),
    ("turn.speculate_after_ms=120",),
)
"""What turns are decided again with."""

LEAST_GAIN_MS = 20.0
"""Less than a frame is not worth a setting."""

KEYS: dict[Stage, tuple[str, ...]] = {
    "endpoint_wait": ("turn.profile", "turn.hangover_ms", "turn.speculate_after_ms"),
    "stt": ("stt.engine", "stt.model", "stt.device", "stt.threads", "stt.encoder_window"),
    "queue": ("server.max_sessions", "llm.endpoints"),
    "llm_network": ("llm.endpoints", "llm.policy"),
    "llm_first_token": (
        "llm.endpoints", "llm.policy", "llm.hedge_share", "llm.max_history_turns", "llm.max_history_tokens",
        "skills.before_llm",
    ),
    "first_sentence": ("assistant.instructions", "llm.endpoints"),
    "tts": ("tts.engine", "tts.voice"),
    "transport": (),
    "playout": (),
}  # fmt: skip
"""What of config.toml moves a stage."""

_NO_ENDPOINTS = frozenset(("skills", "itself", "apology"))
"""What answers without a language model: skills, what the assistant says unasked, and that nothing was understood."""

Certainty = Literal["measured", "at most", "cannot tell"]
"""Decided again; the most there is to gain; or too few turns, or too unlike each other, to say."""


class Weighed(NamedTuple):
    """Of a turn with a latency: it, and by how much it would fall if a stage took no time, in order of STAGES; ms."""

    latency_ms: float
    slack_ms: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What advice is given from.

    Attributes:
        turns: With a latency.
        replays: Every turn that can be replayed, once for each of TRIED.
        beheaded: Conversations whose beginning is missing, so that none of their turns can be.
    """

    figures: Figures
    turns: tuple[Weighed, ...]
    replays: tuple[tuple[Replayed, ...], ...]
    beheaded: int = 0


@dataclass(frozen=True, slots=True)
class Finding:
    """One piece of advice.

    Attributes:
        keys: Of config.toml, as they are or with the value that was tried.
        gain: By percent: how much sooner answers would be heard, ms; its interval.
        says: What to do, in a sentence.
        cut_ins: Where it was decided again: as recorded, and then.
        in_vain: The same of answers begun for nothing.
    """

    stage: Stage
    keys: tuple[str, ...]
    certainty: Certainty
    turns: int
    gain: dict[int, Estimate]
    says: str
    cut_ins: tuple[Share | None, Share | None] | None = None
    in_vain: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Advice:
    """Everything found.

    Attributes:
        turns: With a latency.
        replayed: Those that could be decided again.
        tail: What makes the slowest turns slow; None where they are too few to have a tail.
        findings: The stage that costs most in the tail first.
    """

    turns: int
    replayed: int
    tail: Tail | None
    findings: tuple[Finding, ...]


def weighed(record: Record) -> Weighed:
    """What advice needs of a record with a latency. Raises KeyError, TypeError, ValueError."""
    stages = record["stages"]
    slack = tuple([float(stages[stage]["slack_ms"]) if stage in stages else 0.0 for stage in STAGES])
    return Weighed(float(record["response_latency_ms"]), slack)


def advice(evidence: Evidence) -> Advice:
    """What the turns say."""
    tail = evidence.figures.tail
    order = list(tail.excesses_ms) if tail is not None else list(STAGES)
    findings: list[Finding] = []
    for stage in order:
        if stage == "endpoint_wait":
            findings += _waiting(evidence)
        elif (found := _working(stage, evidence, slow=tail is not None and tail.stage == stage)) is not None:
            findings.append(found)
    return Advice(len(evidence.turns), len(evidence.replays), tail, tuple(findings))


# ---- the wait for the end of a turn ----


def _waiting(evidence: Evidence) -> list[Finding]:
    if not evidence.replays:
        says = (
            "The beginning of the conversation is missing: turns are decided again from all that was told before them."
            if evidence.beheaded
            else "These traces hold nothing that turns could be decided again from; traces of this version do."
        )
        return [Finding("endpoint_wait", KEYS["endpoint_wait"], "cannot tell", 0, {}, says)]
    decided = [figures([turns[number] for turns in evidence.replays]) for number in range(len(TRIED))]
    found = [_tried(tried, figure) for tried, figure in zip(TRIED, decided, strict=True)]
    useful = [finding for finding in found if finding is not None]
    if not useful and any(_perhaps(figure) for figure in decided):
        says = (
            f"None of the {len(TRIED)} other settings that were tried is known to answer sooner, or to cut in less: "
            f"for p95 it takes {least_turns(95)} turns."
        )
        return [Finding("endpoint_wait", KEYS["endpoint_wait"], "cannot tell", len(evidence.replays), {}, says)]
    if not useful:
        says = f"None of the {len(TRIED)} other settings that were tried answers sooner, or cuts in less."
        return [Finding("endpoint_wait", KEYS["endpoint_wait"], "measured", len(evidence.replays), {}, says)]
    return sorted(useful, key=lambda finding: (finding.certainty != "measured", -_most(finding.gain)))


def _tried(tried: Sequence[str], found: ReplayFigures) -> Finding | None:
    """None where nothing would be gained, nor lost for fewer cut-ins."""
    if found.latency is None or not found.changed:
        return None
    gain = {percent: _less(found.latency.change[percent]) for percent in COMPARED}
    spared = _count(found.was.cut_ins) - _count(found.now.cut_ins)
    if _most(gain) < LEAST_GAIN_MS and spared <= 0:
        return None
    sure = any(each.enough and each.low >= LEAST_GAIN_MS for each in gain.values())
    certainty: Certainty = "measured" if sure else "cannot tell"
    says = _sentence(tried, gain, spared, found)
    return Finding(
        "endpoint_wait",
        tuple(tried),
        certainty,
        found.latency.turns,
        gain,
        says,
        (found.was.cut_ins, found.now.cut_ins),
        (found.was.in_vain, found.now.in_vain),
    )


def _sentence(tried: Sequence[str], gain: dict[int, Estimate], spared: int, found: ReplayFigures) -> str:
    what = f"Answers would come {_shift(gain[50])} in the median"
    median_ms, tail_ms = round(gain[50].value), round(gain[95].value) if gain[95].enough else 0
    # Who waits longer in the median for the sake of the slow ones is told both, and decides.
    if tail_ms and (median_ms <= 0 or tail_ms < 0):
        what += f" and {_shift(gain[95])} at p95"
    price = (
        f"with {-spared} more cut-ins"
        if spared < 0
        else f"with {spared} fewer cut-ins"
        if spared
        else "with no more cut-ins"
    )
    vain = found.now.in_vain - found.was.in_vain
    waste = f" and {abs(vain)} {'more' if vain > 0 else 'fewer'} answers asked for in vain" if vain else ""
    joined = f"; {found.joined} turns would run into the next" if found.joined else ""
    wish = ", if the slow ones matter more" if median_ms < 0 < tail_ms else ""
    return f"{what}, {price}{waste}{joined}: set {' '.join(tried)}{wish}."


def _shift(gain: Estimate) -> str:
    ms = round(gain.value)
    return f"{abs(ms)} ms {'sooner' if ms > 0 else 'later'}" if ms else "as soon as now"


def _perhaps(found: ReplayFigures) -> bool:
    """Whether answers would come sooner at a percentile that the turns are too few for."""
    if found.latency is None:
        return False
    gains = [_less(found.latency.change[percent]) for percent in COMPARED]
    return any(each.value >= LEAST_GAIN_MS and not each.enough for each in gains)


def _most(gain: Mapping[int, Estimate]) -> float:
    """The largest gain that the turns are enough for; of fewer than a median takes, the median's."""
    return max((each.value for each in gain.values() if each.enough), default=gain[50].value)


def _count(share: Share | None) -> int:
    return 0 if share is None else share.count


def _less(change: Estimate) -> Estimate:
    return Estimate(0.0 - change.value, 0.0 - change.high, 0.0 - change.low, change.enough)


# ---- work ----


def _working(stage: Stage, evidence: Evidence, *, slow: bool) -> Finding | None:
    """None where there is nothing to gain, but for the stage that makes slow turns slow."""
    if not evidence.turns:
        return None
    was = np.array([turn.latency_ms for turn in evidence.turns], np.float32)
    slack = np.array([turn.slack_ms[STAGES.index(stage)] for turn in evidence.turns], np.float32)
    gain = {percent: _less(paired(was, was - slack, percent)) for percent in COMPARED}
    if _most(gain) < LEAST_GAIN_MS and not slow:
        return None
    enough = any(each.enough and each.low >= LEAST_GAIN_MS for each in gain.values())
    certainty: Certainty = "at most" if enough else "cannot tell"
    return Finding(stage, KEYS[stage], certainty, len(evidence.turns), gain, _remedy(stage, evidence.figures))


PLAIN_REMEDIES: dict[Stage, str] = {
    "first_sentence": "The model is slow to end its first clause: ask for a short one, or take a faster endpoint.",
    "queue": "Connections or engines were waited for: let fewer people in at a time, or add an endpoint.",
    "transport": "The way to the client takes long: no setting shortens it; a server nearer to the people does.",
    "playout": "The device takes long to play: no setting shortens it; another output device may.",
}
"""What to do where the traces cannot compare."""

MEASURE = "`repartee bench engines` measures others on this machine."


def _remedy(stage: Stage, found: Figures) -> str:
    if stage == "stt":
        return f"Words are waited for. {_best('recognizer', found.recognizers)} {MEASURE}"
    if stage == "tts":
        return f"First sounds are waited for. {_best('voice', found.voices)} {MEASURE}"
    return PLAIN_REMEDIES.get(stage) or f"{_endpoints(found)} {_hedges(found)}"


def _best(what: str, engines: Mapping[str, EngineFigures]) -> str:
    known = {
        name: engine.work.percentiles[50].value
        for name, engine in engines.items()
        if engine.work is not None and engine.work.count >= least_turns(50)
    }
    if len(known) < 2:
        return f"These traces hold one {what}, so nothing to compare it with."
    quick, slow = min(known, key=lambda name: known[name]), max(known, key=lambda name: known[name])
    return f"{quick} took {known[quick]:.0f} ms in the median, {slow} {known[slow]:.0f}."


def _endpoints(found: Figures) -> str:
    models = {name: engine for name, engine in found.endpoints.items() if name not in _NO_ENDPOINTS}
    compared = _best("endpoint", models)
    return (
        compared
        if "nothing to compare" in compared
        else f"{compared} Name the quicker first, or leave it to llm.policy."
    )


def _hedges(found: Figures) -> str:
    hedges = sum(asked.reasons.get("hedge", 0) for asked in found.asked.values())
    if len(found.asked) < 2:
        return "A second endpoint can be asked when the first is silent for long (llm.hedge_share)."
    vain = sum(asked.tokens_in_vain for asked in found.asked.values())
    times = "once" if hedges == 1 else f"{hedges:,} times"
    return (
        f"A second endpoint was asked beside the first {times} (llm.hedge_share bounds that); of all that were asked, "
        f"{vain:,} tokens were in vain."
    )
