"""Plays the turns of each speaker, in the order of their ids, as one conversation in which the program learns.

    python -m bench.turns.speakers --field DIR --use train     # DIR/manifest.jsonl, each speaker by a fit on the others
    python -m bench.turns.speakers --field DIR                 # rows for judging, by the shipped weights

A pause, a confirmed end of turn and a pause that was taken for the end change the speaker's statistics as they do in
the program. The recordings have no reply, so nobody reacts to one: a user who was cut into resumes after the pause.
"""

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from assistant.end_of_turn.boosted_trees import BoostedTrees, trees_of
from assistant.end_of_turn.estimator import (
    AUTO,
    EndOfTurnEstimate,
    EndOfTurnEstimator,
    FusedEstimator,
    fitted_turn_end,
    silence_timeout_ms,
)
from assistant.end_of_turn.priors import SpeakerPauseStats
from assistant.turns.settings import OverlapThresholds
from bench.end_of_turn.clips import Turn
from bench.end_of_turn.curve import ended_at
from bench.end_of_turn.evaluation import (
    FOLDS,
    REFERENCE_MS,
    SEED,
    calibration,
    cross_validated,
    fit_on,
    moments_of,
)
from bench.end_of_turn.fit import folds
from bench.end_of_turn.habits import Key, key_of
from bench.end_of_turn.manifest import turns
from bench.end_of_turn.moments import Moment
from bench.end_of_turn.table import SHIPPED_SOURCES, features_of, names_of
from bench.turns.figures import DRAWS, Corpus, Figures, Outcome, ReplyTiming, figures, main_figures, outcomes

STAGES: Mapping[str, tuple[int, int]] = {"1–3": (0, 3), "4–8": (3, 8), "9 and later": (8, 10**9)}
"""Turns of a conversation by their place: the first place, and the place after the last."""

EARLY_MS = OverlapThresholds().early_ms
"""Speech so soon after the first sound of a reply continues the turn."""

THRESHOLDS = tuple(np.arange(-3.0, 6.1, 0.75).tolist())
"""Thresholds of the curve."""

FLOOR_MS, CEILING_MS = 160.0, 3000.0
"""Limits of the timeouts on the curve."""

Timeout = Callable[[EndOfTurnEstimate], float]
"""Maps an estimate to the silence timeout, in ms from the detected end of speech."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A way to decide the end of turn.

    Attributes:
        estimator: Returns the estimator for a speaker: one that was not fitted on the speaker.
        timeout: Computes the silence timeout.
        learns: Whether a turn knows the speaker's earlier turns.
    """

    estimator: Callable[[str], EndOfTurnEstimator]
    timeout: Timeout
    learns: bool = True


def places(turns: Sequence[Turn]) -> dict[int, int]:
    """Returns the place of each turn in its speaker's conversation, from 0. Ids are in order of time within a call."""
    counts: dict[str, int] = {}
    result = {}
    for number in sorted(range(len(turns)), key=lambda number: turns[number].id):
        speaker = turns[number].speaker
        result[number] = counts[speaker] = counts.get(speaker, -1) + 1
    return result


def played(corpus: Corpus, rule: Rule) -> list[Outcome]:
    """Plays all conversations. Returns the outcomes of the turns in the order of the corpus."""
    evidence, place = corpus.evidence(), places(corpus.turns)
    habits: dict[str, SpeakerPauseStats] = {}
    timeouts: dict[Key, float] = {}
    for number in sorted(place, key=place.__getitem__):
        speaker = corpus.turns[number].speaker
        stats, estimator = habits.get(speaker, SpeakerPauseStats()), rule.estimator(speaker)
        for silence in corpus.silences(number):
            for moment in silence:
                known = replace(evidence[key_of(moment)], pause_stats=stats)
                timeouts[key_of(moment)] = rule.timeout(estimator.estimate(known))
            if silence[0].label == "end":
                break
            stats = _after(silence[0], ended_at(silence, lambda moment: timeouts[key_of(moment)]), stats)
        if rule.learns:
            habits[speaker] = stats.with_turn()
    return outcomes(corpus, lambda moment: timeouts[key_of(moment)])


def _after(pause: Moment, due_ms: float, stats: SpeakerPauseStats) -> SpeakerPauseStats:
    """Returns the speaker's statistics after a pause, if the turn ends when the pause has lasted `due_ms`."""
    if due_ms >= pause.lasts_ms:
        return stats.with_pause(pause.lasts_ms)
    stats = stats.with_turn()
    return stats.with_return(pause.lasts_ms) if pause.lasts_ms - due_ms - ReplyTiming().work_ms <= EARLY_MS else stats


def held_out_estimators(moments: Sequence[Moment]) -> Mapping[str, EndOfTurnEstimator]:
    """Returns for each speaker an estimator that was fitted on the others, calibrated as the shipped one."""
    speakers = [moment.speaker for moment in moments]
    fold = folds(speakers, FOLDS, SEED)
    models: dict[str, dict[str, BoostedTrees]] = {speaker: {} for speaker in speakers}
    for sources in SHIPPED_SOURCES:
        features = features_of(moments, sources)
        factor, bias = calibration(moments, cross_validated(moments, sources))
        for number in np.unique(fold):
            fit = fit_on(moments, features, sources, fold != number)
            trees = {"names": list(names_of(sources)), "typical": fit.typical.tolist(), "trees": fit.trees(factor)}
            model = trees_of({**trees, "bias": bias})
            for row in np.flatnonzero(fold == number).tolist():
                models[speakers[row]][sources] = model
    return {speaker: FusedEstimator(of_speaker, REFERENCE_MS) for speaker, of_speaker in models.items()}


def thresholded(threshold: float) -> Timeout:
    """Returns the program's rule with one threshold and without the profile's tiers."""

    def timeout(estimate: EndOfTurnEstimate) -> float:
        wanted_ms = estimate.silence_ms + estimate.pause_excess_ms * (threshold - estimate.logit)
        return min(max(wanted_ms, FLOOR_MS), CEILING_MS)

    return timeout


def by_stage(corpus: Corpus, results: Sequence[Outcome]) -> dict[str, list[Outcome]]:
    """Returns the outcomes of the turns of each stage."""
    place = places(corpus.turns)
    return {
        name: [result for number, result in enumerate(results) if first <= place[number] < after]
        for name, (first, after) in STAGES.items()
    }


def rows(corpus: Corpus, estimator: Callable[[str], EndOfTurnEstimator]) -> Iterator[str]:
    """Yields the table: each stage without and with learning, with intervals over speakers drawn with replacement."""
    yield "| turns | n, speakers | rule | pauses cut | talked over | mean delay | p50 / p95 | cut at 300, 600 ms |"
    yield "|---" * 8 + "|"
    tables = {}
    for learns in (False, True):
        auto = by_stage(corpus, played(corpus, Rule(estimator, lambda e: silence_timeout_ms(e, AUTO), learns)))
        curve = [by_stage(corpus, played(corpus, Rule(estimator, thresholded(t), learns))) for t in THRESHOLDS]
        tables[learns] = auto, curve
    for stage in STAGES:
        for learns, (auto, curve) in tables.items():
            whole, drawn = figures(auto[stage]), _drawn(auto[stage])
            main = main_figures([point[stage] for point in curve])
            at = "; ".join(f"{100 * m.value:.1f} ({100 * m.low:.0f}–{100 * m.high:.0f}) %" for m in main.cut_shares)
            cells = [
                f"{100 * whole.cut_share:.1f} ({_interval(drawn, lambda f: 100 * f.cut_share)}) %",
                f"{100 * whole.talked_over:.1f} ({_interval(drawn, lambda f: 100 * f.talked_over)}) %",
                f"{whole.mean_delay_ms:.0f} ({_interval(drawn, lambda f: f.mean_delay_ms)})",
                f"{whole.p50_ms:.0f} ({_interval(drawn, lambda f: f.p50_ms)}) / "
                f"{whole.p95_ms:.0f} ({_interval(drawn, lambda f: f.p95_ms)})",
                at,
            ]
            rule = "learns" if learns else "learns nothing"
            yield f"| {stage} | {whole.turns}, {whole.speakers} | {rule} | " + " | ".join(cells) + " |"


def _drawn(results: Sequence[Outcome]) -> list[Figures]:
    by_speaker: dict[str, list[Outcome]] = {}
    for result in results:
        by_speaker.setdefault(result.speaker, []).append(result)
    groups, rng = list(by_speaker.values()), np.random.default_rng(1)
    choices = (rng.integers(0, len(groups), len(groups)) for _ in range(DRAWS))
    return [figures([result for number in choice for result in groups[number]]) for choice in choices]


def _interval(drawn: Sequence[Figures], value: Callable[[Figures], float]) -> str:
    low, high = np.nanpercentile([value(one) for one in drawn], [2.5, 97.5])
    return f"{low:.0f}–{high:.0f}"


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--field", type=Path, required=True, help="folder with manifest.jsonl whose rows say their use")
    parser.add_argument("--use", choices=("train", "judge"), default="judge", help="rows of --field")
    parser.add_argument("--stt", default="tiny.en", help="recognizer: a Whisper model that is present")
    parser.add_argument("--out", type=Path, default=Path("out/turn_end"), help="folder of the caches")
    options = parser.parse_args()
    chosen = list(turns(options.field / "manifest.jsonl", options.use))
    moments = moments_of(chosen, options.stt, out=options.out)
    if options.use == "train":
        lookup = held_out_estimators(moments)
    else:
        lookup = {turn.speaker: fitted_turn_end() for turn in chosen}
    for row in rows(Corpus(chosen, moments), lookup.__getitem__):
        print(row)


if __name__ == "__main__":
    main()
