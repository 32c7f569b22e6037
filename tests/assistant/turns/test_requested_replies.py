"""Tests of replies that the client requests."""

from support.turns.turn_scene import FIRST, Scene, at, at_reply_onset

from assistant.pipeline.transcript_requests import RecognizerRequest
from assistant.turns.effects import (
    CloseSegment,
    CommitTurn,
    DuckReply,
    EndOfTurn,
    InterruptReply,
    PrepareReply,
    RetractReply,
    TurnDiscarded,
    TurnStarted,
    UnduckReply,
)
from assistant.turns.events import ReplyCancelled, ReplyEnded, ReplyId, ReplyRequested
from audio.stt import SegmentId


def test_request_replaces_reply() -> None:
    scene, reply_id = at_reply_onset()
    scene.speech(100)
    assert scene.handle(ReplyRequested(at(scene.now_ms), "requested")) == (
        CloseSegment(SegmentId(at(1500)), 1, used=False),
        InterruptReply(reply_id, "requested"),
        PrepareReply(ReplyId(2, 1), ""),
        CommitTurn(ReplyId(2, 1), "", "", None, origin="requested"),
    )


def test_speech_before_request_is_a_turn_after_its_reply() -> None:
    scene = Scene()
    scene.speech(500)
    typed, spoken = ReplyId(2, 1), ReplyId(3, 1)
    assert scene.handle(ReplyRequested(at(500), "requested")) == (
        TurnDiscarded(1, at(500), at(500), "requested"),
        PrepareReply(typed, ""),
        CommitTurn(typed, "", "", None, origin="requested"),
    )
    assert scene.speech(500) == (), "continued speech does not interrupt"
    scene.progress(typed, 1)
    assert scene.speech(500) == ()
    assert scene.silence(400) == (), "the overlap is kept during a pause"
    assert scene.handle(ReplyEnded(at(1900), typed)) == (TurnStarted(3, at(0)),)
    assert scene.silence(20) == (RecognizerRequest(spoken, SegmentId(0), at(1500)), EndOfTurn(3))
    assert scene.transcript(spoken, "what time is it") == (
        PrepareReply(spoken, "what time is it", "what time is it"),
        CommitTurn(spoken, "what time is it", "what time is it", at(1500)),
        CloseSegment(SegmentId(0), 3),
    )


def test_new_onset_interrupts_requested_reply_and_keeps_earlier_speech() -> None:
    scene = Scene()
    scene.speech(500)
    scene.handle(ReplyRequested(at(500), "requested"))
    typed = ReplyId(2, 1)
    scene.speech(200)
    scene.silence(400)
    scene.progress(typed, 1)
    assert scene.speech(40) == (DuckReply(typed),)
    assert scene.silence(200) == (UnduckReply(typed),)
    assert scene.speech(280) == (DuckReply(typed),)
    assert scene.speech(20) == (TurnStarted(3, at(0)), InterruptReply(typed))
    scene.silence(400)
    assert CommitTurn(ReplyId(3, 1), "a b", "a b", at(1640)) in scene.transcript(ReplyId(3, 1), "a b")


def test_new_onset_before_requested_reply_is_audible_retracts_it() -> None:
    scene = Scene()
    scene.speech(500)
    scene.handle(ReplyRequested(at(500), "requested"))
    scene.silence(200)
    assert scene.speech(20) == (RetractReply(ReplyId(2, 1)), TurnStarted(2, at(0)))
    scene.silence(400)
    again = ReplyId(2, 2)
    assert CommitTurn(again, "hello", "hello", at(720)) in scene.transcript(again, "hello")


def test_speech_is_kept_across_requests_and_cancellation() -> None:
    scene = Scene()
    scene.speech(500)
    scene.handle(ReplyRequested(at(500), "requested"))
    scene.speech(100)
    assert scene.handle(ReplyRequested(at(600), "requested")) == (
        InterruptReply(ReplyId(2, 1), "requested"),
        PrepareReply(ReplyId(3, 1), ""),
        CommitTurn(ReplyId(3, 1), "", "", None, origin="requested"),
    )
    assert scene.handle(ReplyCancelled(at(600))) == (InterruptReply(ReplyId(3, 1), "client"), TurnStarted(4, at(0)))
    scene.speech(100)
    scene.silence(400)
    assert CommitTurn(ReplyId(4, 1), "hello", "hello", at(700)) in scene.transcript(ReplyId(4, 1), "hello")


def test_retracted_request_is_still_answered() -> None:
    scene = Scene()
    scene.handle(ReplyRequested(at(0), "requested"))
    assert RetractReply(FIRST) in scene.speech(20)
    scene.speech(300)
    scene.silence(400)
    again = ReplyId(1, 2)
    assert scene.transcript(again, "")[:2] == (PrepareReply(again, ""), CommitTurn(again, "", "", at(320)))


def test_repeat_is_ignored_while_a_reply_is_due() -> None:
    scene = Scene()
    scene.commit_reply("what time is it")
    scene.speech(100)
    assert scene.handle(ReplyRequested(at(1900), "repeated", "It is ten.")) == ()
    scene.silence(400)
    assert CommitTurn(ReplyId(1, 2), "what time is it", "", at(1900)) in scene.transcript(ReplyId(1, 2), "")
