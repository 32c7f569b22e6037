"""Prints what sounds did to a running reply as a table, with a 95 % Wilson interval for each rate."""

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from assistant.trace_report.statistics import share
from audio.units import Samples, ms_of_samples
from bench.turns.overlap_clips import Sound, Wanted

SOON_MS = 350
"""A stop within this time, in ms after the onset, counts as soon."""

RESUMED_WITHIN_MS = 1000
"""A reply that is stopped by a sound it should ignore is to go on within this time, in ms after the sound's end."""

MISSING = "–"


@dataclass(slots=True)
class Outcome:
    """The effect of a sound on the reply.

    Attributes:
        sound: The sound.
        ducked_ms: Time from the onset of the sound to ducking; None without.
        stopped_ms: Time from the onset to the stop; None without.
        resumed_ms: Time from the end of the sound to the first sample of the resumed reply; None without.
        answered: A reply to the sound was committed. Not known of sounds that are to stop the reply and do.
        words: The words of the sound's final transcripts.
    """

    sound: Sound
    ducked_ms: float | None = None
    stopped_ms: float | None = None
    resumed_ms: float | None = None
    answered: bool = False
    words: list[str] = field(default_factory=list)


def table(outcomes: Sequence[Outcome]) -> str:
    """Returns the panel: a row for each group of sounds, and one for all that are to stop the reply or to leave it."""
    groups: dict[tuple[Wanted, str], list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        groups[outcome.sound.expected, outcome.sound.group].append(outcome)
    lines = [
        f"| sound, n | ducked after p50 / p95 ms | the reply stops | after p50 / p95 ms | within {SOON_MS} ms "
        f"| resumed within {RESUMED_WITHIN_MS / 1000:.0f} s | answered |",
        "|---" * 7 + "|",
    ]
    for expected, of in (("stops", "all to be obeyed"), ("continues", "all to be ignored")):
        own = {group: outcomes for (kind, group), outcomes in groups.items() if kind == expected}
        if len(own) > 1:
            own[f"**{of}**"] = [outcome for outcomes in own.values() for outcome in outcomes]
        lines += [_row(group, expected, outcomes) for group, outcomes in own.items()]
    return "\n".join(lines)


def _row(group: str, expected: str, outcomes: Sequence[Outcome]) -> str:
    n, stopped = len(outcomes), [outcome.stopped_ms for outcome in outcomes if outcome.stopped_ms is not None]
    ducked = [outcome.ducked_ms for outcome in outcomes if outcome.ducked_ms is not None]
    soon = sum(time <= SOON_MS for time in stopped)
    false = [outcome for outcome in outcomes if outcome.stopped_ms is not None and not outcome.answered]
    resumed = sum(outcome.resumed_ms is not None and outcome.resumed_ms <= RESUMED_WITHIN_MS for outcome in false)
    ignored = expected == "continues"  # what becomes of a sound that is to stop the reply is not played
    cells = [
        f"{group}, {n}",
        _times(ducked),
        _rate(len(stopped), n),
        _times(stopped),
        _rate(soon, n),
        f"{resumed} of {len(false)}" if ignored and false else MISSING,
        str(sum(outcome.answered for outcome in outcomes)) if ignored else MISSING,
    ]
    return "| " + " | ".join(cells) + " |"


def _times(values: Sequence[float]) -> str:
    if not values:
        return MISSING
    p50, p95 = np.percentile(values, [50, 95]).round()
    return f"{p50:.0f} / {p95:.0f}"


def _rate(count: int, n: int) -> str:
    """Returns a share with its interval."""
    proportion = share(count, n)
    return MISSING if proportion is None else f"{proportion.value:.2f} ({proportion.low:.2f}–{proportion.high:.2f})"


def listing(outcomes: Sequence[Outcome]) -> str:
    """Returns one JSON line for each sound."""
    return "\n".join(
        json.dumps(
            {
                "group": outcome.sound.group,
                "name": outcome.sound.name,
                "ducked_ms": outcome.ducked_ms,
                "stopped_ms": outcome.stopped_ms,
                "resumed_ms": outcome.resumed_ms,
                "answered": outcome.answered,
                "length_ms": ms_of_samples(Samples(outcome.sound.end - outcome.sound.onset)),
                "words": " ".join(outcome.words),
            }
        )
        for outcome in outcomes
    )
