"""Reads traces from disk and replays them one conversation at a time, to limit memory."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from assistant.replay.advice import TRIED
from assistant.replay.course import Change
from assistant.replay.figures import figures
from assistant.replay.findings import AdviceInputs, TurnGain, turn_gain_of
from assistant.replay.report import Replay
from assistant.replay.settings import change_of
from assistant.replay.turns import RecordedConversation, Replayed, conversation_of
from assistant.trace_report.facts import facts_of
from assistant.trace_report.figures import Tally
from assistant.trace_report.reading import Record, convert_record, read_records

MAX_TURNS = 100_000
MAX_REPLAYED = 1_000
"""Number of turns to replay for advice. The latest are used: older ones had other settings, and a replay takes about
10 ms.
"""


def replay(files: Sequence[Path], overrides: Sequence[str], warn: Callable[[str], None]) -> Replay:
    """Decides every turn again with other settings. Raises TraceError."""
    change = change_of(overrides)
    turns: list[Replayed] = []
    disagree: list[tuple[str, int]] = []
    held = left_out = beheaded = 0
    for records in _by_conversation(files, warn):
        conversation, replayed = _replayed(records, [change])
        left_out += conversation.left_out
        held += bool(conversation.records)
        beheaded += _beheaded(records)
        disagree += [(conversation.name, turn) for turn in conversation.disagree]
        turns += [replay_result for (replay_result,) in replayed]
    return Replay(tuple(overrides), held, left_out, beheaded, tuple(disagree), figures(turns), tuple(turns))


def collect_inputs(files: Sequence[Path], warn: Callable[[str], None]) -> AdviceInputs:
    """Collects the inputs of the advice: facts of the latest turns, and these turns replayed with each entry of TRIED.

    Raises TraceError.
    """
    tally = Tally()
    turns: deque[TurnGain] = deque(maxlen=MAX_TURNS)
    latest, beheaded = _Latest(), 0
    for records in _by_conversation(files, warn):
        for record in records:
            weight = convert_record(lambda record: _counted(tally, record), record)
            if weight is not None:
                turns.append(weight)
        latest.add_conversation(records)
        beheaded += _beheaded(records)
    names = [turn.recognizer for turn in turns if turn.recognizer]
    current = names[-1] if len(set(names)) > 1 else ""
    replays: deque[tuple[Replayed, ...]] = deque(maxlen=MAX_REPLAYED)
    changes = [change_of(tried) for tried in TRIED]
    for records in latest.conversations:
        if current and records[0]["engines"].get("stt") != current:
            continue  # another recognizer asks at other times
        conversation, replayed = _replayed(records, changes)
        if not conversation.disagree:
            replays.extend(replayed)
    return AdviceInputs(tally.figures(), tuple(turns), tuple(replays), beheaded, current)


@dataclass(slots=True)
class _Latest:
    """Keeps the latest conversations that together hold MAX_REPLAYED replayable turns, and no more than needed."""

    conversations: deque[list[Record]] = field(default_factory=deque)
    _turns: int = 0

    def add_conversation(self, records: list[Record]) -> None:
        """Adds a conversation. Ignores it if it has no replayable turn."""
        if _spoken(records):
            self.conversations.append(records)
            self._turns += _spoken(records)
        while self.conversations and self._turns - _spoken(self.conversations[0]) >= MAX_REPLAYED:
            self._turns -= _spoken(self.conversations.popleft())


def _spoken(records: Sequence[Record]) -> int:
    return sum(bool(record.get("turn_events")) and record["speech_end_ms"] is not None for record in records)


def _beheaded(records: Sequence[Record]) -> bool:
    return "turn_events" in records[0] and records[0].get("turn_events_before") != 0


def _counted(tally: Tally, record: Record) -> TurnGain | None:
    """Counts the turn. Returns None if it has no latency."""
    facts = facts_of(record)
    tally.add_turn(record["conversation"], facts)
    return turn_gain_of(record) if facts.latency_ms is not None and facts.stages_ms else None


def _replayed(
    records: list[Record], changes: Sequence[Change]
) -> tuple[RecordedConversation, list[tuple[Replayed, ...]]]:
    def made(_first: Record) -> tuple[RecordedConversation, list[tuple[Replayed, ...]]]:
        conversation = conversation_of(records)
        return conversation, list(conversation.replayed(changes))

    return convert_record(made, records[0], begins=True)


def _by_conversation(files: Sequence[Path], warn: Callable[[str], None]) -> Iterator[list[Record]]:
    for path in files:
        for _, group in groupby(read_records([path], warn), key=_name):
            yield list(group)


def _name(record: Record) -> str:
    return str(record["conversation"])
