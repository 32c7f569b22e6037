"""Tests of the recognizer's adapter: when a transcript is requested, and when it is requested again."""

from collections.abc import Callable
from dataclasses import replace

from support.turns.turn_scene import FIRST, SLOW_TO_SETTLE, Scene, at, at_reply_onset, draft_transcript, words

from assistant.pipeline.transcript_requests import RecognizerRequest, SessionEffect
from assistant.turns.effects import (
    CloseSegment,
    CommitTurn,
    DropAttempt,
    EndOfTurn,
    InterruptReply,
    PrepareReply,
    TurnDiscarded,
)
from assistant.turns.events import (
    FinalTranscript,
    FrameProcessed,
    InputCommitted,
    ReplyId,
    ReportedEvent,
    TranscriptFailed,
)
from assistant.turns.settings import EndsTurn, InterruptedBy, RecheckThresholds, TurnSettings
from assistant.turns.state.states import Phase
from audio.stt import SegmentId
from audio.vad import VadResult

EARLY = TurnSettings(hangover_ms=400, speculate_after_ms=40, rechecks=RecheckThresholds(settle_ms=60))


def test_attempt_starts_at_possible_end() -> None:
    scene = Scene(EARLY)
    scene.speech(800)
    assert scene.possible_end(60) == (RecognizerRequest(FIRST, SegmentId(0), at(800), early=True, draft=True),)
    assert scene.transcript(FIRST, "hello") == (
        PrepareReply(FIRST, "hello", "hello"),
        RecognizerRequest(ReplyId(1, 2), SegmentId(0), at(800)),
    )


def test_early_transcript_after_settle_time_is_rechecked_at_once() -> None:
    scene = Scene(EARLY)
    scene.speech(800)
    scene.possible_end(40)
    scene.silence(40)
    again = ReplyId(1, 2)
    assert scene.transcript(FIRST, "turn on the") == (
        PrepareReply(FIRST, "turn on the", "turn on the"),
        RecognizerRequest(again, SegmentId(0), at(800)),
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
        RecognizerRequest(settled, SegmentId(0), at(800)),
    )


def test_early_transcript_is_rechecked() -> None:
    scene = Scene(EARLY)
    scene.speech(800)
    scene.possible_end(40)
    scene.transcript(FIRST, "turn on the")
    again = ReplyId(1, 2)
    assert scene.silence(20) == (RecognizerRequest(again, SegmentId(0), at(800)),)
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
    scene = Scene(TurnSettings(hangover_ms=60, speculate_after_ms=40, rechecks=RecheckThresholds(settle_ms=60)))
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
    assert scene.silence(20) == (RecognizerRequest(ReplyId(1, 2), SegmentId(0), at(800), early=True),)
    scene.transcript(ReplyId(1, 2), "turn on the lamp")
    for later, early in ((ReplyId(1, 3), True), (ReplyId(1, 4), False)):
        assert scene.silence(20) == ()
        assert scene.silence(20) == (RecognizerRequest(later, SegmentId(0), at(800), early=early),)
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
        RecognizerRequest(third, SegmentId(0), at(800), early=False),
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


def test_draft_is_rechecked_at_once() -> None:
    scene = Scene(SLOW_TO_SETTLE)
    again = ReplyId(1, 2)
    assert draft_transcript(scene, "turn on the lamp") == (
        PrepareReply(FIRST, "turn on the lamp", "turn on the lamp"),
        RecognizerRequest(again, SegmentId(0), at(800), early=True),
    )
    assert scene.silence(100) == (), "the recheck is pending"
    assert scene.transcript(again, "Turn on the lamp.") == (DropAttempt(again, "same words"),)
    settled = ReplyId(1, 3)
    assert scene.silence(20) == (RecognizerRequest(settled, SegmentId(0), at(800)),)
    assert scene.transcript(settled, "Turn on the lamp.") == (DropAttempt(settled, "same words"),)
    assert CommitTurn(FIRST, "turn on the lamp", "turn on the lamp", at(800)) in scene.silence(140)


def test_draft_with_other_words_is_dropped() -> None:
    scene = Scene(SLOW_TO_SETTLE)
    draft_transcript(scene, "turn on the")
    again = ReplyId(1, 2)
    assert scene.transcript(again, "Turn on the lamp.") == (
        DropAttempt(FIRST, "other words"),
        PrepareReply(again, "Turn on the lamp.", "Turn on the lamp."),
    )


def test_draft_is_not_committed_at_end_of_turn() -> None:
    scene = Scene(replace(SLOW_TO_SETTLE, hangover_ms=100))
    draft_transcript(scene, "turn on the")
    assert scene.silence(160) == (EndOfTurn(1),)
    again, settled = ReplyId(1, 2), ReplyId(1, 3)
    assert scene.transcript(again, "turn on the")[1:] == (RecognizerRequest(settled, SegmentId(0), at(800)),)
    assert CommitTurn(settled, "turn on the lamp", "turn on the lamp", at(800)) in scene.transcript(
        settled, "turn on the lamp"
    )


def commits_with(scene: Scene, answer: Callable[[RecognizerRequest], ReportedEvent]) -> list[CommitTurn]:
    """Continues the silence, answers each request with `answer`, and returns the commits."""
    told = list[SessionEffect]()
    for _ in range(40):
        told += scene.silence(20)
        told += [
            more for effect in told if isinstance(effect, RecognizerRequest) for more in scene.handle(answer(effect))
        ]
        told = [effect for effect in told if not isinstance(effect, RecognizerRequest)]
    return [effect for effect in told if isinstance(effect, CommitTurn)]


def test_failed_transcript_after_draft_drops_draft() -> None:
    """The draft may lack a word, so it is not answered."""
    scene = Scene(SLOW_TO_SETTLE)
    draft_transcript(scene, "set a timer for twenty")
    again = ReplyId(1, 2)
    assert scene.handle(TranscriptFailed(at(scene.now_ms), again, SegmentId(0))) == (
        DropAttempt(FIRST, "other words"),
        PrepareReply(again, "", "", transcript_lost=True),
    )
    commits = commits_with(scene, lambda asked: TranscriptFailed(at(scene.now_ms), asked.reply_id, SegmentId(0)))
    assert commits == [CommitTurn(again, "", "", at(800))]


def test_confidence_is_taken_from_recheck_of_draft() -> None:
    scene = Scene(SLOW_TO_SETTLE)
    draft_transcript(scene, "turn it on")
    again = ReplyId(1, 2)
    guess = replace(words("Turn it on."), low_confidence=True)
    assert scene.handle(FinalTranscript(at(scene.now_ms), again, guess)) == (DropAttempt(again, "same words"),)
    commits = commits_with(scene, lambda asked: FinalTranscript(at(scene.now_ms), asked.reply_id, guess))
    assert commits == [CommitTurn(FIRST, "turn it on", "turn it on", at(800), low_confidence=True)]


def test_confident_draft_of_noise_is_not_answered() -> None:
    """On the shorter audio of a draft, a decoder can be wrongly confident."""
    scene = Scene(SLOW_TO_SETTLE)
    scene.uncertain_speech(800, 0.6)
    scene.possible_end(40)
    scene.handle(FinalTranscript(at(scene.now_ms), FIRST, replace(words("thank you"), is_draft=True)))
    guess = replace(words("Thank you."), low_confidence=True)
    assert scene.handle(FinalTranscript(at(scene.now_ms), ReplyId(1, 2), guess)) == (DropAttempt(FIRST, "other words"),)
    assert commits_with(scene, lambda asked: FinalTranscript(at(scene.now_ms), asked.reply_id, guess)) == []
    assert scene.phase() is Phase.IDLE


def test_draft_of_dropped_attempt_is_ignored() -> None:
    scene = Scene(SLOW_TO_SETTLE)
    scene.speech(800)
    scene.possible_end(40)
    scene.speech(20)
    assert scene.handle(FinalTranscript(at(scene.now_ms), FIRST, replace(words("turn on"), is_draft=True))) == ()


def test_no_draft_is_requested_at_end_of_turn() -> None:
    scene = Scene(TurnSettings(hangover_ms=400, speculate_after_ms=None, rechecks=RecheckThresholds(settle_ms=160)))
    scene.speech(800)
    asked = [effect for effect in scene.silence(400) if isinstance(effect, RecognizerRequest)]
    assert asked == [RecognizerRequest(FIRST, SegmentId(0), at(800))]


def test_speech_drops_attempt_and_its_recheck() -> None:
    scene = Scene(SLOW_TO_SETTLE)
    draft_transcript(scene, "turn on the")
    again = ReplyId(1, 2)
    assert scene.speech(20) == (DropAttempt(FIRST, "went on"), DropAttempt(again, "went on"))
    assert scene.transcript(again, "turn on the lamp") == (), "a late transcript"
    assert scene.possible_end(40)[-1] == RecognizerRequest(
        ReplyId(1, 3), SegmentId(0), at(860), early=True, draft=True
    ), "an id is used once"


def test_end_of_turn_before_settle_time_requests_settled_transcript() -> None:
    scene = Scene(replace(SLOW_TO_SETTLE, hangover_ms=100))
    scene.speech(800)
    scene.possible_end(40)
    scene.transcript(FIRST, "turn on the")
    scene.possible_end(40)
    again, settled = ReplyId(1, 2), ReplyId(1, 3)
    scene.transcript(again, "turn on the")
    assert scene.silence(20) == (EndOfTurn(1), RecognizerRequest(settled, SegmentId(0), at(800)))
    assert CommitTurn(settled, "turn on the lamp", "turn on the lamp", at(800)) in scene.transcript(
        settled, "turn on the lamp"
    )


def test_failed_transcript_is_committed_before_settle_time() -> None:
    scene = Scene(replace(SLOW_TO_SETTLE, hangover_ms=60))
    scene.speech(800)
    scene.possible_end(40)
    scene.handle(TranscriptFailed(at(scene.now_ms), FIRST, SegmentId(0)))
    assert scene.silence(20) == (EndOfTurn(1), CommitTurn(FIRST, "", "", at(800)), CloseSegment(SegmentId(0), 1))


def test_request_has_latest_end_of_speech() -> None:
    scene = Scene(SLOW_TO_SETTLE)
    scene.speech(800)
    scene.possible_end(40)
    scene.transcript(FIRST, "turn on the")
    scene.silence(20)
    moved = FrameProcessed(at(scene.now_ms + 20), VadResult(False, at(790), 0.0))
    assert scene.handle(moved) == (RecognizerRequest(ReplyId(1, 2), SegmentId(0), at(790), early=True),)


def test_late_transcript_that_interrupts_is_rechecked_at_once() -> None:
    scene, reply_id = at_reply_onset(TurnSettings(interrupted_by=InterruptedBy.WAKE_PHRASE))
    scene.turns.settings = replace(SLOW_TO_SETTLE, hangover_ms=100, interrupted_by=InterruptedBy.WAKE_PHRASE)
    scene.speech(400)
    scene.silence(200)
    early, settled = ReplyId(2, 1), ReplyId(2, 2)
    effects = scene.transcript(early, "stop")
    assert effects[:2] == (InterruptReply(reply_id), PrepareReply(early, "stop", "stop"))
    assert [effect.reply_id for effect in effects[2:] if isinstance(effect, RecognizerRequest)] == [settled]
    assert scene.silence(20) == (EndOfTurn(2),), "the recheck is pending"


HELD = replace(SLOW_TO_SETTLE, ends_turn=EndsTurn.PUSH_TO_TALK)


def test_release_of_key_waits_for_settled_transcript_that_was_requested() -> None:
    scene = Scene(HELD)
    scene.speech(800)
    scene.silence(160)
    settled = ReplyId(1, 2)
    assert scene.transcript(FIRST, "turn on the")[-1] == RecognizerRequest(settled, SegmentId(0), at(800))
    assert scene.handle(InputCommitted(at(scene.now_ms))) == (EndOfTurn(1),)
    assert scene.transcript(settled, "turn on the lamp")[:-1] == (
        DropAttempt(FIRST, "other words"),
        PrepareReply(settled, "turn on the lamp", "turn on the lamp"),
        CommitTurn(settled, "turn on the lamp", "turn on the lamp", at(800), submitted=True),
    )


def test_release_of_key_replaces_early_transcript() -> None:
    scene = Scene(HELD)
    scene.speech(800)
    scene.silence(40)
    assert scene.handle(InputCommitted(at(scene.now_ms))) == (
        DropAttempt(FIRST, "went on"),
        RecognizerRequest(ReplyId(1, 2), SegmentId(0), at(800)),
        EndOfTurn(1),
    )


def test_turn_of_maximum_length_is_transcribed_once() -> None:
    """The frame that ends the turn would also begin an attempt."""
    scene = Scene(replace(HELD, max_turn_s=1.0))
    scene.speech(960)
    assert scene.silence(40)[-2:] == (RecognizerRequest(FIRST, SegmentId(0), at(960)), EndOfTurn(1))


def test_failed_transcript_is_not_requested_again_at_end_of_turn() -> None:
    scene = Scene(replace(SLOW_TO_SETTLE, speculate_after_ms=None, hangover_ms=100))
    scene.speech(800)
    assert scene.silence(100)[0] == RecognizerRequest(FIRST, SegmentId(0), at(800), early=True)
    assert scene.handle(TranscriptFailed(at(scene.now_ms), FIRST, SegmentId(0)))[:2] == (
        PrepareReply(FIRST, "", "", transcript_lost=True),
        CommitTurn(FIRST, "", "", at(800)),
    )


def test_transcript_that_may_not_be_answered_is_requested_without_draft() -> None:
    scene = Scene(replace(SLOW_TO_SETTLE, answers=False))
    scene.speech(800)
    assert scene.possible_end(40) == (RecognizerRequest(FIRST, SegmentId(0), at(800), early=True),)
