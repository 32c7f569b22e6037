"""Measures turn taking on labelled recordings: how many pauses are cut at which delay, and what users notice.

    python -m bench.turn_taking                                   # the recordings of the repository
    python -m bench.turn_taking --field DIR --manifest FILE       # DIR/manifest.jsonl, rows for judging; and others
    python -m bench.turn_taking --doc docs/performance.md         # also write the table into the page
    python -m bench.turn_taking --json FILE --weights FILE        # figures as JSON; other weights than the shipped ones
    python -m bench.turn_taking --overlaps --speech DIR           # also what sounds do to a running reply

Computed, not played: the recordings go through the real VAD, recognizer and Smart Turn, and each policy is judged on
the same silences. To measure a policy of your own, pass a function from evidence to timeout to
`bench.turns.figures.measured`.
"""

import argparse
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from assistant.end_of_turn.estimator import (
    AUTO,
    BALANCED,
    EAGER,
    PATIENT,
    EndOfTurnEstimate,
    EndOfTurnEstimator,
    EndOfTurnEvidence,
    EndOfTurnProfile,
    fitted_turn_end,
    silence_timeout_ms,
    turn_end_of,
)
from bench.doc_tables import BEGIN_OVERLAPS, write_page
from bench.end_of_turn.clips import Turn
from bench.end_of_turn.curve import Wait
from bench.end_of_turn.evaluation import moments_of
from bench.end_of_turn.habits import Key, key_of
from bench.end_of_turn.manifest import turns
from bench.end_of_turn.moments import Moment
from bench.turns.figures import (
    Corpus,
    Figures,
    MainFigures,
    Outcome,
    ReplyTiming,
    figures,
    figures_by_group,
    main_figures,
    outcomes,
)
from bench.turns.overlap_table import Outcome as OverlapOutcome
from bench.turns.overlap_table import table as overlap_table
from bench.turns.overlaps import overlap_panel
from bench.turns.table import page_table, tables

REPOSITORY = (Path("bench/clips/manifest.jsonl"),)
PROFILES = {"auto": AUTO, "eager": EAGER, "balanced": BALANCED, "patient": PATIENT}

FLOOR_MS, CEILING_MS = 160.0, 3000.0
"""Limits of the timeouts on the curves: the shortest of any profile, and more than any pause of a fluent speaker."""

FIXED_MS = (100, *range(150, 1000, 50), *range(1000, 3001, 100))
THRESHOLDS = tuple(np.arange(-8.0, 12.1, 0.25).tolist())

SILENCE, SMART, FUSED = "silence alone", "Smart Turn alone", "all together"

_STRIPPED: Mapping[str, Callable[[EndOfTurnEvidence], EndOfTurnEvidence]] = {
    SMART: lambda evidence: replace(evidence, prosody=None, text=None),
    "sound alone": lambda evidence: replace(evidence, text=None, smart_turn=None),
    "words alone": lambda evidence: replace(evidence, prosody=None, smart_turn=None),
    "sound and words": lambda evidence: replace(evidence, smart_turn=None),
    FUSED: lambda evidence: evidence,
}
"""Reduces the evidence to that of one source."""


@dataclass(frozen=True, slots=True)
class Result:
    """The figures of one set of turns.

    Attributes:
        name: Name of the set.
        total: Counts, and the figures of the default profile.
        curves: Main figures by source.
        profiles: Figures of each profile, over all turns and by group.
    """

    name: str
    total: Figures
    curves: Mapping[str, MainFigures]
    profiles: Mapping[str, Mapping[str, Figures]]


def estimates(corpus: Corpus, estimator: EndOfTurnEstimator, source: str) -> dict[Key, EndOfTurnEstimate]:
    """Returns the estimate at each moment, from the evidence of one source."""
    strip = _STRIPPED[source]
    return {key: estimator.estimate(strip(evidence)) for key, evidence in corpus.evidence().items()}


def families(corpus: Corpus, estimator: EndOfTurnEstimator) -> Iterator[tuple[str, list[list[Outcome]]]]:
    """Yields each source with the outcomes of its policies, from the shortest wait to the longest."""
    yield SILENCE, [outcomes(corpus, _fixed(float(silence_ms))) for silence_ms in FIXED_MS]
    heard_smart = any(moment.smart is not None for moment in corpus.moments)
    for source in _STRIPPED:
        if source == SMART and not heard_smart:
            continue
        known = estimates(corpus, estimator, source)
        yield source, [outcomes(corpus, _thresholded(known, threshold)) for threshold in THRESHOLDS]


def result_of(name: str, corpus: Corpus, estimator: EndOfTurnEstimator, reply: ReplyTiming) -> Result:
    """Returns the figures of one set of turns."""
    known = estimates(corpus, estimator, FUSED)
    profiles = {}
    for profile_name, profile in PROFILES.items():
        profile_outcomes = outcomes(corpus, _by_profile(known, profile), reply)
        profiles[profile_name] = {"all": figures(profile_outcomes), **figures_by_group(profile_outcomes)}
    curves = {source: main_figures(profile_outcomes) for source, profile_outcomes in families(corpus, estimator)}
    return Result(name, profiles["auto"]["all"], curves, profiles)


def subset(corpus: Corpus, chosen: Callable[[Turn], bool]) -> Corpus:
    """Returns the corpus of some of the turns."""
    kept = {number: place for place, number in enumerate(n for n, turn in enumerate(corpus.turns) if chosen(turn))}
    moments = [replace(moment, turn=kept[moment.turn]) for moment in corpus.moments if moment.turn in kept]
    return Corpus([corpus.turns[number] for number in kept], moments)


def corpus_of(chosen: Sequence[Turn], stt: str, out: Path | None) -> Corpus:
    """Returns some turns with their moments, from the cache in `out` if there is one."""
    if out is not None:
        return Corpus(chosen, moments_of(chosen, stt, out=out, needs_smart=False))
    with tempfile.TemporaryDirectory() as folder:  # a kept cache could come from another version of the recognizer
        return Corpus(chosen, moments_of(chosen, stt, out=Path(folder), needs_smart=False))


def _in_group(name: str) -> Callable[[Turn], bool]:
    return lambda turn: turn.group == name


def _by_profile(known: Mapping[Key, EndOfTurnEstimate], profile: EndOfTurnProfile) -> Wait:
    return lambda moment: silence_timeout_ms(known[key_of(moment)], profile)


def _fixed(timeout_ms: float) -> Wait:
    return lambda _: timeout_ms


def _thresholded(known: Mapping[Key, EndOfTurnEstimate], threshold: float) -> Wait:
    """Returns the program's rule with one threshold and no tiers."""

    def wait(moment: Moment) -> float:
        estimate = known[key_of(moment)]
        wanted_ms = estimate.silence_ms + estimate.pause_excess_ms * (threshold - estimate.logit)
        return min(max(wanted_ms, FLOOR_MS), CEILING_MS)

    return wait


def main() -> None:
    """Measures, prints, and writes what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--manifest", type=Path, action="append", default=[], help="recordings; may be repeated")
    parser.add_argument("--field", type=Path, help="folder with manifest.jsonl whose rows say their use")
    parser.add_argument("--use", choices=("train", "judge"), default="judge", help="rows of --field")
    parser.add_argument("--weights", type=Path, help="weights file instead of the shipped one")
    parser.add_argument("--work-ms", type=float, default=ReplyTiming().work_ms, help="commit to the first sample")
    parser.add_argument("--retract-ms", type=float, default=ReplyTiming().retract_ms, help="speech to silence again")
    parser.add_argument("--stt", default="tiny.en", help="recognizer: a Whisper model that is present")
    parser.add_argument("--out", type=Path, help="folder of the caches; without it nothing is kept")
    parser.add_argument("--group", action="append", help="only this kind of speech; may be repeated")
    parser.add_argument("--by-group", action="store_true", help="also the curve of each kind of speech")
    parser.add_argument("--json", type=Path, help="file to write the figures to")
    parser.add_argument("--doc", type=Path, help="page to write the tables into")
    parser.add_argument("--overlaps", action="store_true", help="also play sounds into replies; minutes")
    parser.add_argument("--speech", type=Path, help="folder of clean speech and noise for --overlaps")
    parser.add_argument("--most", type=int, help="largest number of sounds in each row of --overlaps")
    options = parser.parse_args()
    manifests = [*options.manifest, *([options.field / "manifest.jsonl"] if options.field else [])] or REPOSITORY
    estimator = turn_end_of(json.loads(options.weights.read_text())) if options.weights else fitted_turn_end()
    reply = ReplyTiming(options.work_ms, options.retract_ms)
    chosen = [turn for manifest in manifests for turn in turns(manifest, options.use)]
    if options.group:
        chosen = [turn for turn in chosen if turn.group in options.group]
    corpus = corpus_of(chosen, options.stt, options.out)
    results = [result_of("all", corpus, estimator, reply)]
    if options.by_group:
        for group in sorted({turn.group for turn in corpus.turns}):
            part = subset(corpus, _in_group(group))
            if any(turn.pauses for turn in part.turns):
                results.append(result_of(group, part, estimator, reply))
    text = "\n\n".join(tables(result.name, result.total, result.curves, result.profiles) for result in results)
    print(text)
    if options.json:
        options.json.write_text(json.dumps([asdict(result) for result in results], indent=1) + "\n")
    if options.doc:
        write_page(page_table(results[0].total, results[0].profiles), options.doc)
    if options.overlaps:
        panel = overlap_table(_overlaps(options))
        print(f"\n{panel}")
        if options.doc:
            write_page(panel, options.doc, BEGIN_OVERLAPS)


def _overlaps(options: argparse.Namespace) -> list[OverlapOutcome]:
    """Returns what sounds did to a running reply. Without recordings: those of the repository."""
    speech = options.speech or (None if options.field else REPOSITORY[0].parent)
    cache = options.out / "overlaps" if options.out else None
    return overlap_panel(options.field, speech, options.use, model=options.stt, cache=cache, most=options.most)


if __name__ == "__main__":
    main()
