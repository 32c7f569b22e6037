"""Renders a replay as text: a table, sentences, JSON. Pure."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from rich.table import Table

from assistant.replay.figures import COMPARED, Pair, ReplayFigures
from assistant.replay.turns import Replayed
from assistant.trace_report.sheet import plain_table
from assistant.trace_report.statistics import LEVEL, Proportion, min_turns
from assistant.trace_report.text import number_of, spelled_share

ASSUMED = {
    "words": "a transcript takes as long and says the same as the one requested nearest to that moment",
    "judgement": "a silence has the EOT probability measured at another moment of it",
    "fixed silence": "a silence without an EOT probability has the silence timeout of the profile",
    "answer": "an answer takes as long from its transcript to its first audio, and sounds the same",
    "hold": "a reply that is held after its first audio is not delayed",
    "silence after the end": "no speech after the end of the trace",
}
"""Descriptions of what had to be assumed."""


@dataclass(frozen=True, slots=True)
class Replay:
    """Result of a replay.

    Attributes:
        changes: Settings that were tried, as given; () for the recorded ones.
        left_out: Turns that cannot be replayed.
        beheaded: Conversations whose beginning is missing, so that none of their turns can be replayed.
        disagree: (conversation, turn) where a replay with the recorded settings differs from the record in its
            decisions
            or their order.
    """

    changes: tuple[str, ...]
    conversations: int
    left_out: int
    beheaded: int
    disagree: tuple[tuple[str, int], ...]
    figures: ReplayFigures
    turns: tuple[Replayed, ...]


def headline(replay: Replay) -> Iterator[str]:
    """Yields lines that say what was replayed, and whether the result is reliable."""
    turns, conversations = replay.figures.turns, replay.conversations
    what = f"{number_of(turns, 'spoken turn')} of {number_of(conversations, 'conversation')}"
    if replay.changes:
        yield f"{what}, replayed with {' '.join(replay.changes)}: {replay.figures.changed:,} decided differently"
    else:
        yield f"{what}, replayed with the recorded settings"
    if replay.disagree:
        which = ", ".join(f"{turn} of {name}" for name, turn in replay.disagree[:5])
        yield f"not as recorded   {number_of(len(replay.disagree), 'turn')}: {which}; do not rely on the figures below"
    else:
        yield "with the recorded settings every decision is as recorded, in the same order (times are not compared)"
    if replay.left_out:
        left_out = number_of(replay.left_out, "turn")
        yield f"left out          {left_out}: without the events that a replay needs, or after a gap"


def comparison(figures: ReplayFigures) -> Table:
    """Returns a table of latency and wait, as recorded and as replayed."""
    table = plain_table("ms", "", "", "turns", "was", "now", "change")
    for name, pair in (
        ("response latency", figures.latency),
        ("end-of-turn wait", figures.wait),
        ("time to stop", figures.yielded),
    ):
        if pair is not None:
            _rows(table, name, pair)
    return table


def _rows(table: Table, name: str, pair: Pair) -> None:
    for percent in COMPARED:
        change = pair.change[percent]
        numbers = f"{pair.was[percent]:.0f}", f"{pair.now[percent]:.0f}"
        spelled = f"{change.value:+.0f} ({change.low:+.0f} to {change.high:+.0f}{'' if change.enough else '?'})"
        shown = (name, f"{pair.turns:,}") if percent == COMPARED[0] else ("", "")
        table.add_row(shown[0], f"p{percent}", shown[1], *numbers, spelled)


def sentences(figures: ReplayFigures) -> Iterator[str]:
    """Yields sentences about what users would notice, what it costs, and what had to be assumed."""
    for title, was, now in (
        ("cut-ins", figures.was.cut_ins, figures.now.cut_ins),
        ("interruptions", figures.was.interruptions, figures.now.interruptions),
    ):
        yield f"{title:<16}  was {_share(was)}, now {_share(now)}"
    vain = f"was {figures.was.in_vain:,}, now {figures.now.in_vain:,}"
    yield f"wasted answers    {vain}; transcripts requested: was {figures.was.asked:,}, now {figures.now.asked:,}"
    if figures.joined:
        yield f"joined            {number_of(figures.joined, 'turn')} would be joined with the next"
    for what, turns in figures.assumed.items():
        yield f"assumed           in {number_of(turns, 'turn')}: {ASSUMED[what]}"
    yield f"                  in brackets: {LEVEL:.0%} intervals; ?: fewer turns than p95 needs ({min_turns(95)})"


def as_json(replay: Replay) -> str:
    """Returns the complete replay as JSON, turn by turn."""
    plain = asdict(replay)
    for turn in plain["turns"]:
        turn["assumed"] = sorted(turn["assumed"])
    return json.dumps(plain, indent=2, ensure_ascii=False) + "\n"


def _share(proportion: Proportion | None) -> str:
    return "none" if proportion is None else spelled_share(proportion)


def nothing_to_replay(names: Sequence[str], replay: Replay) -> str:
    """Explains why there are no figures."""
    where = ", ".join(names)
    if replay.beheaded:
        return (
            f"{where}: the beginning of the conversation is missing, but a replay needs all earlier events; "
            f"give the whole file."
        )
    if replay.left_out:
        return (
            f"{where}: no turn can be replayed: a replay needs the field `turn_events`, which this version writes; "
            f"record a conversation with it first."
        )
    return f"{where}: no turn with speech." if replay.conversations else f"{where}: it has no turns."
