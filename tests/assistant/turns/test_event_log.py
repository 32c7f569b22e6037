"""Tests of the event log: a replay makes the same decisions, and no words are kept."""

import json
import tracemalloc
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples
from support.turns.random_conversations import performance_of

from assistant.end_of_turn.dictation.dictation_rules import Dictation
from assistant.end_of_turn.estimator import BALANCED, EndOfTurnEstimate, EndOfTurnProfile
from assistant.pipeline.transcript_requests import SessionEffect, SessionEffects, TranscriptRequests
from assistant.turns.effects import CommitTurn, CommitWithoutReply, PrepareReply
from assistant.turns.events import (
    DraftTranscript,
    EndOfTurnScored,
    FellAsleep,
    FinalTranscript,
    FrameProcessed,
    InputCleared,
    InputCommitted,
    InterimTranscript,
    KeyPressed,
    PlaybackProgress,
    ReplyCancelled,
    ReplyEnded,
    ReplyId,
    ReplyRequested,
    ReportedEvent,
    TranscriptFailed,
    VoiceJudged,
)
from assistant.turns.log.event_entries import parse_entries, settings_of
from assistant.turns.log.event_log import MAX_ENTRIES, EventLog
from assistant.turns.settings import (
    EndsTurn,
    FocusThresholds,
    InterruptedBy,
    OverlapThresholds,
    RecheckThresholds,
    TurnSettings,
    TurnStartThresholds,
)
from assistant.turns.turn_taking import TurnTaking
from assistant.turns.words.backchannel import plain_words
from audio.stt import SegmentId, Transcript
from audio.units import FRAME_SAMPLES, Samples
from audio.vad import VadResult

REPLY = ReplyId(3, 2)
SEGMENT = SegmentId(16000)
SETTINGS = TurnSettings(profile=BALANCED, speculate_after_ms=40)
AT = Samples(32000)


def words(text: str, *, rough: bool = False) -> Transcript:
    return Transcript(SEGMENT, AT, text, rough)


def log(*events: ReportedEvent) -> EventLog:
    event_log = EventLog(b"salt")
    for event in events:
        event_log.add_event(event, SETTINGS)
    return event_log


def frame(number: int, vad: VadResult) -> FrameProcessed:
    return FrameProcessed(Samples(number * FRAME_SAMPLES), vad)


@pytest.mark.parametrize(
    "event",
    [
        EndOfTurnScored(AT, SEGMENT, EndOfTurnEstimate(0.1 + 0.2, 160.0, 648.123456789, "sound+text")),
        EndOfTurnScored(AT, SEGMENT, EndOfTurnEstimate(0.5, 160.0, 650.0, "", 0.4666666666666667)),
        EndOfTurnScored(
            AT, SEGMENT, EndOfTurnEstimate(0.5, 160.0, 650.0, "", 0.25, Dictation("e-mail address", "incomplete"))
        ),
        EndOfTurnScored(
            AT, SEGMENT, EndOfTurnEstimate(0.5, 160.0, 650.0, "sound", 0.25, Dictation("announcement", "incomplete"))
        ),
        DraftTranscript(AT, replace(words(""), is_draft=True), 0.975),
        TranscriptFailed(AT, REPLY, SEGMENT),
        PlaybackProgress(AT, REPLY, 3, audible=True),
        PlaybackProgress(AT, REPLY, 3, audible=True, has_effect=True),
        ReplyEnded(AT, REPLY),
        ReplyRequested(AT, "greeting", "words"),
        ReplyRequested(AT, "requested"),
        ReplyRequested(AT, "repeated", "words"),
        ReplyRequested(AT, "resumed", "words"),
        ReplyRequested(AT, "announcement", "words", at_once=True),
        InputCommitted(AT),
        KeyPressed(AT),
        InputCleared(AT),
        FellAsleep(AT),
        ReplyCancelled(AT),
        VoiceJudged(AT, Samples(160), Samples(320), "own"),
        VoiceJudged(AT, Samples(160), Samples(320), "other"),
        VoiceJudged(AT, Samples(160), Samples(320), "unsure"),
        ReplyCancelled(AT, including_request=True),
        FinalTranscript(AT, REPLY, words("")),
        FinalTranscript(AT, REPLY, replace(words(""), is_draft=True)),
        FinalTranscript(AT, REPLY, replace(words(""), is_draft=True), "overheard"),
        FinalTranscript(AT, REPLY, words(""), "overheard"),
        FinalTranscript(AT, REPLY, words("", rough=True), "called"),
        FinalTranscript(AT, REPLY, words(""), answer_expected=True),
        FinalTranscript(AT, REPLY, words(""), calls_assistant=True),
        FinalTranscript(AT, REPLY, words("", rough=True), "called", answer_expected=True, calls_assistant=True),
        InterimTranscript(AT, words("mhm", rough=True)),
        InterimTranscript(AT, words("words")),
        InterimTranscript(AT, words("words"), has_wake_phrase=True),
        InterimTranscript(AT, words("words", rough=True), was_requested=True),
        InterimTranscript(AT, words(""), was_requested=True),
        InterimTranscript(AT, words(""), was_requested=True, is_echo=True),
    ],
    ids=lambda event: log(event).drain().entries[-1],
)
def test_event_survives_round_trip(event: ReportedEvent) -> None:
    assert list(parse_entries(log(event).drain().entries)) == [SETTINGS, event]


def test_estimate_of_older_trace_has_no_pausing_share() -> None:
    assert list(parse_entries(["judged 320 7 0.5 160.0 650.0 sound"])) == [
        EndOfTurnScored(Samples(320), SegmentId(7), EndOfTurnEstimate(0.5, 160.0, 650.0, "sound"))
    ]


@pytest.mark.parametrize(
    ("old", "present"),
    [
        ("hear 640 2 0 0 -", "frames 640 2 0 0 -"),
        ("partial 640 320 0 mhm asked", "interim 640 320 0 backchannel requested"),
        ("partial 640 320 1 aside", "interim 640 320 1 side-talk"),
        ("partial 640 320 0 begin", "interim 640 320 0 beginning"),
        ("asked 640 greeting 1", "request 640 greeting 1"),
        ("voice 640 320 other", "voice 640 320 640 other"),
    ],
)
def test_entry_of_an_older_trace_is_read(old: str, present: str) -> None:
    assert list(parse_entries([old])) == list(parse_entries([present]))


def test_unknown_dictation_is_malformed() -> None:
    with pytest.raises(ValueError, match="song"):
        list(parse_entries(["estimate 320 7 0.5 160.0 650.0 0.2 sound dictates song incomplete"]))


def test_frames_share_an_entry_while_nothing_changes() -> None:
    speaking = [frame(number, VadResult(True, Samples(320), number * 17 / 255, None)) for number in range(2, 12)]
    silent = [frame(number, VadResult(False, Samples(3200), 0.0)) for number in range(12, 5000)]
    drained = log(*speaking, *silent).drain()
    assert [entry.split()[0] for entry in drained.entries] == ["set", "frames", "frames"]
    assert list(parse_entries(drained.entries))[1:] == [*speaking, *silent]


def test_speech_probability_is_kept_in_8_bits() -> None:
    ((_, found),) = [
        list(parse_entries(log(frame(1, VadResult(True, Samples(0), 0.7301, Samples(100)))).drain().entries))
    ]
    assert isinstance(found, FrameProcessed)
    assert found.vad.probability == round(0.7301 * 255) / 255
    assert found.vad.possible_end == 100


def test_unchanged_progress_reports_are_thinned_except_the_last() -> None:
    reports = [PlaybackProgress(Samples(number * 320), REPLY, 1, audible=True) for number in range(100)]
    later = frame(200, VadResult(False, Samples(0), 0.0))
    found = [told for told in parse_entries(log(*reports, later).drain().entries) if isinstance(told, PlaybackProgress)]
    assert len(found) == 5
    assert found[0] == reports[0]
    assert found[-1] == reports[-1]


def test_unchanged_interim_transcript_is_logged_once() -> None:
    found = log(
        InterimTranscript(AT, words("what")),
        InterimTranscript(AT, words("what time")),
        InterimTranscript(AT, words("mhm")),
    ).drain()
    assert [entry.rpartition(" ")[2] for entry in found.entries[1:]] == ["words", "backchannel"]


def test_requested_interim_transcript_is_logged_each_time() -> None:
    found = log(*(InterimTranscript(AT, words(""), was_requested=True) for _ in range(2)))
    assert len(found.drain().entries) == 3


def test_words_are_logged_as_hashes_that_compare() -> None:
    said = ["What time is it?", "what time is it", "what time was it", "...", "!"]
    entries = log(*(FinalTranscript(AT, REPLY, words(text)) for text in said)).drain().entries[1:]
    texts = [told.transcript.text for told in parse_entries(entries) if isinstance(told, FinalTranscript)]
    assert texts[0] == texts[1] != texts[2]
    assert all(texts), "a text that is not empty stays not empty"
    assert plain_words(texts[3]) == plain_words(texts[4]) == ""
    assert not any("time" in entry for entry in entries)


def test_drain_removes_entries_and_counts_dropped_ones() -> None:
    event_log = log(InputCommitted(AT))
    assert event_log.drain().before == 0
    assert event_log.drain() == type(event_log.drain())(2, ())
    for _ in range(MAX_ENTRIES + 5):
        event_log.add_event(InputCommitted(AT), SETTINGS)
    drained = event_log.drain()
    assert (drained.before, len(drained.entries)) == (7, MAX_ENTRIES)


def test_settings_are_logged_when_they_change() -> None:
    event_log = log(InputCommitted(AT), InputCommitted(AT))
    other = TurnSettings(ends_turn=EndsTurn.CLIENT)
    event_log.add_event(InputCommitted(AT), other)
    kinds = [told if isinstance(told, TurnSettings) else None for told in parse_entries(event_log.drain().entries)]
    assert kinds == [SETTINGS, None, None, other, None]


def test_settings_of_older_and_newer_versions_are_read() -> None:
    older = {"floor_ms": 220, "ceiling_ms": 440, "unfinished_ms": 840, "threshold": 1.0}
    newer = {"patience": {**older, "pausing_ms": 760, "not_yet_ms": 1}, "not_yet": 2}
    assert settings_of({"patience": older}).profile == EndOfTurnProfile(220, 440, 840, 1.0)
    assert settings_of(dict(newer)).profile == EndOfTurnProfile(220, 440, 840, 1.0, 760)


def entries_with(turn_settings: TurnSettings) -> tuple[str, ...]:
    """Returns the entries of an event with these settings."""
    event_log = EventLog(b"salt")
    event_log.add_event(InputCommitted(AT), turn_settings)
    return event_log.drain().entries


@pytest.mark.parametrize("ends_turn", EndsTurn)
@pytest.mark.parametrize("interrupted_by", InterruptedBy)
def test_modes_survive_round_trip(ends_turn: EndsTurn, interrupted_by: InterruptedBy) -> None:
    modes = TurnSettings(ends_turn=ends_turn, interrupted_by=interrupted_by, answers=False, has_client=True)
    entries = entries_with(modes)
    assert f'"ends_turn":"{ends_turn.value}","interrupted_by":"{interrupted_by.value}"' in entries[0]
    assert next(iter(parse_entries(entries))) == modes


def test_thresholds_survive_round_trip() -> None:
    changed = TurnSettings(start=TurnStartThresholds(certain_speech=0.8), overlap=OverlapThresholds(early_ms=500.0))
    assert next(iter(parse_entries(entries_with(changed)))) == changed


def test_recheck_thresholds_keep_their_place_in_the_trace() -> None:
    changed = TurnSettings(rechecks=RecheckThresholds(settle_ms=160.0, recheck_ms=50.0, min_recheck_lead_ms=20.0))
    entries = entries_with(changed)
    recorded = json.loads(entries[0].removeprefix("set "))
    assert recorded["settle_ms"] == 160.0
    assert recorded["attempts"] | {"recheck_ms": 50.0, "min_recheck_lead_ms": 20.0} == recorded["attempts"]
    assert "rechecks" not in recorded
    assert next(iter(parse_entries(entries))) == changed


@pytest.mark.parametrize("start", [{}, {"start": {"not_yet": 1}}], ids=["no group", "unknown threshold"])
def test_trace_without_thresholds_has_the_former_ones(start: dict[str, object]) -> None:
    assert settings_of({"hangover_ms": 400.0, **start}) == TurnSettings(
        start=TurnStartThresholds(background_certain_ms=0.0),
        overlap=OverlapThresholds(early_ms=700.0, max_early_hold_ms=0.0),
    )


def test_older_trace_replays_without_background_thresholds() -> None:
    recorded = settings_of({"start": {"certain_speech": 0.8}})
    assert recorded.start == TurnStartThresholds(certain_speech=0.8, background_certain_ms=0.0)


AUTO = EndsTurn.AUTO


@pytest.mark.parametrize(
    ("flags", "modes"),
    [
        ({}, (AUTO, InterruptedBy.VOICE, False)),
        ({"held": True}, (EndsTurn.PUSH_TO_TALK, InterruptedBy.VOICE, False)),
        ({"manual": True, "by_client": True}, (EndsTurn.CLIENT, InterruptedBy.VOICE, True)),
        ({"interruptible": False, "by_name": True}, (AUTO, InterruptedBy.WAKE_PHRASE, False)),
        ({"interruptible": False, "by_client": True}, (AUTO, InterruptedBy.CLIENT, True)),
        ({"interruptible": False}, (AUTO, InterruptedBy.NOTHING, False)),
    ],
)
def test_modes_of_schema_1_are_read(flags: dict[str, bool], modes: tuple[EndsTurn, InterruptedBy, bool]) -> None:
    off = {"manual": False, "held": False, "answers": True, "interruptible": True, "by_client": False, "by_name": False}
    found = settings_of({"hangover_ms": 300.0, **off, **flags})
    assert found.hangover_ms == 300.0
    assert (found.ends_turn, found.interrupted_by, found.has_client) == modes


@pytest.mark.parametrize(
    "entry",
    ["nonsense 1", "words 1 2", "frames 640 2 1 0 - AA==", "request 1 somebody 1", "cancelled"],
    ids=["unknown name", "too few fields", "invalid probabilities", "unknown origin", "missing fields"],
)
def test_malformed_entry_raises(entry: str) -> None:
    with pytest.raises(ValueError, match=r"frames|no event|unpack"):
        list(parse_entries([entry]))


def test_log_of_idle_conversation_does_not_grow() -> None:
    """Two minutes of silence or of continuous speech: frames of one entry share their memory."""
    frames = 6000
    for speaking in (False, True):
        event_log = EventLog(b"salt")
        tracemalloc.start()
        for number in range(frames):
            event_log.add_event(
                FrameProcessed(Samples(number * FRAME_SAMPLES), VadResult(speaking, Samples(0), 0.9)), SETTINGS
            )
        kept_bytes, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert kept_bytes < 11 * frames
        told = list(parse_entries(event_log.drain().entries))[1:]
        assert len(told) == frames
        assert [one.position for one in told if isinstance(one, FrameProcessed)][-1] == (frames - 1) * FRAME_SAMPLES


@settings(max_examples=examples(15))
@given(st.integers(0, 400))
def test_replay_of_log_makes_same_decisions(conversation: int) -> None:
    performance, event_log = performance_of(conversation), EventLog(b"salt")
    then = list[tuple[Samples, SessionEffect]]()

    def log_event(event: ReportedEvent, effects: SessionEffects) -> None:
        event_log.add_event(event, performance.session.turns.settings)
        then.extend((event.position, _without_words(effect)) for effect in effects)

    performance.session.observe = log_event
    performance.perform()
    again, now = TranscriptRequests(TurnTaking(TurnSettings())), list[tuple[Samples, SessionEffect]]()
    for item in parse_entries(event_log.drain().entries):
        if isinstance(item, TurnSettings):
            again.turns.settings = item
        else:
            now += [(item.position, _without_words(effect)) for effect in again.handle(item)]
    assert now == then


def _without_words(effect: SessionEffect) -> SessionEffect:
    """Replaces the words by whether there were any."""
    if isinstance(effect, PrepareReply | CommitTurn | CommitWithoutReply):
        return replace(effect, text=str(bool(effect.text)), new_text=str(bool(effect.new_text)))
    return effect


def test_forget_leaves_a_visible_gap() -> None:
    event_log = log(InputCommitted(AT))
    first = event_log.drain()
    event_log.add_event(InputCommitted(AT), SETTINGS)
    event_log.forget()
    event_log.add_event(InputCleared(AT), SETTINGS)
    after = event_log.drain()
    assert after.before > first.before + len(first.entries)
    assert [type(told) for told in parse_entries(after.entries)] == [TurnSettings, InputCleared]


@pytest.mark.parametrize(("is_draft", "expected"), [(False, False), (True, True)])
def test_guess_is_known_without_its_words(is_draft: bool, expected: bool) -> None:
    guess = FinalTranscript(AT, REPLY, replace(words(""), guess="l a b n", is_draft=is_draft), answer_expected=expected)
    (entry,) = log(guess).drain().entries[1:]
    (told,) = parse_entries([entry])
    assert "l a" not in entry
    assert isinstance(told, FinalTranscript)
    assert (bool(told.transcript.guess), told.transcript.is_draft, told.answer_expected) == (True, is_draft, expected)


def test_focus_and_call_survive_round_trip() -> None:
    focused = replace(SETTINGS, focus=FocusThresholds(other_lasts_ms=900.0, waits_for_words=True))
    called = FinalTranscript(AT, ReplyId(1, 2), words("stop"), calls_assistant=True)
    event_log = EventLog(b"salt")
    event_log.add_event(called, focused)
    settings, event = parse_entries(event_log.drain().entries)
    assert settings == focused
    assert isinstance(event, FinalTranscript)
    assert event.calls_assistant


def test_settings_without_focus_are_recorded_as_before() -> None:
    assert '"focus"' not in log(ReplyCancelled(AT)).drain().entries[0]
