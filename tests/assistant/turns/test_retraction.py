"""Tests of committed replies that are retracted because the user continues."""

from support.turns.turn_scene import FIRST, Scene, at

from assistant.pipeline.transcript_requests import RecognizerRequest
from assistant.turns.effects import (
    CloseSegment,
    CommitTurn,
    DuckReply,
    OpenSegment,
    PrepareReply,
    RetractReply,
    TurnStarted,
)
from assistant.turns.events import FinalTranscript, InputCleared, ReplyId, ReplyRequested
from assistant.turns.state.states import Phase
from audio.stt import SegmentId, Transcript
from audio.units import Samples


def test_speech_before_reply_is_audible_retracts_it_and_joins_words() -> None:
    scene = Scene()
    reply = scene.commit_reply("a small coffee")
    segment = SegmentId(at(1500))
    assert scene.speech(20) == (OpenSegment(segment, at(1800)), RetractReply(reply), TurnStarted(1, at(1800)))
    scene.speech(500)
    assert RecognizerRequest(ReplyId(1, 2), segment, at(2320)) in scene.silence(400)
    assert scene.transcript(ReplyId(1, 2), "with milk") == (
        PrepareReply(ReplyId(1, 2), "a small coffee with milk", "with milk"),
        CommitTurn(ReplyId(1, 2), "a small coffee with milk", "with milk", at(2320)),
        CloseSegment(segment, 1),
    )


def test_speech_during_first_word_retracts_reply() -> None:
    scene = Scene()
    reply = scene.commit_reply(words_heard=0, audible=True)
    assert scene.speech(20) == (DuckReply(reply), OpenSegment(SegmentId(at(1500)), at(1800)))
    assert scene.speech(260) == ()
    assert scene.speech(20) == (RetractReply(reply), TurnStarted(1, at(1800)))
    assert scene.phase() is Phase.USER_SPEAKING


def test_retracted_greeting_adds_no_words() -> None:
    scene = Scene()
    scene.handle(ReplyRequested(at(0), "greeting", "Hello, I am here."))
    assert RetractReply(FIRST) in scene.speech(20)
    scene.speech(500)
    scene.silence(400)
    assert PrepareReply(ReplyId(1, 2), "what time is it", "what time is it") in scene.transcript(
        ReplyId(1, 2), "what time is it"
    )


def test_low_confidence_is_kept_across_retraction() -> None:
    scene = Scene()
    scene.speech(800)
    scene.silence(400)
    scene.handle(
        FinalTranscript(at(1200), FIRST, Transcript(SegmentId(0), Samples(0), "a smell coffee", low_confidence=True))
    )
    scene.speech(400)
    scene.silence(400)
    (commit,) = (e for e in scene.transcript(ReplyId(1, 2), "with milk") if isinstance(e, CommitTurn))
    assert commit.low_confidence


def test_cough_that_retracted_reply_still_gets_earlier_words_answered() -> None:
    scene = Scene()
    scene.commit_reply("what time is it")
    scene.speech(200)
    scene.silence(400)
    assert CommitTurn(ReplyId(1, 2), "what time is it", "", at(2000)) in scene.transcript(ReplyId(1, 2), "")


def test_missing_transcript_after_retraction_answers_earlier_words() -> None:
    scene = Scene()
    scene.commit_reply("what time is it")
    scene.speech(200)
    scene.silence(400)
    scene.silence(10_000)
    assert [effect for effect in scene.effects if isinstance(effect, CommitTurn)][-1] == CommitTurn(
        ReplyId(1, 3), "what time is it", "", None, origin="requested"
    )


def test_clear_after_retraction_answers_earlier_words() -> None:
    scene = Scene()
    scene.commit_reply("what time is it")
    scene.speech(100)
    again = ReplyId(1, 2)
    assert scene.handle(InputCleared(at(1900))) == (
        CloseSegment(SegmentId(at(1500)), 1, used=False),
        PrepareReply(again, "what time is it"),
        CommitTurn(again, "what time is it", "", None, origin="requested"),
    )
    assert scene.speech(300) == (), "the same speech retracts no other reply"
