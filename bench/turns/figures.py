"""Computes the main figures of turn taking from the silences of labelled turns. Pure.

The main figures are the share of natural pauses that are taken for the end of the turn, at a mean delay of 300 and of
600 ms after the true ends, and the mean delay at which that share is 5 %. A pause before a word that the speaker was
asked to use counts GIVEN_WEIGHT.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan, nan

import numpy as np
import numpy.typing as npt

from assistant.end_of_turn.dictation.dictation_rules import NOTHING, Dictation, DictationRules
from assistant.end_of_turn.estimator import EndOfTurnEvidence
from assistant.end_of_turn.priors import PAUSE_FROM_MS, SpeakerPauseStats
from assistant.end_of_turn.questions import Expected, Question
from audio.end_of_turn.prosody_features import Prosody
from bench.end_of_turn.clips import Turn
from bench.end_of_turn.curve import PAUSE_MS, Wait, ended_at
from bench.end_of_turn.habits import Key, key_of
from bench.end_of_turn.moments import Moment
from bench.end_of_turn.table import GIVEN_WEIGHT
from bench.end_of_turn.words import StoredTranscript

Policy = Callable[[EndOfTurnEvidence], float]
"""Maps the evidence at a moment of a silence to the silence timeout, in ms from the detected end of speech."""

Floats = npt.NDArray[np.float64]

MEAN_DELAYS_MS = (300.0, 600.0)
CUT_SHARE = 0.05

DATED_WITHIN_MS = 250.0
"""An end that the detector dates earlier than this before the label is no end for the delay: it missed the last words.
The delay is then the detector's error and the same for each policy."""

LABEL_ERROR_MS = 100.0
"""An end of turn this close before the labelled end of speech is not early."""

DRAWS = 400

_RULES = DictationRules()

_PAUSE_FROM_MS = PAUSE_FROM_MS - 0.5  # against rounding of the labels


@dataclass(frozen=True, slots=True)
class ReplyTiming:
    """Assumed times of the reply.

    Attributes:
        work_ms: Time from the commit to the first audible sample: what is left of the response work, and playback.
        retract_ms: Time from confirmed speech to silence of the reply.
    """

    work_ms: float = 100.0
    retract_ms: float = 200.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one turn with a policy.

    Attributes:
        speaker: As in the manifest.
        group: Kind of speech; "plain" for a turn without a pause of 300 ms or more.
        pauses: Labelled pauses of 200 ms or more, weighted.
        cut_pauses: Those in which the turn was ended, weighted.
        delay_ms: Time from the labelled end to the decision; NaN if the clip has no end that the detector reports.
        talked_over: Whether a reply was audible before the user had finished.
        overlap_ms: How long a reply was audible while the user spoke.
        never_ended: Whether the clip has an end, but the detector reports no silence there.
    """

    speaker: str
    group: str
    pauses: float
    cut_pauses: float
    delay_ms: float
    talked_over: bool
    overlap_ms: float
    never_ended: bool


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures of one policy over some turns. Shares are 0..1; a figure without data is NaN.

    Attributes:
        turns, speakers, ends, pauses: What they are from; pauses are weighted.
        cut_share: Share of the pauses that were taken for the end.
        mean_delay_ms: Mean time from the true ends to the decision.
        talked_over: Share of the turns.
        p50_ms, p95_ms: Delay in the other turns.
        never_ended: Number of turns.
        overlap_ms: Reply heard while the user speaks, mean of the turns talked over.
    """

    turns: int
    speakers: int
    ends: int
    pauses: float
    cut_share: float
    mean_delay_ms: float
    talked_over: float
    p50_ms: float
    p95_ms: float
    never_ended: int
    overlap_ms: float


class Corpus:
    """Turns with the moments of their silences.

    Attributes:
        turns: The turns. `Moment.turn` is the index in it.
        moments: All moments, in order.
    """

    def __init__(self, turns: Sequence[Turn], moments: Sequence[Moment]) -> None:
        """Groups the moments by silence."""
        self.turns = turns
        self.moments = moments
        self._silences: list[dict[int, list[Moment]]] = [{} for _ in turns]
        for moment in moments:
            self._silences[moment.turn].setdefault(moment.number, []).append(moment)

    def silences(self, turn: int) -> list[list[Moment]]:
        """Returns the silences of a turn, each as its moments, in order."""
        return list(self._silences[turn].values())

    def evidence(self, expected: Callable[[Turn], Expected] = lambda _: "anything") -> dict[Key, EndOfTurnEvidence]:
        """Returns the evidence at each moment, as in a speaker's first turn.

        Args:
            expected: Kind of answer that the assistant asked for before a turn.
        """
        result = {}
        for number, turn in enumerate(self.turns):
            habits, answer, dictation = SpeakerPauseStats(), expected(turn), NOTHING
            for silence in self.silences(number):
                dictation = _RULES.dictation_of(silence[0].text, Question(answer), dictation)
                for moment in silence:
                    result[key_of(moment)] = _evidence(moment, habits, answer, dictation)
                if silence[0].label != "end":
                    habits = habits.with_pause(silence[0].lasts_ms)
        return result


def wait_of(evidence: Mapping[Key, EndOfTurnEvidence], policy: Policy) -> Wait:
    """Returns a policy as a wait for moments, to use with `outcomes`."""
    return lambda moment: policy(evidence[key_of(moment)])


def outcomes(corpus: Corpus, wait: Wait, reply: ReplyTiming = ReplyTiming()) -> list[Outcome]:
    """Plays every turn, as if the user went on after each pause without regard to a reply."""
    return [_played(turn, corpus.silences(number), wait, reply) for number, turn in enumerate(corpus.turns)]


def figures(outcomes: Sequence[Outcome]) -> Figures:
    """Returns the figures of some outcomes."""
    delays_ms = [outcome.delay_ms for outcome in outcomes if not isnan(outcome.delay_ms)]
    others_ms = [outcome.delay_ms for outcome in outcomes if not isnan(outcome.delay_ms) and not outcome.talked_over]
    p50_ms, p95_ms = np.percentile(others_ms, [50, 95]) if others_ms else (nan, nan)
    pauses = sum(outcome.pauses for outcome in outcomes)
    overlaps_ms = [outcome.overlap_ms for outcome in outcomes if outcome.talked_over]
    return Figures(
        turns=len(outcomes),
        speakers=len({outcome.speaker for outcome in outcomes}),
        ends=len(delays_ms),
        pauses=pauses,
        cut_share=sum(outcome.cut_pauses for outcome in outcomes) / pauses if pauses else nan,
        mean_delay_ms=float(np.mean(delays_ms)) if delays_ms else nan,
        talked_over=float(np.mean([outcome.talked_over for outcome in outcomes])) if outcomes else nan,
        p50_ms=float(p50_ms),
        p95_ms=float(p95_ms),
        never_ended=sum(outcome.never_ended for outcome in outcomes),
        overlap_ms=float(np.mean(overlaps_ms)) if overlaps_ms else nan,
    )


def figures_by_group(outcomes: Sequence[Outcome]) -> dict[str, Figures]:
    """Returns the figures of each group, with "plain" at the head."""
    names = sorted({outcome.group for outcome in outcomes}, key=lambda name: (name != "plain", name))
    return {name: figures([outcome for outcome in outcomes if outcome.group == name]) for name in names}


def measured(corpus: Corpus, policy: Policy, reply: ReplyTiming = ReplyTiming()) -> dict[str, Figures]:
    """Returns a policy's figures: over all turns as "all", and by group."""
    policy_outcomes = outcomes(corpus, wait_of(corpus.evidence(), policy), reply)
    return {"all": figures(policy_outcomes), **figures_by_group(policy_outcomes)}


@dataclass(frozen=True, slots=True)
class MainFigure:
    """A figure with its 95 % interval over speakers drawn with replacement; NaN where it is not reached."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class MainFigures:
    """The main figures of one family of policies.

    Attributes:
        cut_shares: Share of the pauses cut, at each of MEAN_DELAYS_MS.
        delay_ms: Mean delay at CUT_SHARE.
        points: Mean delay and share of the pauses cut, for each policy of the family.
    """

    cut_shares: tuple[MainFigure, ...]
    delay_ms: MainFigure
    points: tuple[tuple[float, float], ...]


def main_figures(families: Sequence[Sequence[Outcome]]) -> MainFigures:
    """Returns the main figures of a family of policies.

    Args:
        families: The outcomes of each policy on the same turns, from the shortest wait to the longest.
    """
    sums = _sums_by_speaker(families)
    whole = _curve(sums.sum(axis=0))
    rng = np.random.default_rng(1)
    speakers = len(sums)
    drawn = [_curve(sums[rng.integers(0, speakers, speakers)].sum(axis=0)) for _ in range(DRAWS)]
    return MainFigures(
        tuple(_with_interval(_cut_at, delay_ms, whole, drawn) for delay_ms in MEAN_DELAYS_MS),
        _with_interval(_delay_at, CUT_SHARE, whole, drawn),
        tuple((float(delay_ms), float(cut)) for delay_ms, cut in zip(*whole, strict=True)),
    )


Curve = tuple[Floats, Floats]
"""Mean delay and share of pauses cut, each of shape (policies,)."""


def _sums_by_speaker(families: Sequence[Sequence[Outcome]]) -> Floats:
    """Returns for each speaker and policy: sum of delays, their number, pauses cut, pauses. Shape (s, policies, 4)."""
    names = sorted({outcome.speaker for outcome in families[0]})
    index = {name: number for number, name in enumerate(names)}
    sums = np.zeros((len(names), len(families), 4))
    for column, group in enumerate(families):
        for outcome in group:
            known = not isnan(outcome.delay_ms)
            sums[index[outcome.speaker], column] += (
                outcome.delay_ms if known else 0.0,
                known,
                outcome.cut_pauses,
                outcome.pauses,
            )
    return sums


def _curve(sums: Floats) -> Curve:
    with np.errstate(invalid="ignore", divide="ignore"):
        return sums[:, 0] / sums[:, 1], sums[:, 2] / sums[:, 3]


def _cut_at(curve: Curve, delay_ms: float) -> float:
    delays_ms, cut = curve
    if not np.isfinite(delays_ms).all() or not np.isfinite(cut).all() or not delays_ms[0] <= delay_ms <= delays_ms[-1]:
        return nan
    return float(np.interp(delay_ms, delays_ms, cut))


def _delay_at(curve: Curve, share: float) -> float:
    delays_ms, cut = curve
    if not np.isfinite(delays_ms).all() or not np.isfinite(cut).all() or cut[-1] > share:
        return nan
    return float(np.interp(-share, -cut, delays_ms))


def _with_interval(
    read: Callable[[Curve, float], float], value: float, whole: Curve, drawn: Sequence[Curve]
) -> MainFigure:
    values = [value for value in (read(curve, value) for curve in drawn) if not isnan(value)]
    low, high = np.percentile(values, [2.5, 97.5]) if values else (nan, nan)
    return MainFigure(read(whole, value), float(low), float(high))


def _played(turn: Turn, silences: Sequence[Sequence[Moment]], wait: Wait, reply: ReplyTiming) -> Outcome:
    cut_pauses, overlap_ms, delay_ms, talked_over, ended = 0.0, 0.0, nan, False, False
    for silence in silences:
        first, due = silence[0], ended_at(silence, wait)
        onset_ms = due + reply.work_ms
        if first.label == "end":
            ended = True
            delay_ms = due - first.ended_ms if first.ended_ms <= DATED_WITHIN_MS else nan
            if onset_ms < first.ended_ms - LABEL_ERROR_MS:
                talked_over, overlap_ms = True, overlap_ms + first.ended_ms - onset_ms
            continue
        if due >= first.resumes_ms:
            continue
        if first.label != "gap" and first.resumes_ms - first.ended_ms >= _PAUSE_FROM_MS:
            cut_pauses += GIVEN_WEIGHT if first.given else 1.0
        if onset_ms < first.lasts_ms:  # otherwise it is retracted before a sample is heard
            talked_over = True
            overlap_ms += first.lasts_ms + reply.retract_ms - max(onset_ms, first.resumes_ms)
    spans = (*turn.pauses, *turn.made)
    return Outcome(
        speaker=turn.speaker,
        group=turn.group if any(end - begin >= PAUSE_MS for begin, end in spans) else "plain",
        pauses=sum(
            GIVEN_WEIGHT if span in turn.given else 1.0 for span in spans if span[1] - span[0] >= _PAUSE_FROM_MS
        ),
        cut_pauses=cut_pauses,
        delay_ms=delay_ms,
        talked_over=talked_over,
        overlap_ms=overlap_ms,
        never_ended=turn.ends and not ended,
    )


def _evidence(moment: Moment, habits: SpeakerPauseStats, expected: Expected, dictation: Dictation) -> EndOfTurnEvidence:
    transcript = StoredTranscript(moment.text, moment.low_confidence, moment.ends, moment.goes_on)
    return EndOfTurnEvidence(
        silence_ms=moment.known_ms,
        prosody=Prosody(**moment.prosody),
        text=moment.text,
        punctuation=transcript.punctuation,
        smart_turn=moment.smart,
        pause_stats=habits,
        expected=expected,
        dictation=dictation,
    )
