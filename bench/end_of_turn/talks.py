"""Measures the benefit of speaker pause statistics, on conversations assembled from single turns.

No collection has recordings of one person who talks to an assistant for long. So a conversation is a dozen turns of
arbitrary speakers, played in sequence. A given share of them has a pause of 300 ms or more. What the program learns in
the first turns applies to later ones. After a cut-in, the user resumes when their pause is over. If that is soon after
the answer's onset, the program knows that it was a pause; later it counts as an interruption and a new turn.
"""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assistant.end_of_turn.estimator import EndOfTurnProfile, silence_timeout_ms
from assistant.end_of_turn.priors import SpeakerPauseStats
from assistant.turns.settings import OverlapThresholds
from bench.end_of_turn.curve import PAUSE_MS, ended_at
from bench.end_of_turn.habits import Key, Known, estimate_of, key_of
from bench.end_of_turn.moments import Moment

TURNS = 12
CONVERSATIONS = 300
SHARES = (0.0, 0.3, 1.0)
"""Shares of a speaker's turns that have a pause: never, sometimes, always."""

HEARD_AFTER_MS = 60.0
"""Time from the decision to the first audible sound, in milliseconds."""

SEED = 1

Silence = Sequence[Moment]


@dataclass(frozen=True, slots=True)
class Said:
    """One turn of a conversation.

    Attributes:
        place: Index in the conversation; 0 is the first.
        paused: Whether it has a pause of 300 ms or more.
        cut: Whether it was answered before it was over.
        wait_ms: Time from its end to the decision; None after a cut-in.
    """

    place: int
    paused: bool
    cut: bool
    wait_ms: float | None


@dataclass(frozen=True, slots=True)
class TurnPool:
    """Turns to choose from, each as its silences in order. Plain turns have no pauses, not even added ones."""

    plain: Sequence[Sequence[Silence]]
    paused: Sequence[Sequence[Silence]]


def turn_pool_of(moments: Iterable[Moment]) -> TurnPool:
    """Returns all turns that have an end."""
    turns: dict[int, dict[int, list[Moment]]] = {}
    for moment in moments:
        turns.setdefault(moment.turn, {}).setdefault(moment.number, []).append(moment)
    whole = [list(silences.values()) for silences in turns.values()]
    ending = [turn for turn in whole if turn[-1][0].label == "end"]
    plain = [turn for turn in ending if not _has_pause(turn) and not turn[0][0].made]
    return TurnPool(plain, [turn for turn in ending if _has_pause(turn)])


def _has_pause(turn: Sequence[Silence]) -> bool:
    return any(s[0].label in ("pause", "made") and s[0].lasts_ms >= PAUSE_MS for s in turn)


def played(
    turn: Sequence[Silence], habits: SpeakerPauseStats, logits: Mapping[Key, float], profile: EndOfTurnProfile
) -> tuple[bool, float, SpeakerPauseStats]:
    """Plays one turn. Returns whether it was cut into, the wait at its end, and the updated pause statistics."""
    cut, due = False, 0.0
    for silence in turn:
        due = ended_at(silence, _wait(habits, logits, profile))
        first = silence[0]
        if first.label == "end":
            break
        if due >= first.lasts_ms:
            habits = habits.with_pause(first.lasts_ms)
            continue
        cut, habits = True, habits.with_turn()
        if first.lasts_ms - due - HEARD_AFTER_MS <= OverlapThresholds().early_ms:
            habits = habits.with_return(first.lasts_ms)
    return cut, due, habits.with_turn()


def _wait(
    habits: SpeakerPauseStats, logits: Mapping[Key, float], profile: EndOfTurnProfile
) -> Callable[[Moment], float]:
    return lambda moment: silence_timeout_ms(estimate_of(moment, Known(logits[key_of(moment)], habits)), profile)


def conversations(pool: TurnPool, logits: Mapping[Key, float], profile: EndOfTurnProfile, share: float) -> list[Said]:
    """Plays CONVERSATIONS conversations, the same ones for every profile."""
    rng, turns = random.Random(SEED), list[Said]()
    for _ in range(CONVERSATIONS):
        habits = SpeakerPauseStats()
        for place in range(TURNS):
            paused = rng.random() < share
            turn = rng.choice(pool.paused if paused else pool.plain)
            cut, wait_ms, habits = played(turn, habits, logits, profile)
            turns.append(Said(place, paused, cut, None if cut else wait_ms))
    return turns


def talk_row(turns: Sequence[Said], share: float) -> str:
    """Returns cut-ins among the paused turns and the wait after the others, for first and later turns."""
    cells = []
    for chosen in ([turn for turn in turns if turn.place == 0], [turn for turn in turns if turn.place > 0]):
        cells += [
            _cell([turn for turn in chosen if turn.paused]) if share > 0 else "–",
            _cell([turn for turn in chosen if not turn.paused]) if share < 1 else "–",
        ]
    return " | ".join(cells)


def _cell(turns: Sequence[Said]) -> str:
    waits_ms = [turn.wait_ms for turn in turns if turn.wait_ms is not None]
    cut = 100 * float(np.mean([turn.cut for turn in turns]))
    if not waits_ms:
        return f"{cut:.0f} %"
    p50, p95 = np.percentile(waits_ms, [50, 95])
    return f"{cut:.0f} %, {p50:.0f} / {p95:.0f}"
