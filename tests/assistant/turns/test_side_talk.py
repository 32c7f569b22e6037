"""Tests of speech that may not interrupt a reply, and of the wake phrase during a reply."""

from dataclasses import replace

import pytest
from support.turns.turn_scene import FIRST, Scene, at, at_reply_onset, discards, words

from assistant.pipeline.transcript_requests import RecognizerRequest, SessionEffects
from assistant.turns.effects import (
    CloseSegment,
    CommitTurn,
    CommitWithoutReply,
    DropAttempt,
    EndOfTurn,
    InterruptReply,
    OpenSegment,
    PrepareReply,
    TurnDiscarded,
    TurnStarted,
)
from assistant.turns.events import (
    FinalTranscript,
    InputCleared,
    ReplyCancelled,
    ReplyEnded,
    ReplyId,
    ReplyRequested,
    TranscriptFailed,
)
from assistant.turns.settings import InterruptedBy, TurnSettings
from assistant.turns.state.states import Phase
from audio.stt import SegmentId
from audio.units import samples_of_ms


def test_overlap_is_a_turn_after_reply_if_only_client_interrupts() -> None:
    scene, _ = at_reply_onset(TurnSettings(interrupted_by=InterruptedBy.CLIENT, has_client=True))
    began = scene.now_ms
    assert [type(effect) for effect in scene.speech(200)] == [OpenSegment]
    assert scene.speech(200) == (TurnStarted(2, at(began)),), "the client decides whether to interrupt"
    scene.handle(ReplyEnded(at(scene.now_ms), FIRST))
    assert [type(effect) for effect in scene.silence(400)] == [RecognizerRequest, EndOfTurn]
    second = ReplyId(2, 1)
    assert scene.transcript(second, "and then")[:2] == (
        PrepareReply(second, "and then", "and then"),
        CommitTurn(second, "and then", "and then", at(began + 400)),
    )


DEFERRING = TurnSettings(interrupted_by=InterruptedBy.CLIENT, has_client=True)


def deferred_overlap(settings: TurnSettings = DEFERRING, text: str = "and then") -> tuple[Scene, SessionEffects]:
    """Runs an overlap that may not interrupt, up to its transcript. Returns the effects of the transcript."""
    scene, _ = at_reply_onset(DEFERRING)
    scene.turns.settings = settings
    scene.speech(400)
    scene.effects.clear()
    assert scene.silence(380) == ()
    assert scene.silence(20) == (
        RecognizerRequest(ReplyId(2, 1), SegmentId(at(scene.now_ms - 1100)), at(scene.now_ms - 400)),
    )
    return scene, scene.transcript(ReplyId(2, 1), text)


def test_deferred_overlap_is_recorded_when_it_ends() -> None:
    scene, effects = deferred_overlap()
    end = at(scene.now_ms - 400)
    assert effects == (
        CommitWithoutReply(2, "and then", "and then", end),
        CloseSegment(SegmentId(end - samples_of_ms(700)), 2),
    )
    assert scene.turns.phase is Phase.REPLYING
    third = ReplyId(3, 1)
    assert scene.handle(ReplyEnded(at(scene.now_ms), FIRST)) == (
        PrepareReply(third, ""),
        CommitTurn(third, "", "", None, origin="requested"),
    )
    assert scene.silence(2000) == ()


def test_deferred_overlap_is_not_answered_without_auto_reply() -> None:
    scene, effects = deferred_overlap(replace(DEFERRING, answers=False))
    assert isinstance(effects[0], CommitWithoutReply)
    assert scene.handle(ReplyEnded(at(scene.now_ms), FIRST)) == ()
    assert scene.silence(2000) == ()


def test_deferred_overlap_without_words_is_discarded() -> None:
    scene, effects = deferred_overlap(text="")
    assert effects[-1] == TurnDiscarded(2, at(scene.now_ms), at(scene.now_ms - 400), "no words")
    assert scene.handle(ReplyEnded(at(scene.now_ms), FIRST)) == ()


def test_deferred_overlap_is_answered_after_cancelled_reply() -> None:
    scene, _ = deferred_overlap()
    assert scene.handle(ReplyCancelled(at(scene.now_ms))) == (InterruptReply(FIRST, "client"),)
    assert [type(effect) for effect in scene.silence(20)] == [PrepareReply, CommitTurn]


def test_two_deferred_overlaps_get_one_reply() -> None:
    scene, _ = deferred_overlap()
    scene.speech(400)
    scene.silence(400)
    assert isinstance(scene.transcript(ReplyId(3, 1), "more")[0], CommitWithoutReply)
    assert [type(effect) for effect in scene.handle(ReplyEnded(at(scene.now_ms), FIRST))] == [PrepareReply, CommitTurn]
    assert scene.silence(2000) == ()


@pytest.mark.parametrize("text", ["more", ""], ids=["with words", "without words"])
def test_speech_at_end_of_reply_and_deferred_overlap_are_answered_together(text: str) -> None:
    scene, _ = deferred_overlap()
    scene.speech(400)
    assert scene.handle(ReplyEnded(at(scene.now_ms), FIRST)) == ()
    scene.silence(400)
    effects = scene.transcript(ReplyId(3, 1), text)
    assert [type(effect) for effect in effects] == [PrepareReply, CommitTurn, CloseSegment]
    assert not discards(effects[-1])
    assert effects[0] == PrepareReply(ReplyId(3, 1), text, text)


def test_failed_transcript_of_deferred_overlap_is_apologized_for_later() -> None:
    scene, _ = at_reply_onset(DEFERRING)
    scene.speech(400)
    scene.silence(400)
    segment = SegmentId(at(scene.now_ms - 1100))
    assert scene.handle(TranscriptFailed(at(scene.now_ms), ReplyId(2, 1), segment)) == ()
    assert scene.handle(ReplyEnded(at(scene.now_ms), FIRST)) == (PrepareReply(ReplyId(2, 1), "", transcript_lost=True),)
    assert isinstance(scene.silence(20)[-2], CommitTurn)


BY_NAME = TurnSettings(interrupted_by=InterruptedBy.WAKE_PHRASE)


SECOND = ReplyId(2, 1)


def pending_side_talk() -> Scene:
    """Runs an overlap from 1.8 s to 3 s with a short pause, up to the request for its transcript."""
    scene, _ = at_reply_onset(BY_NAME)
    scene.effects.clear()
    scene.speech(400)
    scene.silence(200)
    scene.speech(600)
    scene.silence(380)
    assert [type(effect) for effect in scene.effects] == [OpenSegment], (
        "a short pause does not end it, and the reply is not ducked"
    )
    assert scene.silence(20) == (TurnStarted(2, at(1800)), RecognizerRequest(SECOND, SegmentId(at(1500)), at(3000)))
    assert scene.silence(200) == ()
    return scene


def test_addressed_side_talk_interrupts_when_transcript_arrives() -> None:
    scene = pending_side_talk()
    assert scene.transcript(SECOND, "stop") == (
        InterruptReply(FIRST),
        PrepareReply(SECOND, "stop", "stop"),
    )
    assert scene.silence(20) == (
        EndOfTurn(2),
        CommitTurn(SECOND, "stop", "stop", at(3000)),
        CloseSegment(SegmentId(at(1500)), 2),
    )


def test_overheard_side_talk_does_not_interrupt() -> None:
    scene = pending_side_talk()
    assert scene.handle(FinalTranscript(at(scene.now_ms), SECOND, words(""), "overheard")) == (
        DropAttempt(SECOND, "overheard"),
        CloseSegment(SegmentId(at(1500)), 2, used=False),
        TurnDiscarded(2, at(scene.now_ms), at(3000), "overheard"),
    )
    assert scene.phase() is Phase.REPLYING
    assert scene.speech(20) == (OpenSegment(SegmentId(at(3300)), at(3600)),)


def test_wake_phrase_alone_interrupts() -> None:
    scene = pending_side_talk()
    called = FinalTranscript(at(scene.now_ms), SECOND, words(""), "called")
    assert scene.handle(called) == (InterruptReply(FIRST),)
    assert scene.silence(20)[-1] == TurnDiscarded(2, at(scene.now_ms), at(3000), "called")


def test_continued_side_talk_is_transcribed_again() -> None:
    scene = pending_side_talk()
    assert scene.speech(20) == (DropAttempt(SECOND, "went on"),)
    assert scene.transcript(SECOND, "stop") == ()
    assert scene.silence(400)[-1] == RecognizerRequest(ReplyId(2, 2), SegmentId(at(1500)), at(3620))
    assert scene.transcript(ReplyId(2, 2), "stop it")[0] == InterruptReply(FIRST)


@pytest.mark.parametrize("goes_on", [False, True], ids=["ended", "continuing"])
def test_pending_side_talk_becomes_turn_when_reply_ends(*, goes_on: bool) -> None:
    scene = pending_side_talk()
    if goes_on:
        scene.speech(20)
    assert scene.handle(ReplyEnded(at(scene.now_ms), FIRST)) == ()
    scene.silence(400)
    asked = ReplyId(2, 2) if goes_on else SECOND
    assert PrepareReply(asked, "stop", "stop") in scene.transcript(asked, "stop")


@pytest.mark.parametrize("event", [ReplyRequested(at(0), "requested"), InputCleared(at(0))], ids=["request", "clear"])
def test_pending_side_talk_is_dropped_with_reply(event: ReplyRequested | InputCleared) -> None:
    scene = pending_side_talk()
    now, why = at(scene.now_ms), "requested" if isinstance(event, ReplyRequested) else "cleared"
    assert scene.handle(replace(event, position=now))[:3] == (
        DropAttempt(SECOND, why),  # type: ignore[arg-type]
        CloseSegment(SegmentId(at(1500)), 2, used=False),
        TurnDiscarded(2, now, at(3000), why),  # type: ignore[arg-type]
    )
    assert scene.transcript(SECOND, "stop") == ()


def test_clear_discards_deferred_overlap() -> None:
    scene, _ = at_reply_onset(TurnSettings(interrupted_by=InterruptedBy.CLIENT, has_client=True))
    began = scene.now_ms
    scene.speech(400)
    end = at(scene.now_ms)
    assert scene.handle(InputCleared(end)) == (
        CloseSegment(SegmentId(at(began - 300)), 1, used=False),
        TurnDiscarded(2, end, end, "cleared"),
    )
    assert scene.turns.phase is Phase.REPLYING


def test_new_onset_interrupts_once_reply_is_interruptible() -> None:
    scene, _ = at_reply_onset(TurnSettings(interrupted_by=InterruptedBy.CLIENT, has_client=True))
    scene.speech(400)
    scene.silence(400)
    scene.turns.settings = TurnSettings(has_client=True)
    assert InterruptReply(FIRST) in scene.speech(400)
    assert [type(effect) for effect in scene.silence(400)] == [RecognizerRequest, EndOfTurn]
