"""Fits and evaluates the EOT estimate; writes the weights and the plots of docs/lab/turn-taking.md.

    python -m bench.end_of_turn.evaluation fit --pauses DIR --field DIR    # the weights, from DIR/manifest.jsonl
    python -m bench.end_of_turn.evaluation shifts --pauses DIR --field DIR # what priors.py says about pauses, fitted
    python -m bench.end_of_turn.evaluation evaluate --pauses DIR  # areas and trade-off, cross-validated, and plots
    python -m bench.end_of_turn.evaluation judge --speech DIR              # the shipped weights on unseen recordings

Of --field, fit and evaluate use only the rows for "train", judge only those for "judge"; to fit on a row for "judge" is
an error. The words are those of Whisper (`--stt tiny.en`). Transcripts are cached in the --out folder: the first run
decodes every clip (minutes), later ones take seconds.
"""

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from assistant.end_of_turn.estimator import BALANCED, EAGER, PATIENT, EndOfTurnProfile, fitted_turn_end
from assistant.models.catalogue import named
from assistant.models.needs import installed
from audio.end_of_turn.smart_turn.catalogue import SMART_TURN
from audio.end_of_turn.smart_turn.network import SmartTurn
from bench.end_of_turn.clips import Turn, Use, with_pauses
from bench.end_of_turn.curve import Cost, cost, with_real_lengths
from bench.end_of_turn.fit import Bools, Boosted, Floats, area, boosted, fitted, folds, held_out, interval
from bench.end_of_turn.habits import Key, Known, keyed, waits, within_turns
from bench.end_of_turn.manifest import FIELD_GROUPS, MOST_OF_SPEAKER, turns
from bench.end_of_turn.moments import Moment, heard_moments
from bench.end_of_turn.plots import Curve, plot_areas, plot_curves
from bench.end_of_turn.shifts import excess_ms, silence_shift
from bench.end_of_turn.table import (
    EVALUATED_SOURCES,
    SETS,
    SHIPPED_SOURCES,
    SHOWN_SOURCES,
    collection,
    features_of,
    importance_of,
    names_of,
    signs_of,
)

CACHE = Path("out/turn_end")
DOCS = Path("docs")
WEIGHTS = Path("assistant/end_of_turn/weights.json")

LICENCE = (
    "GPL-3.0; none of the recordings is in them or in the program. WUW Corpus II (V. Kepuska), one of those that they"
    " are fitted on, is under CC-BY-SA-4.0, which is compatible with version 3 of the GPL."
)

FITTED_AT_MS = (100, 150, 200, 300, 400)
SHOWN_AT_MS = (100, 150, 200, 300)
REFERENCE_MS = 200.0
FOLDS, SEED = 10, 7
FIXED_MS = (160, 200, 250, 300, 400, 500, 600, 700, 800, 1000, 1200)
THRESHOLDS = tuple(np.arange(-1.4, 3.1, 0.2).tolist())
CURVE_CEILING_MS = 1200.0
SHIPPED = (("eager", EAGER), ("balanced", BALANCED), ("patient", PATIENT))


def chosen_turns(
    folders: Sequence[Path], use: Use, *, made: bool = False, read: bool = True, most: int = MOST_OF_SPEAKER
) -> list[Turn]:
    """Returns the turns of some folders with a manifest.jsonl.

    Args:
        folders: The folders.
        use: What the turns are for, see `turn_end_manifest.rows_of`.
        made: Also load copies of turns without pauses, with pauses added.
        read: Also load read speech, on which nothing is fitted.
        most: Limit on clips of one speaker.
    """
    result: list[Turn] = []
    for folder in folders:
        natural = [turn for turn in turns(folder / "manifest.jsonl", use, most) if read or turn.kind != "read"]
        copies = [with_pauses(turn) for turn in natural if made and turn.group not in FIELD_GROUPS]
        result += natural + [copy for copy in copies if copy is not None]
    return result


def moments_of(
    chosen: Sequence[Turn], stt: str, *, short: bool = False, out: Path = CACHE, needs_smart: bool = True
) -> list[Moment]:
    """Returns all moments of some turns, from the caches if they are there. Raises SystemExit without a model.

    Args:
        chosen: The turns.
        stt: Name of the Whisper model.
        short: Smart Turn gets only 4 s of sound.
        out: Folder of the caches.
        needs_smart: Whether Smart Turn is required. If not, it is left out where it is not downloaded.
    """
    path = installed(SMART_TURN)
    if path is None and needs_smart:
        raise SystemExit("Smart Turn is one of the sources: run repartee models pull smart-turn-v3.2")
    cache = out / stt
    cache.mkdir(parents=True, exist_ok=True)
    return heard_moments(chosen, cache, None if path is None else SmartTurn(path, short=short), whisper_of(stt))


def whisper_of(stt: str) -> Path:
    """Returns the folder of a Whisper model. Raises SystemExit if it is not downloaded."""
    model = named(stt)
    if model is None or (folder := installed(model)) is None:
        raise SystemExit(f"the words of {stt} are needed: run repartee models pull {stt}")
    return folder


# ---- the fit ----


def check_use(moments: Sequence[Moment]) -> None:
    """Raises ValueError if any of the moments are for judging only."""
    if judged := sorted({moment.source for moment in moments if moment.use != "train"}):
        raise ValueError(f"recordings for judging may not be fitted on: {', '.join(judged)}")


def fit_on(moments: Sequence[Moment], features: Floats, sources: str, chosen: Bools) -> Boosted:
    """Fits the model of some sources on the chosen moments, without read speech (docs/lab/turn-taking.md)."""
    check_use(moments)
    rows = [
        row
        for row in np.flatnonzero(chosen).tolist()
        if moments[row].at_ms in FITTED_AT_MS and collection(moments[row]) != "read" and not moments[row].made
    ]
    some = [moments[row] for row in rows]
    ends = np.array([moment.label == "end" for moment in some])
    return boosted(features[rows], ends, importance_of(some), signs_of(sources))


def cross_validated(moments: Sequence[Moment], sources: str) -> Floats:
    """Returns the logit of every moment from a model that was not trained on its speaker."""
    features = features_of(moments, sources)

    def fit(train: Bools) -> Callable[[Bools], Floats]:
        model = fit_on(moments, features, sources, train)
        return lambda test: model.logit(features[test])

    return held_out(fit, folds([moment.speaker for moment in moments], FOLDS, SEED))


def calibration(moments: Sequence[Moment], logits: Floats) -> tuple[float, float]:
    """Returns factor and bias that calibrate held-out logits."""
    check_use(moments)
    rows = [
        row
        for row, moment in enumerate(moments)
        if moment.at_ms in FITTED_AT_MS and collection(moment) != "read" and not moment.made
    ]
    some = [moments[row] for row in rows]
    ends = np.array([moment.label == "end" for moment in some])
    model = fitted(logits[rows][:, np.newaxis], ends, importance_of(some), 1e-3)
    factor = float(model.weights[0] / model.deviation[0])
    return factor, float(model.bias - factor * model.mean[0])


def calibrated(moments: Sequence[Moment], sources: str) -> Floats:
    """Returns cross-validated, calibrated logits. The two calibration numbers are fitted on all speakers."""
    logits = cross_validated(moments, sources)
    factor, bias = calibration(moments, logits)
    return factor * logits + bias


def baseline(moments: Sequence[Moment]) -> Floats:
    """Returns logits from a baseline without audio or words: collection and time since onset. Shows dataset bias."""
    read = np.array([float(collection(moment) == "read") for moment in moments])
    orders = np.array([float(collection(moment) == "orders") for moment in moments])
    spoken_s = np.array([moment.prosody["spoken_s"] for moment in moments])
    features = np.column_stack([read, orders, spoken_s, spoken_s * read, spoken_s * orders])
    ends = np.array([moment.label == "end" for moment in moments])
    real = np.array([not moment.made and moment.label != "gap" for moment in moments])

    def fit(train: Bools) -> Callable[[Bools], Floats]:
        rows = train & real
        model = fitted(features[rows], ends[rows], np.ones(int(rows.sum())), 1.0)
        return lambda test: model.logit(features[test])

    return held_out(fit, folds([moment.speaker for moment in moments], FOLDS, SEED))


def write_weights(moments: Sequence[Moment], path: Path) -> None:
    """Fits every combination of sources on all moments and writes a weights file."""
    models = {}
    for sources in SHIPPED_SOURCES:
        model = fit_on(moments, features_of(moments, sources), sources, np.ones(len(moments), dtype=np.bool_))
        factor, bias = calibration(moments, cross_validated(moments, sources))
        models[sources] = {
            "names": list(names_of(sources)),
            "typical": np.round(model.typical, 5).tolist(),
            "bias": round(bias, 5),
            "trees": model.trees(factor),
        }
    heard = sorted({moment.source for moment in moments if collection(moment) != "read" and moment.source})
    weights = {
        "about": "Weights of assistant/end_of_turn/estimator.py, by python -m bench.end_of_turn.evaluation fit.",
        "licence": LICENCE,
        "fitted_on": heard,
        "reference_ms": REFERENCE_MS,
        "models": models,
    }
    path.write_text(_written(weights), encoding="utf-8")


def _written(weights: Mapping[str, Any]) -> str:
    """Returns weights as JSON, with a tree on each line."""
    models = weights["models"]
    tables = {name: {**model, "trees": []} for name, model in models.items()}
    parts = json.dumps({**weights, "models": tables}, indent=1).split('"trees": []')
    lines = [",\n".join("    " + json.dumps(tree) for tree in model["trees"]) for model in models.values()]
    tables_of_trees = (f'{part}"trees": [\n{line}\n   ]' for part, line in zip(parts, lines, strict=False))
    return "".join(tables_of_trees) + parts[-1] + "\n"


def print_shifts(heard: Sequence[Turn], moments: Sequence[Moment]) -> None:
    """Prints the fitted numbers of assistant/end_of_turn/priors.py, over all but read speech and by collection."""
    check_use(moments)
    logits = calibrated(moments, SHIPPED_SOURCES[-1])
    names = sorted({collection(moment) for moment in moments} - {"read"})
    print("| collection | mean excess of a pause, ms | shift for a second of silence |")
    print("|---|---|---|")
    for name in ("", *names):
        inside = {moment.turn for moment in moments if name in ("", collection(moment))}
        excess = excess_ms([turn for number, turn in enumerate(heard) if number in inside])
        shift = silence_shift(moments, logits, name)
        cell = f"{shift.value:+.2f} ({shift.low:+.2f} to {shift.high:+.2f}, n = {shift.moments})"
        print(f"| {name or 'all'} | {excess:.0f} | {cell} |")


# ---- evaluation ----


Area = tuple[float, float, float]


def areas(moments: Sequence[Moment], logits: Mapping[str, Floats], silence_ms: int) -> dict[str, dict[str, Area]]:
    """Returns area under the curve and its interval, by set and source."""
    ends = np.array([moment.label == "end" for moment in moments])
    speakers = np.array([moment.speaker for moment in moments])
    areas_by_name: dict[str, dict[str, Area]] = {}
    for name, belongs in SETS.items():
        rows = np.array([moment.at_ms == silence_ms and belongs(moment) for moment in moments])
        if not rows.any():
            continue
        areas_by_name[name] = {
            source: (
                area(scores[rows], ends[rows]),
                *interval(scores[rows], ends[rows], speakers[rows].tolist()),
            )
            for source, scores in logits.items()
        }
    return areas_by_name


def fixed(moments: Sequence[Moment]) -> list[tuple[str, Cost]]:
    """Returns the cost of fixed silences."""
    return [(f"{ms} ms", cost(moments, waits({}, EndOfTurnProfile(ms, ms, ms, 0)))) for ms in FIXED_MS]


def curves(moments: Sequence[Moment], known: Mapping[str, Mapping[Key, Known]]) -> list[Curve]:
    """Returns curves for fixed silences, and for each source over all thresholds, lowest floor and one ceiling."""
    curves = [Curve("fixed", fixed(moments))]
    for source, scores in known.items():
        points = []
        for threshold in THRESHOLDS:
            profile = EndOfTurnProfile(EAGER.floor_ms, CURVE_CEILING_MS, CURVE_CEILING_MS, threshold)
            points.append((f"{threshold:+.2f}", cost(moments, waits(scores, profile))))
        curves.append(Curve(source, points))
    return curves


def profiles(moments: Sequence[Moment], known: Mapping[Key, Known]) -> list[tuple[str, Cost]]:
    """Returns the cost of the three shipped profiles, with each turn as a speaker's first."""
    return [(name, cost(moments, waits(known, profile))) for name, profile in SHIPPED]


def print_areas(moments: Sequence[Moment], logits: Mapping[str, Floats]) -> None:
    """Prints one table for each set."""
    by_length = {silence_ms: areas(moments, logits, silence_ms) for silence_ms in SHOWN_AT_MS}
    for name in by_length[SHOWN_AT_MS[0]]:
        belongs = SETS[name]
        at_200 = [moment.label == "end" for moment in moments if moment.at_ms == 200 and belongs(moment)]
        print(f"\n{name}: {sum(at_200)} ends, {len(at_200) - sum(at_200)} pauses of 200 ms or more\n")
        print("| source | " + " | ".join(f"{silence_ms} ms" for silence_ms in SHOWN_AT_MS) + " |")
        print("|---" * (1 + len(SHOWN_AT_MS)) + "|")
        for source in logits:
            cells = [by_length[silence_ms][name][source] for silence_ms in SHOWN_AT_MS]
            print(f"| {source} | " + " | ".join(f"{a:.2f} ({low:.2f}–{high:.2f})" for a, low, high in cells) + " |")


def print_reliability(moments: Sequence[Moment], logits: Floats) -> None:
    """Prints predicted against actual probabilities at 200 ms, with ends and pauses weighted equally."""
    rows = [row for row, m in enumerate(moments) if m.at_ms == REFERENCE_MS and collection(m) != "read"]
    ends = np.array([moments[row].label == "end" for row in rows])
    importance = importance_of([moments[row] for row in rows])
    probabilities = 1 / (1 + np.exp(-logits[rows]))
    print("\n| predicted | moments | predicted, mean | ends |\n|---|---|---|---|")
    for low in (0.0, 0.2, 0.4, 0.6, 0.8):
        inside = (probabilities >= low) & (probabilities < low + 0.2)
        means = [np.average(values[inside], weights=importance[inside]) for values in (probabilities, ends)]
        print(f"| {low:.1f}–{low + 0.2:.1f} | {inside.sum()} | {means[0]:.2f} | {means[1]:.2f} |")


def print_costs(title: str, rows: Sequence[tuple[str, Cost]]) -> None:
    """Prints waits and cut-ins."""
    columns = "turns without a pause: wait p50 / p95 ms, cut into | with one: cut into, p50 / p95 ms | pauses cut"
    print(f"\n| {title} | {columns} |")
    print("|---|---|---|---|")
    for name, turn_cost in rows:
        print(
            f"| {name} | {turn_cost.median_ms:.0f} / {turn_cost.p95_ms:.0f}, {100 * turn_cost.cut_plain:.1f} % "
            f"| {100 * turn_cost.cut_turns:.0f} %, {turn_cost.paused_median_ms:.0f} / {turn_cost.paused_p95_ms:.0f} "
            f"| {100 * turn_cost.cut_pauses:.0f} % |"
        )


def evaluate(moments: Sequence[Moment]) -> None:
    """Prints the tables and draws the plots. Models are never tested on speakers they were trained on."""
    everything = EVALUATED_SOURCES[-1]
    logits = {source: calibrated(moments, source) for source in EVALUATED_SOURCES}
    print_areas(moments, logits | {"collection and time only": baseline(moments)})
    print_reliability(moments, logits[everything])
    shown = {source: logits[source] for source in SHOWN_SOURCES}
    plot_areas(areas(moments, shown, 200), 200, DOCS / "turn-taking-areas.svg")
    # Speech that is or could be directed at an assistant.
    spoken = with_real_lengths([moment for moment in moments if collection(moment) != "read"])
    heard = {source: keyed(moments, values) for source, values in shown.items()}
    scores = {source: within_turns(spoken, values) for source, values in heard.items()}
    drawn = curves(spoken, scores)
    kept = profiles(spoken, scores[everything])
    plot_curves(drawn, kept, DOCS / "turn-taking-curve.svg")
    for curve in drawn:
        print_costs(curve.name, curve.points[:: 1 if curve.name == "fixed" else 2])
    print_costs("profile, all sources", kept)
    print_costs("profile, without Smart Turn", profiles(spoken, scores[everything.removesuffix("+smart")]))
    read = [moment for moment in moments if collection(moment) == "read" and not moment.made]
    print_costs("profile, read aloud", profiles(read, within_turns(read, heard[everything])))


def shipped_logits(moments: Sequence[Moment], sources: str) -> Floats:
    """Returns the logit of every moment by the shipped weights."""
    names, model = names_of(sources), fitted_turn_end().models[sources]
    return np.array([model.logit(dict(zip(names, row, strict=True))) for row in features_of(moments, sources)])


def judge(moments: Sequence[Moment]) -> None:
    """Evaluates the shipped weights on unseen recordings."""
    logits = {sources: shipped_logits(moments, sources) for sources in SHIPPED_SOURCES}
    everything = SHIPPED_SOURCES[-1]
    print_areas(moments, logits)
    print_costs("fixed", fixed(moments))
    heard = {sources: keyed(moments, logit) for sources, logit in logits.items()}
    for name, sources in (("all sources", everything), ("without Smart Turn", everything.removesuffix("+smart"))):
        print_costs(f"profile, {name}", profiles(moments, within_turns(moments, heard[sources])))


def main() -> None:
    """Fits, evaluates or judges."""
    parser = argparse.ArgumentParser(description="Fits and measures the end-of-turn estimate.")
    parser.add_argument("what", choices=("fit", "shifts", "evaluate", "judge"))
    parser.add_argument("--pauses", type=Path, help="folder with manifest.jsonl, for fit and evaluate")
    parser.add_argument("--speech", type=Path, help="folder with manifest.jsonl, for judge")
    parser.add_argument("--field", type=Path, help="folder with manifest.jsonl whose rows say their use")
    parser.add_argument("--short", action="store_true", help="give Smart Turn 4 s of speech, as on slow processors")
    parser.add_argument("--weights", type=Path, default=WEIGHTS, help="file that fit writes")
    parser.add_argument("--stt", default="tiny.en", help="recognizer: a Whisper model that is present")
    parser.add_argument("--most", type=int, default=MOST_OF_SPEAKER, help="limit on clips of one speaker")
    parser.add_argument("--out", type=Path, default=CACHE, help="folder of the caches")
    options = parser.parse_args()
    judged = options.what == "judge"
    folders = [folder for folder in (options.speech if judged else options.pauses, options.field) if folder]
    if not folders:
        parser.error("judge needs --speech DIR or --field DIR; fit and evaluate need --pauses DIR or --field DIR")
    heard = chosen_turns(
        folders,
        "judge" if judged else "train",
        made=options.what == "evaluate",
        read=options.what in ("evaluate", "judge"),
        most=options.most,
    )
    moments = moments_of(heard, options.stt, short=options.short, out=options.out)
    if options.what == "fit":
        write_weights(moments, options.weights)
    elif options.what == "evaluate":
        evaluate(moments)
    elif options.what == "shifts":
        print_shifts(heard, moments)
    else:
        judge(moments)


if __name__ == "__main__":
    main()
