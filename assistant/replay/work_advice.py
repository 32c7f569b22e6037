"""Gives advice on stages that are work: the largest possible gain, and how the engines of the traces compare. Pure."""

from collections.abc import Mapping, Sequence

import numpy as np

from assistant.replay.figures import COMPARED, paired
from assistant.replay.findings import (
    KEYS,
    MIN_GAIN_MS,
    MIN_TURNS,
    AdviceInputs,
    AdviceItem,
    TurnGain,
    is_proven,
    largest_gain,
    less,
    more,
    reason_unproven,
)
from assistant.trace.latency import STAGES, Stage
from assistant.trace_report.engines import EngineFigures
from assistant.trace_report.figures import Figures
from assistant.trace_report.statistics import min_turns

MIN_PLAYOUT_MS = 60.0
"""Smallest playout latency of a sound device in milliseconds.

A sound server needs as much (docs/lab/talk.md); a file or a buffer needs one block of 20 ms.
"""

_NO_ENDPOINTS = frozenset(("skills", "itself", "apology"))
"""Answer sources without a language model: skills, unprompted announcements, and apologies."""


def models_of(figures: Figures) -> dict[str, EngineFigures]:
    """Returns the LLM endpoints among the answer sources."""
    return {name: engine for name, engine in figures.endpoints.items() if name not in _NO_ENDPOINTS}


def stage_advice(stage: Stage, evidence: AdviceInputs, *, slow: bool) -> AdviceItem | None:
    """Returns advice on a stage. None without a possible gain, except for the stage that makes slow turns slow."""
    turns, of = _served_by_current(stage, evidence)
    if stage == "playout":
        turns = [turn for turn in turns if turn.on_device]
    if not turns or (stage == "playout" and not _plays_late(turns)):
        return None
    was = np.array([turn.latency_ms for turn in turns], np.float32)
    slack = np.array([turn.slack_ms[STAGES.index(stage)] for turn in turns], np.float32)
    gain = {percent: less(paired(was, was - slack, percent)) for percent in COMPARED}
    if largest_gain(gain) < MIN_GAIN_MS and not slow:
        return None
    proven = is_proven(gain, len(turns))
    says = _remedy(stage, evidence.figures, of, proven=proven)
    if not proven:
        says = f"{says} {reason_unproven(gain, len(turns))}".rstrip()
    return AdviceItem(stage, KEYS[stage], "at most" if proven else "cannot tell", len(turns), gain, says)


def _served_by_current(stage: Stage, evidence: AdviceInputs) -> tuple[Sequence[TurnGain], str]:
    """Returns the turns relevant to a stage, and the engine that served them if others served other turns.

    Uses only the turns of the current (last used) recognizer or TTS engine: a mix describes neither.
    """
    if stage not in {"stt", "tts"}:
        return evidence.turns, ""
    names = [turn.recognizer if stage == "stt" else turn.voice for turn in evidence.turns]
    current = next((name for name in reversed(names) if name), "")
    if len(set(names) - {""}) < 2:
        return evidence.turns, ""
    return [turn for turn, name in zip(evidence.turns, names, strict=True) if name == current], current


def _plays_late(turns: Sequence[TurnGain]) -> bool:
    """Returns whether the device's playout latency is longer than usual."""
    place = STAGES.index("playout")
    return float(np.median([turn.slack_ms[place] for turn in turns])) > MIN_PLAYOUT_MS


PLAIN_REMEDIES: dict[Stage, str] = {
    "first_sentence": "The model takes long for its first clause: ask for a short one, or use a faster endpoint.",
    "queue": "Turns waited for connections or engines: allow fewer conversations at a time, or add an endpoint.",
    "transport": "The network to the client is slow: no setting changes that; a server nearer to the users does.",
    "playout": "The output device has a long latency: no setting changes that; another output device may.",
}
"""Remedies for stages that the traces cannot compare."""

MEASURE = "`repartee bench engines` measures others on this machine."


def _remedy(stage: Stage, figures: Figures, of: str, *, proven: bool) -> str:
    """Returns the remedy. Without a proven gain it only states the facts."""
    if stage in {"stt", "tts"}:
        what, engines = ("recognizer", figures.recognizers) if stage == "stt" else ("voice", figures.voices)
        waited = "Replies wait for the transcript." if stage == "stt" else "Replies wait for the first audio."
        mine = f" The gain is for {of}, which was used last." if of else ""
        return f"{waited} {_best(what, engines)} {MEASURE}{mine}"
    plain = PLAIN_REMEDIES.get(stage)
    if plain is not None:
        return plain if proven else f"{plain.partition(':')[0]}."
    return f"{_endpoints(figures, proven=proven)} {_hedges(figures)}"


def _best(what: str, engines: Mapping[str, EngineFigures]) -> str:
    if len(engines) < 2:
        return f"These traces hold one {what}, so there is nothing to compare it with."
    timed = {name: 0 if engine.work is None else engine.work.count for name, engine in engines.items()}
    min_count = min_turns(50)
    medians = {
        name: engine.work.percentiles[50].value
        for name, engine in engines.items()
        if engine.work is not None and timed[name] >= min_count
    }
    few = [f"{more(min_count - count)} with {name}" for name, count in timed.items() if count < min_count]
    held = f"These traces hold {len(engines)} {what}s: {', '.join(engines)}."
    lacking = f" To compare them, {' and '.join(few)}." if few else ""
    if len(medians) < 2:
        return f"{held}{lacking}"
    quick, slow = min(medians, key=lambda name: medians[name]), max(medians, key=lambda name: medians[name])
    return f"{held} {quick} took {medians[quick]:.0f} ms in the median, {slow} {medians[slow]:.0f}.{lacking}"


def _endpoints(figures: Figures, *, proven: bool) -> str:
    models = models_of(figures)
    compared = _best("endpoint", models)
    counts = [engine.work.count for engine in models.values() if engine.work is not None]
    advised = proven and " in the median, " in compared and min(counts) >= MIN_TURNS
    return f"{compared} Name the faster one first, or leave the choice to llm.policy." if advised else compared


def _hedges(figures: Figures) -> str:
    hedges = sum(asked.reasons.get("hedge", 0) for asked in figures.asked.values())
    if len(figures.asked) < 2:
        return "A second endpoint can be asked when the first is slow (llm.hedge_share)."
    vain = sum(asked.tokens_in_vain for asked in figures.asked.values())
    times = "once" if hedges == 1 else f"{hedges:,} times"
    return (
        f"A second endpoint was asked, too, {times} (llm.hedge_share limits that); of all requests, "
        f"{vain:,} token{'s were' if vain != 1 else ' was'} wasted."
    )
