"""Tests of speech while the transcript of the previous turn is pending."""

from support.turns.turn_scene import FIRST, Scene, at, commit_of, last_requested

from assistant.pipeline.transcript_requests import RecognizerRequest
from assistant.turns.effects import CommitWithoutReply, OpenSegment, RetractReply, TurnDiscarded, TurnStarted
from assistant.turns.events import InputCleared, InputCommitted, ReplyId, ReplyRequested
from assistant.turns.settings import EndsTurn, InterruptedBy, TurnSettings
from audio.stt import SegmentId

MANUAL = TurnSettings(ends_turn=EndsTurn.CLIENT, has_client=True)


def speech_after_commit(scene: Scene) -> None:
    """Commits a turn at 1000 ms and adds 500 ms of speech before its transcript arrives."""
    scene.speech(1000)
    scene.handle(InputCommitted(at(1000)))
    scene.silence(200)
    scene.speech(500)
    scene.silence(200)
    scene.effects.clear()


def test_speech_while_transcript_is_pending_is_queued_as_turn() -> None:
    scene = Scene(MANUAL)
    speech_after_commit(scene)
    scene.transcript(FIRST, "the first half")
    begun = (OpenSegment(SegmentId(at(1000)), at(1200)), TurnStarted(2, at(1200)))
    assert scene.silence(20) == begun
    asked = RecognizerRequest(ReplyId(2, 1), SegmentId(at(1000)), at(1700))
    assert scene.handle(InputCommitted(at(scene.now_ms)))[1] == asked


def test_committed_speech_while_transcript_is_pending_is_queued() -> None:
    scene = Scene(MANUAL)
    speech_after_commit(scene)
    assert scene.handle(InputCommitted(at(1900))) == ()
    scene.speech(400)
    scene.handle(InputCommitted(at(2300)))
    scene.transcript(FIRST, "the first")
    scene.silence(20)
    scene.transcript(ReplyId(2, 1), "the second")
    scene.silence(20)
    scene.transcript(ReplyId(3, 1), "the third")
    assert [effect.text for effect in scene.effects if isinstance(effect, CommitWithoutReply)] == [
        "the first",
        "the second",
        "the third",
    ]
    opened = [effect for effect in scene.effects if isinstance(effect, OpenSegment)]
    assert [(one.segment, one.end) for one in opened] == [
        (SegmentId(at(1000)), at(1900)),
        (SegmentId(at(1900)), at(2300)),
    ]


def test_request_after_two_commits_answers_the_second() -> None:
    scene = Scene(MANUAL)
    speech_after_commit(scene)
    scene.handle(InputCommitted(at(1900)))
    assert scene.handle(ReplyRequested(at(1900), "requested")) == ()
    assert isinstance(scene.transcript(FIRST, "the first")[0], CommitWithoutReply)
    scene.silence(20)
    commit = commit_of(scene.transcript(ReplyId(2, 1), "the second"))
    assert commit.text == "the second"


def test_empty_commit_while_transcript_is_pending_is_discarded_later() -> None:
    scene = Scene(MANUAL)
    scene.speech(1000)
    scene.handle(InputCommitted(at(1000)))
    scene.silence(500)
    assert scene.handle(InputCommitted(at(1500))) == ()
    scene.transcript(FIRST, "all of it")
    assert scene.silence(20) == (TurnDiscarded(2, at(1520), at(1500), "no words", submitted=True),)


def test_cleared_speech_after_commit_is_no_turn() -> None:
    scene = Scene(MANUAL)
    speech_after_commit(scene)
    scene.handle(InputCleared(at(scene.now_ms)))
    scene.transcript(FIRST, "the first half")
    assert scene.silence(500) == ()


def test_short_rest_after_commit_is_no_turn_with_late_transcript() -> None:
    scene = Scene(MANUAL)
    scene.speech(1000)
    scene.handle(InputCommitted(at(1000)))
    scene.speech(240)
    scene.silence(300)
    scene.transcript(FIRST, "all of it")
    assert scene.silence(500) == ()


def test_rest_of_overlong_turn_is_next_turn_with_late_transcript() -> None:
    scene = Scene(TurnSettings(max_turn_s=1.0, interrupted_by=InterruptedBy.NOTHING))
    scene.speech(1500)
    scene.silence(200)
    scene.transcript(FIRST, "the first half")
    assert OpenSegment(SegmentId(at(1000)), at(1000)) in scene.silence(20)


def test_rest_of_overlong_noise_is_no_turn() -> None:
    scene = Scene(TurnSettings(max_turn_s=1.0))
    scene.speech(1500)
    scene.silence(200)
    scene.transcript(FIRST, "")
    assert scene.silence(1000) == ()


def test_queued_speech_retracts_reply_to_committed_turn() -> None:
    scene = Scene(TurnSettings(has_client=True))
    speech_after_commit(scene)
    scene.transcript(FIRST, "what time")
    assert RetractReply(FIRST) in scene.silence(20)
    scene.silence(400)
    commit = commit_of(scene.transcript(last_requested(scene), "is it"))
    assert commit.text == "what time is it"


def test_queued_noise_does_not_retract_reply() -> None:
    scene = Scene(TurnSettings(has_client=True))
    scene.speech(1000)
    scene.handle(InputCommitted(at(1000)))
    scene.silence(200)
    scene.uncertain_speech(200)
    scene.silence(200)
    scene.transcript(FIRST, "what time is it")
    assert scene.silence(100) == ()


def test_commits_beyond_queue_limit_are_joined() -> None:
    scene = Scene(MANUAL)
    scene.speech(1000)
    scene.handle(InputCommitted(at(1000)))
    for _ in range(12):
        scene.silence(100)
        scene.speech(300)
        scene.silence(100)
        scene.handle(InputCommitted(at(scene.now_ms)))
    for number in range(1, 30):
        scene.transcript(ReplyId(number, 1), "one")
        scene.silence(20)
    assert sum(isinstance(effect, CommitWithoutReply) for effect in scene.effects) == 1 + MANUAL.start.max_queued_turns
