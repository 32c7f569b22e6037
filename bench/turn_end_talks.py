"""What it is worth to know a speaker's pauses: single turns, put together to conversations of who pauses more or less.

No collection of recordings has one person talk to an assistant for long. So a conversation is a dozen turns of any
speakers, a given share of them with a pause of 300 ms or more, played one after another; what the program learns of the
first counts for the later ones. Who is cut into goes on when their pause is over: soon behind the beginning of the
answer the program knows that they had only paused, later it takes it for an interruption and a new turn.
"""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assistant.end_of_turn.estimator import EndOfTurnProfile, hangover_ms
from assistant.end_of_turn.priors import SpeakerPauseStats
from assistant.turns.overlap import EARLY_MS
from bench.turn_end_curve import PAUSE_MS, ended_at
from bench.turn_end_habits import Key, Known, estimate_of, key_of
from bench.turn_end_moments import Moment

TURNS = 12
CONVERSATIONS = 300
SHARES = (0.0, 0.3, 1.0)
"""Of a speaker's turns that have a pause: never, now and then, always."""

HEARD_AFTER_MS = 60.0
"""From the decision to the first sound that a listener has heard."""

SEED = 1

Silence = Sequence[Moment]


@dataclass(frozen=True, slots=True)
class Said:
    """One turn of a conversation.

    Attributes:
        place: 0 is the first.
        paused: It has a pause of 300 ms or more.
        cut: It was answered before it was over.
        wait_ms: From its end to the decision; None where it was cut into.
    """

    place: int
    paused: bool
    cut: bool
    wait_ms: float | None


@dataclass(frozen=True, slots=True)
class Stock:
    """Turns to choose from, each as its silences in order; none has pauses put in but those that have a pause."""

    plain: Sequence[Sequence[Silence]]
    paused: Sequence[Sequence[Silence]]


def stock_of(moments: Iterable[Moment]) -> Stock:
    """All turns that end."""
    turns: dict[int, dict[int, list[Moment]]] = {}
    for moment in moments:
        turns.setdefault(moment.turn, {}).setdefault(moment.number, []).append(moment)
    whole = [list(silences.values()) for silences in turns.values()]
    ending = [turn for turn in whole if turn[-1][0].label == "end"]
    plain = [turn for turn in ending if not _has_pause(turn) and not turn[0][0].made]
    return Stock(plain, [turn for turn in ending if _has_pause(turn)])


def _has_pause(turn: Sequence[Silence]) -> bool:
    return any(s[0].label in ("pause", "made") and s[0].lasts_ms >= PAUSE_MS for s in turn)


def played(
    turn: Sequence[Silence], habits: SpeakerPauseStats, logits: Mapping[Key, float], patience: EndOfTurnProfile
) -> tuple[bool, float, SpeakerPauseStats]:
    """One turn: whether it was cut into, how long its end was waited for, and what is known of the speaker then."""
    cut, due = False, 0.0
    for silence in turn:
        due = ended_at(silence, _wait(habits, logits, patience))
        first = silence[0]
        if first.label == "end":
            break
        if due >= first.lasts_ms:
            habits = habits.with_pause(first.lasts_ms)
            continue
        cut, habits = True, habits.with_turn()
        if first.lasts_ms - due - HEARD_AFTER_MS <= EARLY_MS:
            habits = habits.with_return(first.lasts_ms)
    return cut, due, habits.with_turn()


def _wait(
    habits: SpeakerPauseStats, logits: Mapping[Key, float], patience: EndOfTurnProfile
) -> Callable[[Moment], float]:
    return lambda moment: hangover_ms(estimate_of(moment, Known(logits[key_of(moment)], habits)), patience)


def conversations(stock: Stock, logits: Mapping[Key, float], patience: EndOfTurnProfile, share: float) -> list[Said]:
    """Play CONVERSATIONS of them, the same ones for every patience."""
    rng, found = random.Random(SEED), list[Said]()
    for _ in range(CONVERSATIONS):
        habits = SpeakerPauseStats()
        for place in range(TURNS):
            paused = rng.random() < share
            turn = rng.choice(stock.paused if paused else stock.plain)
            cut, wait_ms, habits = played(turn, habits, logits, patience)
            found.append(Said(place, paused, cut, None if cut else wait_ms))
    return found


def talk_row(said: Sequence[Said], share: float) -> str:
    """First and later turns: of those with a pause how many were cut into, and the wait behind the others."""
    cells = []
    for chosen in ([one for one in said if one.place == 0], [one for one in said if one.place > 0]):
        cells += [
            _cell([one for one in chosen if one.paused]) if share > 0 else "–",
            _cell([one for one in chosen if not one.paused]) if share < 1 else "–",
        ]
    return " | ".join(cells)


def _cell(said: Sequence[Said]) -> str:
    waits_ms = [one.wait_ms for one in said if one.wait_ms is not None]
    cut = 100 * float(np.mean([one.cut for one in said]))
    if not waits_ms:
        return f"{cut:.0f} %"
    p50, p95 = np.percentile(waits_ms, [50, 95])
    return f"{cut:.0f} %, {p50:.0f} / {p95:.0f}"
