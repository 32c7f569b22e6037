"""Tests conversations in which the program learns the speaker."""

from dataclasses import fields, replace

import numpy as np

from assistant.end_of_turn.boosted_trees import BoostedTrees
from assistant.end_of_turn.estimator import FusedEstimator
from audio.end_of_turn.prosody_features import Prosody
from bench.end_of_turn.clips import Turn
from bench.end_of_turn.moments import Moment
from bench.turns.figures import Corpus
from bench.turns.speakers import Rule, by_stage, places, played, thresholded

AT_MS = (100, 200, 400, 800, 1200)
PROSODY = {one.name: 0.0 for one in fields(Prosody)}
TURN = Turn("a0", "ann", "", "command", np.zeros(0, np.int16), 0.0, 3000.0, ((1000.0, 1600.0),), (), 0.0, "dictation")
ESTIMATOR = FusedEstimator({"sound": BoostedTrees((), (), (), 0.0)}, 200.0)


def silence(turn: int, number: int, label: str, lasts_ms: float) -> list[Moment]:
    common = Moment(turn, "ann", "", "command", label, False, number, 0, 0.0, lasts_ms, PROSODY, None, "", False)
    return [replace(common, at_ms=at, known_ms=float(at), resumes_ms=lasts_ms) for at in AT_MS if at < lasts_ms]


def corpus(turns: int) -> Corpus:
    """Returns turns of one speaker with a pause of 600 ms each; their order in the corpus is not that of time."""
    ids = [f"a{turn}" for turn in reversed(range(turns))]
    moments = [m for t in range(turns) for n in range(3) for m in silence(t, n, "end" if n == 2 else "pause", 600 + n)]
    return Corpus([replace(TURN, id=name) for name in ids], moments)


def test_turns_are_played_in_order_of_time() -> None:
    assert places(corpus(3).turns) == {2: 0, 1: 1, 0: 2}


def test_pauses_of_earlier_turns_save_later_ones_only_if_the_program_learns() -> None:
    recordings = corpus(12)
    cut = {}
    for learns in (False, True):
        stages = by_stage(recordings, played(recordings, Rule(lambda _: ESTIMATOR, thresholded(0.9), learns)))
        cut[learns] = [sum(outcome.cut_pauses for outcome in stages[name]) / len(stages[name]) for name in stages]
    assert cut[False] == [cut[False][0]] * 3
    assert cut[True][2] < cut[False][2]
