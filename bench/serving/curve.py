"""Computes the trade-off of the silence timeout: wait after the last word against cut-ins into pauses.

Computed, not played: the recordings go through the real VAD, recognizer and Smart Turn, and each strategy is judged on
the same silences (bench/end_of_turn/curve.py). One point for each setting, for each EOT source alone and together, with
the weights that ship.
"""

import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from assistant.models.needs import installed
from audio.end_of_turn.smart_turn.catalogue import SMART_TURN
from audio.end_of_turn.smart_turn.network import SmartTurn
from audio.stt.whisper.catalogue import TINY_EN
from bench.end_of_turn.curve import Cost
from bench.end_of_turn.evaluation import curves, profiles, shipped_logits
from bench.end_of_turn.habits import keyed, within_turns
from bench.end_of_turn.manifest import turns
from bench.end_of_turn.moments import Moment, heard_moments
from bench.end_of_turn.table import SHOWN_SOURCES
from bench.serving.rows import CurvePoint


def trade_curve(manifest: Path) -> tuple[CurvePoint, ...]:
    """Returns all points for a manifest's turns, with the words of tiny.en.

    Leaves out Smart Turn if it is not installed. Raises SystemExit if tiny.en is not, or if a manifest line lacks what
    a turn needs.
    """
    path, whisper = installed(SMART_TURN), installed(TINY_EN)
    if whisper is None:
        raise SystemExit("the words of tiny.en are needed: run repartee models pull tiny.en")
    try:
        judged_turns = list(turns(manifest, "judge"))
    except KeyError as error:
        raise SystemExit(f"{manifest}: for the curve, each line with the tag speech needs {error}.") from error
    with tempfile.TemporaryDirectory() as folder:  # a kept cache could come from another version of the recognizer
        network = None if path is None else SmartTurn(path)
        moments = heard_moments(judged_turns, Path(folder), network, whisper)
    sources = [source for source in SHOWN_SOURCES if path is not None or "smart" not in source]
    return points_of(moments, sources)


def points_of(moments: Sequence[Moment], sources: Sequence[str]) -> tuple[CurvePoint, ...]:
    """Returns points for fixed silences, each source over its thresholds, and the profiles with the last source."""
    logits = {source: keyed(moments, shipped_logits(moments, source)) for source in sources}
    known = {source: within_turns(moments, logit) for source, logit in logits.items()}
    shipped = profiles(moments, known[sources[-1]])
    drawn = [(curve.name, curve.points) for curve in curves(moments, known)]
    return tuple(point for source, costs in (*drawn, ("profile", shipped)) for point in _points(source, costs))


def _points(source: str, costs: Iterable[tuple[str, Cost]]) -> Iterable[CurvePoint]:
    return (
        CurvePoint(source, setting, cost.median_ms, cost.p95_ms, cost.cut_turns, cost.cut_plain)
        for setting, cost in costs
        if np.isfinite(cost.median_ms) and np.isfinite(cost.cut_turns) and np.isfinite(cost.cut_plain)
    )
