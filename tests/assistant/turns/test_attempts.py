"""Tests of attempts: when they start, are dropped and committed."""

import pytest
from support.turns.turn_scene import FIRST, Scene, at

from assistant.pipeline.transcript_requests import RecognizerRequest
from assistant.turns.effects import CloseSegment, CommitTurn, DropAttempt, EndOfTurn, PrepareReply
from assistant.turns.events import ReplyId
from assistant.turns.settings import AttemptThresholds, RecheckThresholds, TurnSettings
from assistant.turns.state.states import Phase
from audio.stt import SegmentId


def test_attempt_is_prepared_before_end_of_turn_and_committed_at_it() -> None:
    scene = Scene(TurnSettings(hangover_ms=400, speculate_after_ms=100))
    scene.speech(800)
    assert scene.silence(100) == (RecognizerRequest(FIRST, SegmentId(0), at(800)),)
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
    assert scene.silence(100) == (RecognizerRequest(ReplyId(1, 2), SegmentId(0), at(1420)),)
    assert scene.transcript(FIRST, "a small coffee") == ()  # late transcript of the dropped attempt
    scene.transcript(ReplyId(1, 2), "a small coffee with milk")
    assert CommitTurn(ReplyId(1, 2), "a small coffee with milk", "a small coffee with milk", at(1420)) in scene.silence(
        300
    )


def test_early_attempts_are_limited() -> None:
    scene = Scene(TurnSettings(hangover_ms=400, speculate_after_ms=40, rechecks=RecheckThresholds(settle_ms=300)))
    limits, seconds = AttemptThresholds(), 0.0
    while seconds < 20:
        scene.speech(100)
        scene.silence(100)
        seconds = scene.now_ms / 1000
    asked = sum(isinstance(effect, RecognizerRequest) for effect in scene.effects)
    assert asked == pytest.approx(limits.max_early + limits.max_early_per_s * seconds, abs=1.5)
    scene.silence(400)
    assert scene.phase() is Phase.AWAITING_TRANSCRIPT


def test_long_silence_starts_attempt_beyond_the_limit() -> None:
    scene = Scene(TurnSettings(hangover_ms=400, speculate_after_ms=40, rechecks=RecheckThresholds(settle_ms=300)))
    for _ in range(30):
        scene.speech(60)
        scene.silence(60)
    scene.speech(60)
    assert scene.silence(AttemptThresholds().late_after_ms - 20) == ()
    assert [type(effect) for effect in scene.silence(20)] == [RecognizerRequest]


def test_dip_in_speech_drops_attempt() -> None:
    scene = Scene(TurnSettings(hangover_ms=400, speculate_after_ms=40))
    scene.speech(800)
    scene.possible_end(60)
    assert scene.speech(20) == (DropAttempt(FIRST, "went on"),)
