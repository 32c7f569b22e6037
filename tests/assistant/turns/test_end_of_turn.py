"""Tests of the end of a turn: silence, estimates, limits and missing transcripts."""

import pytest
from support.turns.turn_scene import FIRST, SOME_SEGMENT, Scene, at, low_confidence_transcript

from assistant.end_of_turn.estimator import EndOfTurnEstimate, EndOfTurnProfile
from assistant.pipeline.transcript_requests import RecognizerRequest, SessionEffects
from assistant.turns.effects import (
    CloseSegment,
    CommitTurn,
    DropAttempt,
    EndOfTurn,
    InterruptReply,
    OpenSegment,
    PrepareReply,
    RetractReply,
    TurnDiscarded,
    TurnStarted,
)
from assistant.turns.events import (
    EndOfTurnScored,
    FinalTranscript,
    FrameProcessed,
    ReplyEnded,
    ReplyId,
    TranscriptFailed,
)
from assistant.turns.settings import TurnSettings
from assistant.turns.state.states import Phase
from audio.stt import SegmentId, Transcript
from audio.units import Samples
from audio.vad import VadResult


def test_silence_ends_turn_and_transcript_starts_reply() -> None:
    scene = Scene()
    assert scene.silence(500) == ()
    assert scene.speech(800) == (OpenSegment(SegmentId(at(200)), at(500)), TurnStarted(1, at(500)))
    assert scene.silence(380) == ()
    assert scene.silence(20) == (RecognizerRequest(FIRST, SegmentId(at(200)), at(1300)), EndOfTurn(1))
    assert scene.phase() is Phase.AWAITING_TRANSCRIPT
    assert scene.transcript(FIRST, " what time is it ") == (
        PrepareReply(FIRST, "what time is it", "what time is it"),
        CommitTurn(FIRST, "what time is it", "what time is it", at(1300)),
        CloseSegment(SegmentId(at(200)), 1),
    )
    assert scene.phase() is Phase.REPLYING
    assert scene.handle(ReplyEnded(at(3000), FIRST)) == ()
    assert scene.phase() is Phase.IDLE


def test_pre_roll_does_not_overlap_previous_turn() -> None:
    scene = Scene()
    scene.commit_reply()
    scene.handle(ReplyEnded(at(scene.now_ms), FIRST))
    opened = [effect for effect in scene.speech(100) if isinstance(effect, OpenSegment)]
    assert opened == [OpenSegment(SegmentId(at(1500)), at(1800))]


def test_speech_while_transcript_is_pending_reopens_turn() -> None:
    scene = Scene()
    scene.speech(800)
    scene.silence(500)
    assert scene.phase() is Phase.AWAITING_TRANSCRIPT
    assert scene.speech(20) == (DropAttempt(FIRST, "went on"),)
    assert scene.phase() is Phase.USER_SPEAKING


def test_vad_replaced_during_pause_does_not_move_speech_end() -> None:
    scene = Scene()
    scene.speech(800)
    scene.silence(100)
    for ms in (920, 940, 960, 1200):
        scene.handle(FrameProcessed(at(ms), VadResult(speaking=False, boundary=Samples(0), probability=0.0)))
    assert RecognizerRequest(FIRST, SegmentId(0), at(800)) in scene.effects


def test_turn_without_words_is_discarded() -> None:
    scene = Scene()
    scene.speech(300)
    scene.silence(400)
    assert scene.transcript(FIRST, "  ") == (
        DropAttempt(FIRST, "no words"),
        CloseSegment(SegmentId(0), 1, used=False),
        TurnDiscarded(1, at(700), at(300), "no words"),
    )
    assert scene.phase() is Phase.IDLE


def test_noise_longer_than_maximum_turn_is_not_answered() -> None:
    scene = Scene(TurnSettings(max_turn_s=2.0))
    asked = next(effect.reply_id for effect in scene.uncertain_speech(2200) if isinstance(effect, RecognizerRequest))
    assert TurnDiscarded(1, at(2200), at(2000), "noise") in low_confidence_transcript(scene, asked)


def test_failed_transcript_is_answered_with_an_apology() -> None:
    scene = Scene()
    scene.speech(300)
    scene.silence(400)
    assert scene.handle(TranscriptFailed(at(800), FIRST, SegmentId(0))) == (
        PrepareReply(FIRST, "", transcript_lost=True),
        CommitTurn(FIRST, "", "", at(300)),
        CloseSegment(SegmentId(0), 1),
    )


def test_turn_without_transcript_is_given_up() -> None:
    scene = Scene()
    scene.speech(300)
    scene.silence(400)
    scene.silence(9_980)
    assert scene.phase() is Phase.AWAITING_TRANSCRIPT
    assert scene.silence(20) == (
        DropAttempt(FIRST, "stuck"),
        CloseSegment(SegmentId(0), 1, used=False),
        TurnDiscarded(1, at(10_700), at(300), "stuck"),
    )
    assert scene.phase() is Phase.IDLE


def test_reply_without_progress_is_given_up() -> None:
    scene = Scene()
    reply_id = scene.commit_reply()
    scene.silence(5_000)
    scene.progress(reply_id, 2)
    scene.silence(9_980)
    assert scene.phase() is Phase.REPLYING
    assert scene.silence(20) == (InterruptReply(reply_id, "stuck"),)
    assert scene.phase() is Phase.IDLE


def overlong_turn(text: str, *, rough: bool = False, words_heard: int | None = None) -> Scene:
    """Runs a turn that reaches its maximum length during speech."""
    scene = Scene(TurnSettings(max_turn_s=2))
    assert EndOfTurn(1) in scene.speech(2000)
    assert scene.speech(500) == ()  # continued speech does not reopen the turn
    scene.handle(FinalTranscript(at(scene.now_ms), FIRST, Transcript(SOME_SEGMENT, Samples(0), text, rough)))
    if words_heard is not None:
        scene.progress(FIRST, words_heard)
    scene.effects.clear()
    return scene


def test_speech_beyond_maximum_turn_continues_the_turn() -> None:
    scene = overlong_turn("blah")
    segment = SegmentId(at(2000))
    assert scene.speech(20) == (OpenSegment(segment, at(2000)), RetractReply(FIRST), TurnStarted(1, at(2000)))
    scene.speech(500)
    scene.silence(400)
    again = ReplyId(1, 2)
    assert CommitTurn(again, "blah blah", "blah", at(3020)) in scene.transcript(again, "blah")


def test_speech_beyond_maximum_turn_interrupts_audible_reply() -> None:
    scene = overlong_turn("blah", words_heard=1)
    assert scene.speech(300)[-2:] == (TurnStarted(2, at(2000)), InterruptReply(FIRST))


@pytest.mark.parametrize(("text", "rough"), [("", False), ("blah", True)], ids=["no words", "low-confidence words"])
def test_endless_speech_without_words_is_ignored_until_it_pauses(text: str, *, rough: bool) -> None:
    scene = overlong_turn(text, rough=rough)
    assert scene.speech(3000) == ()  # nor does it interrupt
    scene.handle(ReplyEnded(at(scene.now_ms), FIRST))
    assert scene.speech(3000) == ()
    scene.silence(500)
    assert any(isinstance(effect, OpenSegment) for effect in scene.speech(100))


def score(scene: Scene, probability: float, silence_ms: float, segment: int = 0) -> SessionEffects:
    estimate = EndOfTurnEstimate(probability, silence_ms, 650.0, "sound")
    return scene.handle(EndOfTurnScored(at(scene.now_ms), SegmentId(segment), estimate))


PROFILE = EndOfTurnProfile(floor_ms=180, ceiling_ms=900, unfinished_ms=900, threshold=0.8)


@pytest.mark.parametrize(
    ("probability", "silence_ms"),
    [(0.99, 180), (0.5, 720), (0.01, 900)],
    ids=["high probability", "medium probability", "low probability"],
)
def test_high_probability_shortens_silence_timeout(probability: float, silence_ms: int) -> None:
    scene = Scene(TurnSettings(hangover_ms=400, speculate_after_ms=40, profile=PROFILE))
    scene.speech(800)
    scene.silence(60)
    scene.transcript(FIRST, "hello")
    score(scene, probability, 200)
    assert EndOfTurn(1) not in scene.silence(silence_ms - 80)
    assert EndOfTurn(1) in scene.silence(20)


def test_estimate_of_other_segment_is_ignored() -> None:
    scene = Scene(TurnSettings(hangover_ms=400, profile=PROFILE))
    scene.speech(800)
    scene.silence(60)
    score(scene, 0.99, 60, segment=77)
    assert scene.silence(200) == ()
    score(scene, 0.99, 260)
    assert EndOfTurn(1) in scene.silence(20)


def test_speech_resets_silence_timeout() -> None:
    scene = Scene(TurnSettings(hangover_ms=400, profile=PROFILE))
    scene.speech(800)
    scene.silence(60)
    score(scene, 0.99, 60)
    scene.speech(200)
    assert scene.silence(380) == ()
