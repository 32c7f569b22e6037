"""Tests of modes in which the client or a key ends turns, requests replies or interrupts."""

from collections.abc import Callable

import pytest
from support.turns.turn_scene import (
    FIRST,
    Scene,
    announcement_count,
    at,
    at_reply_onset,
    discards,
    last_requested,
    unheard_announcement,
)

from assistant.pipeline.transcript_requests import RecognizerRequest
from assistant.turns.effects import (
    CloseSegment,
    CommitTurn,
    CommitWithoutReply,
    DropAttempt,
    EndOfTurn,
    EndSegment,
    InterruptReply,
    OpenSegment,
    PrepareReply,
    TurnDiscarded,
    TurnStarted,
    UnduckReply,
)
from assistant.turns.events import (
    InputCleared,
    InputCommitted,
    KeyPressed,
    ReplyCancelled,
    ReplyEnded,
    ReplyId,
    ReplyRequested,
    ReportedEvent,
    TranscriptFailed,
)
from assistant.turns.settings import EndsTurn, InterruptedBy, RecheckThresholds, TurnSettings
from assistant.turns.state.states import Phase
from audio.stt import SegmentId
from audio.units import Samples


def test_manual_turn_ends_only_when_committed() -> None:
    scene = Scene(TurnSettings(ends_turn=EndsTurn.CLIENT))
    scene.speech(500)
    assert scene.silence(3000) == ()
    assert scene.handle(InputCommitted(at(scene.now_ms))) == (
        EndSegment(SegmentId(0), at(scene.now_ms)),
        RecognizerRequest(FIRST, SegmentId(0), at(500)),
        EndOfTurn(1),
    )
    assert scene.transcript(FIRST, "hello") == (
        CommitWithoutReply(1, "hello", "hello", at(500)),
        CloseSegment(SegmentId(0), 1),
    )
    assert scene.phase() is Phase.IDLE


def test_commit_during_speech_makes_two_turns() -> None:
    scene = Scene(TurnSettings(ends_turn=EndsTurn.CLIENT))
    scene.speech(1000)
    scene.handle(InputCommitted(at(1000)))
    scene.transcript(FIRST, "the first half")
    scene.effects.clear()
    scene.speech(1000)
    segment = SegmentId(at(1000))
    assert scene.effects == [OpenSegment(segment, at(1000)), TurnStarted(2, at(1000))]
    scene.silence(100)
    assert scene.handle(InputCommitted(at(scene.now_ms)))[1] == RecognizerRequest(ReplyId(2, 1), segment, at(2000))


def test_speech_after_commit_is_a_turn_after_the_reply() -> None:
    scene = Scene(TurnSettings(ends_turn=EndsTurn.CLIENT))
    scene.speech(1000)
    scene.handle(InputCommitted(at(1000)))
    scene.handle(ReplyRequested(at(1000), "requested"))
    scene.transcript(FIRST, "the first half")
    scene.speech(1000)
    scene.silence(100)
    assert scene.handle(ReplyEnded(at(scene.now_ms), FIRST)) == (TurnStarted(2, at(1000)),)


def test_short_rest_after_commit_is_no_turn() -> None:
    scene = Scene(TurnSettings(ends_turn=EndsTurn.CLIENT))
    scene.speech(1000)
    scene.handle(InputCommitted(at(1000)))
    scene.transcript(FIRST, "all of it")
    scene.effects.clear()
    scene.speech(240)
    scene.silence(500)
    assert scene.effects == []
    assert scene.phase() is Phase.IDLE


@pytest.mark.parametrize(
    "settings",
    [TurnSettings(ends_turn=EndsTurn.CLIENT), TurnSettings(interrupted_by=InterruptedBy.NOTHING)],
    ids=["manual", "uninterruptible"],
)
def test_overlap_is_kept_when_reply_is_cancelled(settings: TurnSettings) -> None:
    scene = Scene(settings)
    scene.handle(ReplyRequested(at(0), "requested"))
    scene.speech(7000)
    assert scene.handle(ReplyCancelled(at(7000))) == (InterruptReply(FIRST, "client"), TurnStarted(2, at(0)))


def test_request_while_transcript_is_pending_answers_it() -> None:
    scene = Scene(TurnSettings(ends_turn=EndsTurn.CLIENT))
    scene.speech(500)
    scene.handle(InputCommitted(at(500)))
    assert scene.handle(ReplyRequested(at(500), "requested")) == ()
    assert scene.transcript(FIRST, "hello") == (
        PrepareReply(FIRST, "hello", "hello"),
        CommitTurn(FIRST, "hello", "hello", at(500), submitted=True),
        CloseSegment(SegmentId(0), 1),
    )


def test_cancelled_request_while_transcript_is_pending_is_not_answered() -> None:
    scene = Scene(TurnSettings(ends_turn=EndsTurn.CLIENT))
    scene.speech(500)
    scene.handle(InputCommitted(at(500)))
    scene.handle(ReplyRequested(at(500), "requested"))
    assert scene.handle(ReplyCancelled(at(500))) == (), "this cancels active replies only"
    assert scene.turns.pending_turn_has_reply_request
    assert scene.handle(ReplyCancelled(at(500), including_request=True)) == ()
    assert not scene.turns.pending_turn_has_reply_request
    assert scene.transcript(FIRST, "hello")[0] == CommitWithoutReply(1, "hello", "hello", at(500))


def test_cancelled_request_drops_prepared_attempt() -> None:
    """The transcript is requested once more, since it may have changed."""
    scene = Scene(
        TurnSettings(answers=False, speculate_after_ms=40, rechecks=RecheckThresholds(settle_ms=160), hangover_ms=100)
    )
    scene.speech(500)
    scene.silence(60)
    scene.transcript(FIRST, "hello")
    scene.silence(100)
    assert scene.turns.phase is Phase.AWAITING_TRANSCRIPT, "a recheck is pending"
    assert scene.handle(ReplyRequested(at(660), "requested"))[0] == PrepareReply(FIRST, "hello", "hello")
    effects = scene.handle(ReplyCancelled(at(660), including_request=True))
    third = ReplyId(1, 3)
    assert effects == (
        DropAttempt(FIRST, "cleared"),
        DropAttempt(ReplyId(1, 2), "cleared"),
        RecognizerRequest(third, SegmentId(0), at(500)),
    )
    assert scene.transcript(third, "hello")[0] == CommitWithoutReply(1, "hello", "hello", at(500))


def test_committed_silence_is_discarded() -> None:
    scene = Scene(TurnSettings(ends_turn=EndsTurn.CLIENT))
    scene.silence(500)
    assert scene.handle(InputCommitted(at(500))) == (TurnDiscarded(1, at(500), at(500), "no words", submitted=True),)


@pytest.mark.parametrize("lost", [False, True], ids=["empty transcript", "failed transcript"])
def test_committed_speech_is_discarded_unless_transcript_failed(*, lost: bool) -> None:
    scene = Scene(TurnSettings(ends_turn=EndsTurn.CLIENT))
    scene.speech(500)
    scene.handle(InputCommitted(at(500)))
    if lost:
        effects = scene.handle(TranscriptFailed(at(500), FIRST, SegmentId(0)))
        assert effects == (CommitWithoutReply(1, "", "", at(500)), CloseSegment(SegmentId(0), 1))
    else:
        assert scene.transcript(FIRST, "")[-1] == TurnDiscarded(1, at(500), at(500), "no words", submitted=True)


def test_overlap_can_be_committed_in_manual_mode() -> None:
    scene = Scene(TurnSettings(ends_turn=EndsTurn.CLIENT))
    scene.handle(ReplyRequested(at(0), "requested"))
    scene.speech(500)
    second = ReplyId(2, 1)
    assert scene.handle(InputCommitted(at(500))) == (
        InterruptReply(FIRST, "client"),
        TurnStarted(2, at(0)),
        EndSegment(SegmentId(0), at(500)),
        RecognizerRequest(second, SegmentId(0), at(500)),
        EndOfTurn(2),
    )


def test_turn_is_recorded_without_auto_reply() -> None:
    scene = Scene(TurnSettings(answers=False))
    scene.speech(500)
    scene.silence(400)
    assert scene.transcript(FIRST, "hello")[0] == CommitWithoutReply(1, "hello", "hello", at(500))
    scene.handle(ReplyRequested(at(1000), "requested"))
    assert scene.turns.phase is Phase.REPLYING


def test_uninterruptible_reply_continues_during_speech() -> None:
    scene, _ = at_reply_onset(TurnSettings(interrupted_by=InterruptedBy.NOTHING))
    assert [type(effect) for effect in scene.speech(2000)] == [OpenSegment]
    assert [discards(effect) for effect in scene.silence(200)] == [True]
    assert scene.turns.phase is Phase.REPLYING


@pytest.mark.parametrize(
    "changed",
    [
        TurnSettings(ends_turn=EndsTurn.CLIENT),
        TurnSettings(interrupted_by=InterruptedBy.NOTHING),
        TurnSettings(ends_turn=EndsTurn.PUSH_TO_TALK),
    ],
    ids=["manual", "uninterruptible", "push-to-talk"],
)
def test_reply_is_unducked_when_it_becomes_uninterruptible(changed: TurnSettings) -> None:
    scene, reply_id = at_reply_onset()
    scene.speech(100)
    scene.turns.settings = changed
    assert scene.speech(20) == (UnduckReply(reply_id),)
    assert scene.speech(2000) == ()


@pytest.mark.parametrize("cut", [InputCleared, InputCommitted], ids=["clear", "commit"])
def test_speech_after_cut_is_a_turn_when_silence_ends_turns(cut: Callable[[Samples], ReportedEvent]) -> None:
    scene = Scene(TurnSettings(has_client=True))
    scene.speech(1000)
    scene.handle(cut(at(1000)))
    if cut is InputCommitted:
        scene.transcript(FIRST, "")
    scene.effects.clear()
    scene.speech(1000)
    assert scene.effects == [OpenSegment(SegmentId(at(1000)), at(1000)), TurnStarted(2, at(1000))]
    assert [type(effect) for effect in scene.silence(400)] == [RecognizerRequest, EndOfTurn]


def test_overlong_speech_without_words_starts_no_second_turn() -> None:
    scene = Scene(TurnSettings(has_client=True, max_turn_s=1.0))
    scene.speech(1000)
    scene.transcript(FIRST, "")
    scene.effects.clear()
    scene.speech(2000)
    assert scene.effects == []


def test_turn_is_not_answered_after_switch_to_manual() -> None:
    scene = Scene(TurnSettings(speculate_after_ms=100, has_client=True))
    scene.speech(500)
    scene.silence(120)
    scene.transcript(FIRST, "hello")
    scene.turns.settings = TurnSettings(ends_turn=EndsTurn.CLIENT, has_client=True)
    assert scene.silence(20) == (DropAttempt(FIRST, "went on"),)
    scene.handle(InputCommitted(at(scene.now_ms)))
    assert scene.transcript(ReplyId(1, 2), "hello")[0] == CommitWithoutReply(1, "hello", "hello", at(500))


def test_turn_is_answered_after_switch_from_manual() -> None:
    scene = Scene(TurnSettings(ends_turn=EndsTurn.CLIENT, has_client=True))
    scene.speech(500)
    scene.turns.settings = TurnSettings(has_client=True)
    assert [type(effect) for effect in scene.silence(400)] == [RecognizerRequest, EndOfTurn]
    assert scene.transcript(FIRST, "hello")[1] == CommitTurn(FIRST, "hello", "hello", at(500))


def test_clear_discards_turn() -> None:
    scene = Scene()
    scene.speech(500)
    assert scene.handle(InputCleared(at(500))) == (
        CloseSegment(SegmentId(0), 1, used=False),
        TurnDiscarded(1, at(500), at(500), "cleared"),
    )
    assert scene.speech(300) == (), "the same speech starts no other turn"


def test_client_cancels_reply() -> None:
    scene = Scene()
    assert scene.handle(ReplyCancelled(at(0))) == ()
    reply_id = scene.commit_reply(words_heard=3, audible=True)
    assert scene.handle(ReplyCancelled(at(scene.now_ms))) == (InterruptReply(reply_id, "client"),)
    assert scene.phase() is Phase.IDLE


PUSH_TO_TALK = TurnSettings(ends_turn=EndsTurn.PUSH_TO_TALK, speculate_after_ms=60, max_turn_s=5)


def test_forgotten_key_ends_turn_at_maximum_length() -> None:
    scene = Scene(PUSH_TO_TALK)
    scene.handle(KeyPressed(at(0)))
    scene.speech(800)
    scene.silence(60)
    scene.transcript(FIRST, "what time is it")
    assert EndOfTurn(1) not in scene.silence(4120)
    assert CommitTurn(FIRST, "what time is it", "what time is it", at(800)) in scene.silence(20)


def test_key_that_is_pressed_again_in_a_turn_delays_announcements_anew() -> None:
    scene = Scene(PUSH_TO_TALK)
    scene.handle(KeyPressed(at(0)))
    scene.speech(800)
    scene.handle(KeyPressed(at(800)))
    scene.handle(ReplyRequested(at(800), "announcement", "Your timer is done."))
    scene.silence(4200)
    scene.transcript(last_requested(scene), "")
    assert scene.phase() is Phase.IDLE
    scene.silence(780)
    assert announcement_count(scene) == 0
    scene.silence(20)
    assert announcement_count(scene) == 1, "5 s after the second press"


def test_announcement_waits_while_key_is_down() -> None:
    scene = Scene(PUSH_TO_TALK)
    scene.handle(KeyPressed(at(0)))
    scene.handle(ReplyRequested(at(0), "announcement", "Your timer is done."))
    ring = PrepareReply(FIRST, "Your timer is done.", text_is_reply=True)
    assert scene.silence(4980) == ()
    assert ring in scene.silence(20), "a forgotten key does not delay it further"
    fresh = Scene(PUSH_TO_TALK)
    fresh.handle(KeyPressed(at(0)))
    fresh.handle(ReplyRequested(at(0), "announcement", "Your timer is done."))
    fresh.silence(1000)
    fresh.handle(InputCommitted(at(1000)))
    assert ring in fresh.silence(20)


@pytest.mark.parametrize(("words_heard", "again"), [(0, 2), (1, 1)], ids=["unheard", "heard"])
def test_announcement_interrupted_by_key_is_repeated_if_unheard(words_heard: int, again: int) -> None:
    scene = unheard_announcement(PUSH_TO_TALK)
    scene.progress(FIRST, words_heard)
    scene.handle(KeyPressed(at(scene.now_ms)))
    scene.speech(800)
    scene.silence(100)
    scene.handle(InputCommitted(at(scene.now_ms)))
    scene.transcript(ReplyId(2, 1), "hello")
    scene.handle(ReplyEnded(at(scene.now_ms), ReplyId(2, 1)))
    scene.silence(20)
    assert announcement_count(scene) == again
