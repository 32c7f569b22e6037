"""What waiting for the end of a turn costs: how long after the last word, and how often into a pause.

Computed, not played: the recordings go through the real detector, recognizer and Smart Turn, and each way of waiting is
judged on the same silences (bench/turn_end_curve.py). One point for each setting, for each source of the estimate alone
and together, with the weights that ship.
"""

import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from assistant.models.catalogue import SMART_TURN, TINY_EN
from assistant.models.needs import installed
from audio.end_of_turn.smart_turn import SmartTurn
from bench.serve_rows import CurvePoint
from bench.turn_end import asked_once, curves, profiles, shipped_logits, shown_of
from bench.turn_end_clips import turns
from bench.turn_end_curve import Cost
from bench.turn_end_habits import keyed, within_turns
from bench.turn_end_moments import Moment, heard_moments


def trade_curve(manifest: Path) -> tuple[CurvePoint, ...]:
    """All points of a manifest's turns, with the words of tiny.en where it is at hand, else of pocketsphinx.

    Without Smart Turn at hand, those of the other sources.

    Raises SystemExit where a line lacks what a turn needs.
    """
    path = installed(SMART_TURN)
    try:
        found = list(turns(manifest, tags=True))
    except KeyError as error:
        raise SystemExit(f"{manifest}: for the curve each line with the tag speech needs {error}.") from error
    with tempfile.TemporaryDirectory() as folder:  # what is kept would be of another day's recognizer
        network = None if path is None else SmartTurn(path)
        moments = heard_moments(found, Path(folder), network, installed(TINY_EN))
    sources = [source for source in shown_of(moments) if path is not None or "smart" not in source]
    return points_of(asked_once(moments), sources)


def points_of(moments: Sequence[Moment], sources: Sequence[str]) -> tuple[CurvePoint, ...]:
    """Fixed lengths of silence, each source over its thresholds, and the profiles on the last of the sources."""
    logits = {source: keyed(moments, shipped_logits(moments, source)) for source in sources}
    known = {source: within_turns(moments, found) for source, found in logits.items()}
    shipped = profiles(moments, known[sources[-1]])
    drawn = [(curve.name, curve.points) for curve in curves(moments, known)]
    return tuple(point for source, costs in (*drawn, ("profile", shipped)) for point in _points(source, costs))


def _points(source: str, costs: Iterable[tuple[str, Cost]]) -> Iterable[CurvePoint]:
    return (
        CurvePoint(source, setting, cost.median_ms, cost.p95_ms, cost.cut_turns, cost.cut_plain)
        for setting, cost in costs
        if np.isfinite(cost.median_ms) and np.isfinite(cost.cut_turns) and np.isfinite(cost.cut_plain)
    )
