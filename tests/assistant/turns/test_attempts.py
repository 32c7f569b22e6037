"""Tests of attempts: when they start, are rechecked, dropped and committed."""

import pytest
from turn_scene import FIRST, SLOW_TO_SETTLE, Scene, at, draft_transcript, words

from assistant.turns.events import (
    CloseSegment,
    CommitTurn,
    DropAttempt,
    EndOfTurn,
    FinalTranscript,
    PrepareReply,
    ReplyId,
    Transcribe,
    TranscriptFailed,
    TurnDiscarded,
)
from assistant.turns.settings import AttemptThresholds, TurnSettings
from assistant.turns.states import Phase
from audio.stt import SegmentId


def test_attempt_is_prepared_before_end_of_turn_and_committed_at_it() -> None:
    scene = Scene(TurnSettings(hangover_ms=400, speculate_after_ms=100))
    scene.speech(800)
    assert scene.silence(100) == (Transcribe(FIRST, SegmentId(0), at(800)),)
    assert scene.transcript(FIRST, "hello") == (PrepareReply(FIRST, "hello", "hello"),)
    assert scene.phase() is Phase.USER_SPEAKING
    assert scene.silence(280) == ()
    assert scene.silence(20) == (
        EndOfTurn(1),
        CommitTurn(FIRST, "hello", "hello", at(800)),
        CloseSegment(SegmentId(0), 1),
    )


def test_speech_before_commit_drops_attempt() -> None:
    scene = Scene(TurnSettings(hangover_ms=400, speculate_after_ms=100))
    scene.speech(800)
    scene.silence(100)
    scene.transcript(FIRST, "a small coffee")
    assert scene.speech(20) == (DropAttempt(FIRST, "went on"),)
    scene.speech(500)
    assert scene.silence(100) == (Transcribe(ReplyId(1, 2), SegmentId(0), at(1420)),)
    assert scene.transcript(FIRST, "a small coffee") == ()  # late transcript of the dropped attempt
    scene.transcript(ReplyId(1, 2), "a small coffee with milk")
    assert CommitTurn(ReplyId(1, 2), "a small coffee with milk", "a small coffee with milk", at(1420)) in scene.silence(
        300
    )


def test_early_attempts_are_limited() -> None:
    scene = Scene(TurnSettings(hangover_ms=400, speculate_after_ms=40, settle_ms=300))
    limits, seconds = AttemptThresholds(), 0.0
    while seconds < 20:
        scene.speech(100)
        scene.silence(100)
        seconds = scene.now_ms / 1000
    asked = sum(isinstance(effect, Transcribe) for effect in scene.effects)
    assert asked == pytest.approx(limits.max_early + limits.max_early_per_s * seconds, abs=1.5)
    scene.silence(400)
    assert scene.phase() is Phase.AWAITING_TRANSCRIPT


def test_long_silence_starts_attempt_beyond_the_limit() -> None:
    scene = Scene(TurnSettings(hangover_ms=400, speculate_after_ms=40, settle_ms=300))
    for _ in range(30):
        scene.speech(60)
        scene.silence(60)
    scene.speech(60)
    assert scene.silence(AttemptThresholds().late_after_ms - 20) == ()
    assert [type(effect) for effect in scene.silence(20)] == [Transcribe]


EARLY = TurnSettings(hangover_ms=400, speculate_after_ms=40, settle_ms=60)


def test_attempt_starts_at_possible_end() -> None:
    scene = Scene(EARLY)
    scene.speech(800)
    assert scene.possible_end(60) == (Transcribe(FIRST, SegmentId(0), at(800), early=True, draft=True),)
    assert scene.transcript(FIRST, "hello") == (
        PrepareReply(FIRST, "hello", "hello"),
        Transcribe(ReplyId(1, 2), SegmentId(0), at(800)),
    )


def test_early_transcript_after_settle_time_is_rechecked_at_once() -> None:
    scene = Scene(EARLY)
    scene.speech(800)
    scene.possible_end(40)
    scene.silence(40)
    again = ReplyId(1, 2)
    assert scene.transcript(FIRST, "turn on the") == (
        PrepareReply(FIRST, "turn on the", "turn on the"),
        Transcribe(again, SegmentId(0), at(800)),
    )
    assert scene.silence(60) == (), "the recheck is pending"
    assert scene.transcript(again, "turn on the lamp") == (
        DropAttempt(FIRST, "other words"),
        PrepareReply(again, "turn on the lamp", "turn on the lamp"),
    )
    assert scene.silence(60) == (), "the transcript has settled"


def test_late_confirmation_of_draft_is_rechecked_at_once() -> None:
    scene = Scene(SLOW_TO_SETTLE)
    draft_transcript(scene, "turn on the lamp")
    scene.silence(140)
    again, settled = ReplyId(1, 2), ReplyId(1, 3)
    assert scene.transcript(again, "turn on the lamp") == (
        DropAttempt(again, "same words"),
        Transcribe(settled, SegmentId(0), at(800)),
    )


def test_dip_in_speech_drops_attempt() -> None:
    scene = Scene(EARLY)
    scene.speech(800)
    scene.possible_end(60)
    assert scene.speech(20) == (DropAttempt(FIRST, "went on"),)


def test_early_transcript_is_rechecked() -> None:
    scene = Scene(EARLY)
    scene.speech(800)
    scene.possible_end(40)
    scene.transcript(FIRST, "turn on the")
    again = ReplyId(1, 2)
    assert scene.silence(20) == (Transcribe(again, SegmentId(0), at(800)),)
    assert scene.transcript(again, "Turn on the lamp.") == (
        DropAttempt(FIRST, "other words"),
        PrepareReply(again, "Turn on the lamp.", "Turn on the lamp."),
    )
    assert scene.transcript(FIRST, "late") == ()


def test_recheck_with_same_words_keeps_attempt() -> None:
    scene = Scene(EARLY)
    scene.speech(800)
    scene.possible_end(40)
    scene.transcript(FIRST, "turn on the lamp")
    scene.possible_end(20)
    again = ReplyId(1, 2)
    assert scene.transcript(again, "Turn on the lamp.") == (DropAttempt(again, "same words"),)
    assert CommitTurn(FIRST, "turn on the lamp", "turn on the lamp", at(800)) in scene.silence(400)


def test_reply_waits_for_settled_transcript() -> None:
    scene = Scene(TurnSettings(hangover_ms=60, speculate_after_ms=40, settle_ms=60))
    scene.speech(800)
    scene.possible_end(40)
    scene.transcript(FIRST, "turn on the")
    scene.possible_end(20)
    assert scene.silence(400)[0] == EndOfTurn(1)
    assert [type(effect) for effect in scene.transcript(ReplyId(1, 2), "turn on the lamp")] == [
        DropAttempt,
        PrepareReply,
        CommitTurn,
        CloseSegment,
    ]


def test_transcript_is_rechecked_before_settle_time() -> None:
    scene = Scene(SLOW_TO_SETTLE)
    scene.speech(800)
    scene.possible_end(40)
    scene.transcript(FIRST, "turn on the")
    assert scene.silence(20) == ()
    assert scene.silence(20) == (Transcribe(ReplyId(1, 2), SegmentId(0), at(800), early=True),)
    scene.transcript(ReplyId(1, 2), "turn on the lamp")
    for later, early in ((ReplyId(1, 3), True), (ReplyId(1, 4), False)):
        assert scene.silence(20) == ()
        assert scene.silence(20) == (Transcribe(later, SegmentId(0), at(800), early=early),)
        assert scene.transcript(later, "turn on the lamp") == (DropAttempt(later, "same words"),)
    assert scene.silence(140)[-2:] == (
        CommitTurn(ReplyId(1, 2), "turn on the lamp", "turn on the lamp", at(800)),
        CloseSegment(SegmentId(0), 1),
    )


def test_transcript_after_end_of_turn_is_rechecked_before_commit() -> None:
    scene = Scene(SLOW_TO_SETTLE)
    scene.speech(800)
    scene.possible_end(60)
    scene.transcript(FIRST, "turn on the")
    scene.silence(40)
    assert scene.silence(300) == (EndOfTurn(1),)
    third = ReplyId(1, 3)
    assert scene.transcript(ReplyId(1, 2), "turn on the") == (
        DropAttempt(ReplyId(1, 2), "same words"),
        Transcribe(third, SegmentId(0), at(800), early=False),
    )
    assert scene.transcript(third, "turn on the lamp") == (
        DropAttempt(FIRST, "other words"),
        PrepareReply(third, "turn on the lamp", "turn on the lamp"),
        CommitTurn(third, "turn on the lamp", "turn on the lamp", at(800)),
        CloseSegment(SegmentId(0), 1),
    )


def test_wake_phrase_alone_survives_failed_rechecks() -> None:
    scene = Scene(SLOW_TO_SETTLE)
    scene.speech(800)
    scene.possible_end(40)
    scene.handle(FinalTranscript(at(scene.now_ms), FIRST, words(""), "called"))
    for again in (2, 3, 4):
        scene.silence(40)
        scene.handle(TranscriptFailed(at(scene.now_ms), ReplyId(1, again), SegmentId(0)))
    scene.silence(140)
    assert scene.effects[-1] == TurnDiscarded(1, at(scene.now_ms), at(800), "called")


def test_early_transcript_after_end_of_turn_is_rechecked_once() -> None:
    scene = Scene(SLOW_TO_SETTLE)
    scene.speech(800)
    scene.silence(400)
    second = ReplyId(1, 2)
    assert scene.transcript(FIRST, "hello") == (
        PrepareReply(FIRST, "hello", "hello"),
        Transcribe(second, SegmentId(0), at(800), early=False),
    )
    assert scene.transcript(second, "hello") == (
        DropAttempt(second, "same words"),
        CommitTurn(FIRST, "hello", "hello", at(800)),
        CloseSegment(SegmentId(0), 1),
    )
