"""Compares every turn of a conversation as recorded and with other settings: latencies, EOT decisions, cut-ins. Pure.

    replayed latency = recorded latency
                       + (replayed - recorded time of the first audible sample)
                       - (replayed - recorded end of speech)

The recorded turn gives two durations that stay the same: from transcript to first sound, and from playback to
audibility.
"""

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from assistant.pipeline.transcript_requests import TranscriptRequests
from assistant.replay.course import Assumed, Change, CommittedReply, ReplyTiming, TurnCourse, TurnRange
from assistant.replay.event_replay import DECISIONS, RecordingIndex, events_of, feed, index_recording
from assistant.replay.simulation import run
from assistant.trace.latency import HOME_WAIT, RESUME_WAIT
from assistant.trace_report.facts import CUT_IN_MS, failed
from assistant.trace_report.reading import Record
from assistant.turns.effects import EndOfTurn, TurnDiscarded
from assistant.turns.log.event_entries import parse_entries
from assistant.turns.settings import TurnSettings
from assistant.turns.turn_taking import TurnTaking
from audio.units import Samples, ms_of_samples, samples_of_ms

NEVER = 1 << 60
"""Start of the turn after the last one."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Outcome of a turn.

    Attributes:
        wait_ms: Time from the end of speech to the last EOT decision; None if there was none before the next turn.
        latency_ms: Response latency; None if no answer was heard.
        cut_ins: Answers that began before the user had finished: retracted, or interrupted within CUT_IN_MS.
        interruptions: Answers interrupted by a voice, including such cut-ins.
        yielded_ms: Time from the onset of the interrupting voice until the answer stopped; None if there was none.
        given: Number of committed answers, including retracted ones.
        answered: Whether an answer remained at the end.
        attempts: Number of transcript requests.
        in_vain: Number of unused answers: started and not committed, or retracted.
    """

    wait_ms: float | None
    latency_ms: float | None
    cut_ins: int
    interruptions: int
    yielded_ms: float | None
    given: int
    answered: bool
    attempts: int
    in_vain: int


@dataclass(frozen=True, slots=True)
class Replayed:
    """A turn as recorded and as replayed.

    Attributes:
        was: Recorded outcome.
        now: Outcome with the other settings.
        same: Whether every decision was made at the same sample.
        assumed: What had to be assumed.
    """

    conversation: str
    turn: int
    was: Outcome
    now: Outcome
    same: bool
    assumed: frozenset[Assumed]


@dataclass(frozen=True, slots=True)
class RecordedConversation:
    """The replayable records of one conversation, with the events recorded in them.

    Attributes:
        records: Records by turn.
        left_out: Turns that cannot be replayed: their events were not recorded, or there is a gap before them.
        disagree: Turns whose record differs from its replay.
    """

    name: str
    records: Mapping[int, Record]
    left_out: int
    disagree: tuple[int, ...]
    _recorded: RecordingIndex = field(default_factory=lambda: RecordingIndex([]))

    def replayed(self, changes: Sequence[Change]) -> Iterator[tuple[Replayed, ...]]:
        """Replays every turn in which the user spoke, once for each change of settings."""
        paces = {turn: reply_timing_of(record) for turn, record in self.records.items()}
        usual = _usual([pace for pace in paces.values() if pace is not None])
        for span, before in _spans(self._recorded):
            record = self.records.get(span.turn)
            if record is None:
                continue  # still open when the trace ended
            pace = paces[span.turn] or usual
            was = run(self._recorded, before, span, lambda settings: settings, pace)
            place = _Placed(record, was)
            courses = [run(self._recorded, before, span, change, pace) for change in changes]
            yield tuple([place.replayed(self.name, now, span) for now in courses])


def conversation_of(records: Sequence[Record]) -> RecordedConversation:
    """Returns what can be replayed of a conversation. Expects records in file order. Raises KeyError, ValueError."""
    entries: list[str] = []
    kept: dict[int, Record] = {}
    for record in records:
        # If two turns end at the same time, the second record holds no events.
        if "turn_events" not in record or record["turn_events_before"] != len(entries):
            break
        entries += record["turn_events"]
        kept[record["turn"]] = record
    index = index_recording(parse_entries(entries))
    decisions = events_of(index.steps)
    disagree = tuple(turn for turn, record in kept.items() if not _agrees(record, decisions.get(turn, [])))
    return RecordedConversation(records[0]["conversation"], kept, len(records) - len(kept), disagree, index)


def _agrees(record: Record, decisions: list[tuple[str, str]]) -> bool:
    traced = [(event["name"], event["detail"]) for event in record["events"] if event["name"] in DECISIONS]
    return traced == decisions[: len(traced)]


def reply_timing_of(record: Record) -> ReplyTiming | None:
    """Returns the times from transcript to first sound and from release to audibility; None if nothing was heard."""
    ends = {
        span["name"]: span["end_ms"] for span in record["spans"] if not span["dropped"] and span["name"] != "silence"
    }
    heard_ms = record.get("playout_start_ms")
    if heard_ms is None or not {"stt", "tts", "commit"} <= ends.keys():
        return None
    prepare_ms = ends["tts"] - ends["stt"]
    playout_ms = heard_ms - max(ends[name] for name in ("tts", "commit", HOME_WAIT, RESUME_WAIT) if name in ends)
    return ReplyTiming(samples_of_ms(max(prepare_ms, 0.0)), samples_of_ms(max(playout_ms, 0.0)))


def _usual(paces: Sequence[ReplyTiming]) -> ReplyTiming | None:
    if not paces:
        return None
    prepare, playout = (median([pace[part] for pace in paces]) for part in (0, 1))
    return ReplyTiming(Samples(round(prepare)), Samples(round(playout)))


def _spans(index: RecordingIndex) -> Iterator[tuple[TurnRange, TranscriptRequests]]:
    """Yields the position of each turn, and turn taking in the state just before it."""
    starts = index.starts
    requests, position = TranscriptRequests(TurnTaking(TurnSettings())), 0
    for number, (start, turn) in enumerate(starts):
        for step in index.steps[position:start]:
            feed(requests, step.event)
        position = start
        last = number + 1 == len(starts)
        following = NEVER if last else starts[number + 1][0]
        end = len(index.steps) if last else _end_of_next(index, following)
        yield TurnRange(turn, start, following, end, len(index.steps)), copy.deepcopy(requests)


def _end_of_next(index: RecordingIndex, following: int) -> int:
    for place in range(following + 1, len(index.steps)):
        if any(isinstance(effect, EndOfTurn | TurnDiscarded) for effect in index.steps[place].effects):
            return place + 1
    return len(index.steps)


@dataclass(frozen=True, slots=True)
class _Placed:
    """Converts positions to milliseconds of the record. Effects of a frame happen slightly after it."""

    record: Record
    was: TurnCourse

    def replayed(self, conversation: str, now: TurnCourse, span: TurnRange) -> Replayed:
        """Returns the turn as recorded and as replayed."""
        same = [(place, effect) for place, _, effect in self.was.decisions] == [
            (place, effect) for place, _, effect in now.decisions
        ]
        outcomes = self.outcome(self.was, span), self.outcome(now, span)
        return Replayed(conversation, span.turn, *outcomes, same, frozenset(now.assumed))

    def outcome(self, course: TurnCourse, span: TurnRange) -> Outcome:
        """Returns the outcome of a course."""
        given = [given for given in course.given if given.place < span.next]
        last = given[-1] if given and not given[-1].retracted else None
        waits = [position for position, place in course.endpoints if place < span.next]
        speech_end = None if last is None else last.commit.speech_end
        return Outcome(
            wait_ms=ms_of_samples(waits[-1] - speech_end) if waits and speech_end is not None else None,
            latency_ms=None if last is None else self._latency_ms(last),
            cut_ins=sum(_cut_in(each) for each in given),
            interruptions=sum(each.interrupted is not None for each in given),
            yielded_ms=_yielded_ms(last),
            given=len(given),
            answered=last is not None,
            attempts=course.asked,
            in_vain=course.prepared - (last is not None),
        )

    def _latency_ms(self, given: CommittedReply) -> float | None:
        if failed(self.record):
            return None  # of an apology, for example
        latency_ms, then = self.record["response_latency_ms"], self.was.given[-1] if self.was.given else None
        if given.same and then is not None and given.place == then.place:
            return float(latency_ms) if latency_ms is not None else None
        if given.audible is None or given.commit.speech_end is None:
            return None
        return ms_of_samples(given.audible - given.commit.speech_end) + self._late_ms(then)

    def _late_ms(self, then: CommittedReply | None) -> float:
        """Returns how much later than its frame the end of the turn took effect."""
        endpoint_ms = self.record["endpoint_ms"]
        if endpoint_ms is None or not self.was.endpoints or then is None:
            return 0.0
        return max(0.0, float(endpoint_ms) - ms_of_samples(self.was.endpoints[-1][0]))


def _yielded_ms(given: CommittedReply | None) -> float | None:
    if given is None or given.interrupted is None or given.voice is None:
        return None
    return ms_of_samples(given.interrupted - given.voice)


def _cut_in(given: CommittedReply) -> bool:
    if given.retracted:
        return True
    if given.interrupted is None or given.audible is None:
        return False
    return ms_of_samples(given.interrupted - given.audible) <= CUT_IN_MS
