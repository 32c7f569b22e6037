"""From traces on disk to replays: conversation by conversation, so that memory holds one at a time."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

from assistant.trace_advice import TRIED, Evidence, Weighed, weighed
from assistant.trace_facts import facts_of
from assistant.trace_figures import Tally
from assistant.trace_reading import Record, read_records, understood
from assistant.trace_replay_figures import figures
from assistant.trace_replay_report import Replay
from assistant.trace_replay_settings import change_of
from assistant.trace_replay_turns import Conversation, Replayed, conversation_of

MOST_TURNS = 100_000
MOST_REPLAYED = 1_000
"""Advice is given from the latest turns: older ones were held with other settings, and a replay takes some 10 ms."""


def conversations(files: Sequence[Path], warn: Callable[[str], None]) -> Iterator[Conversation]:
    """Every conversation of the traces. Raises TraceError."""
    for records in _by_conversation(files, warn):
        yield understood(lambda _, records=records: conversation_of(records), records[0])  # type: ignore[misc]


def replay(files: Sequence[Path], overrides: Sequence[str], warn: Callable[[str], None]) -> Replay:
    """Every turn, decided with other settings. Raises TraceError."""
    change = change_of(overrides)
    turns: list[Replayed] = []
    disagree: list[tuple[str, int]] = []
    held = left_out = 0
    for conversation in conversations(files, warn):
        left_out += conversation.left_out
        held += bool(conversation.records)
        disagree += [(conversation.name, turn) for turn in conversation.disagree]
        turns += [found for (found,) in conversation.replayed([change])]
    return Replay(tuple(overrides), held, left_out, tuple(disagree), figures(turns), tuple(turns))


def gathered(files: Sequence[Path], warn: Callable[[str], None]) -> Evidence:
    """What advice is given from: facts of the latest turns, and these turns decided with every setting of TRIED.

    Raises TraceError.
    """
    tally = Tally()
    turns: deque[Weighed] = deque(maxlen=MOST_TURNS)
    replays: deque[tuple[Replayed, ...]] = deque(maxlen=MOST_REPLAYED)
    changes = [change_of(tried) for tried in TRIED]
    for records in _by_conversation(files, warn):
        for record in records:
            facts = understood(facts_of, record)
            tally.add(record["conversation"], facts)
            if facts.latency_ms is not None and facts.stages_ms:
                turns.append(understood(weighed, record))
        conversation = understood(lambda _, records=records: conversation_of(records), records[0])  # type: ignore[misc]
        if not conversation.disagree:
            replays.extend(conversation.replayed(changes))
    return Evidence(tally.figures(), tuple(turns), tuple(replays))


def _by_conversation(files: Sequence[Path], warn: Callable[[str], None]) -> Iterator[list[Record]]:
    for path in files:
        for _, group in groupby(read_records([path], warn), key=_name):
            yield list(group)


def _name(record: Record) -> str:
    return str(record["conversation"])
