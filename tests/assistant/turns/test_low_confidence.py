"""Tests of low-confidence transcripts: noise, or words to answer."""

from dataclasses import replace

import pytest
from support.turns.turn_scene import (
    FIRST,
    Scene,
    at,
    commit_of,
    during_reply,
    last_requested,
    low_confidence_transcript,
    words,
)

from assistant.pipeline.transcript_requests import RecognizerRequest
from assistant.turns.effects import (
    CloseSegment,
    CommitTurn,
    CommitWithoutReply,
    DropAttempt,
    OpenSegment,
    PrepareReply,
    RequestTranscript,
    TurnDiscarded,
    TurnStarted,
)
from assistant.turns.events import (
    FinalTranscript,
    FrameProcessed,
    InputCommitted,
    InterimTranscript,
    ReplyId,
    ReplyRequested,
)
from assistant.turns.settings import EndsTurn, InterruptedBy, RecheckThresholds, TurnSettings
from assistant.turns.state.states import Phase
from audio.stt import SegmentId
from audio.vad import VadResult


def test_turn_with_one_confident_transcript_is_not_noise() -> None:
    scene, _ = during_reply()
    scene.uncertain_speech(160, 0.6)
    scene.requested_transcript("Quit.", scene.silence(160))
    [asking] = [effect for effect in scene.silence(500) if isinstance(effect, RecognizerRequest)]
    told = FinalTranscript(
        at(scene.now_ms), asking.reply_id, replace(words("quit", asking.segment), low_confidence=True)
    )
    assert commit_of(scene.handle(told)), "not noise"


def test_low_confidence_wake_phrase_begins_turn() -> None:
    scene = Scene()
    scene.silence(1000)
    scene.uncertain_speech(200, 0.6)
    [wanted] = [effect for effect in scene.silence(160) if isinstance(effect, RequestTranscript)]
    heard = replace(words("computer", wanted.segment), low_confidence=True)
    assert scene.handle(InterimTranscript(at(scene.now_ms), heard, has_wake_phrase=True, was_requested=True)) == (
        TurnStarted(1, at(1000)),
    )
    scene.silence(400)
    told = FinalTranscript(at(scene.now_ms), FIRST, replace(words("what time", wanted.segment), low_confidence=True))
    assert commit_of(scene.handle(told)), "not noise"


def test_low_confidence_transcript_of_uncertain_speech_is_noise() -> None:
    scene = Scene()
    scene.uncertain_speech(600, 0.74)
    scene.silence(400)
    assert low_confidence_transcript(scene, FIRST) == (
        DropAttempt(FIRST, "noise"),
        CloseSegment(SegmentId(0), 1, used=False),
        TurnDiscarded(1, at(1000), at(600), "noise"),
    )
    assert not [effect for effect in scene.effects if isinstance(effect, PrepareReply)]
    assert scene.phase() is Phase.IDLE


def test_low_confidence_transcript_with_one_certain_frame_is_answered() -> None:
    scene = Scene()
    scene.uncertain_speech(140, 0.6)
    scene.uncertain_speech(20, 0.76)
    scene.uncertain_speech(140, 0.6)
    scene.silence(400)
    assert commit_of(low_confidence_transcript(scene, FIRST))


@pytest.mark.parametrize(
    "settings",
    [TurnSettings(has_client=True, ends_turn=EndsTurn.CLIENT), TurnSettings(ends_turn=EndsTurn.PUSH_TO_TALK)],
    ids=["manual", "push-to-talk"],
)
def test_low_confidence_transcript_is_kept_in_manual_modes(settings: TurnSettings) -> None:
    scene = Scene(settings)
    scene.uncertain_speech(600)
    scene.silence(100)
    asked = [effect.reply_id for effect in scene.effects if isinstance(effect, RecognizerRequest)]
    for reply_id in asked:
        low_confidence_transcript(scene, reply_id)
    told = scene.handle(InputCommitted(at(scene.now_ms)))
    asked = [effect.reply_id for effect in told if isinstance(effect, RecognizerRequest)]
    for reply_id in asked:
        low_confidence_transcript(scene, reply_id)
    assert [effect.text for effect in scene.effects if isinstance(effect, CommitTurn | CommitWithoutReply)] == ["the"]


def test_low_confidence_words_join_the_retracted_turn() -> None:
    scene = Scene()
    scene.commit_reply("set the volume to")
    scene.uncertain_speech(300, 0.72)
    scene.silence(600)
    commit = commit_of(low_confidence_transcript(scene, last_requested(scene), "fifty"))
    assert (commit.text, commit.low_confidence) == ("set the volume to fifty", True)


def test_low_confidence_recheck_confirms_same_words() -> None:
    scene = Scene(TurnSettings(hangover_ms=400, speculate_after_ms=40, rechecks=RecheckThresholds(settle_ms=100)))
    scene.uncertain_speech(600, 0.72)
    scene.silence(60)
    scene.transcript(last_requested(scene), "what time is it")
    scene.silence(60)
    assert low_confidence_transcript(scene, last_requested(scene), "what time is it") == (
        DropAttempt(ReplyId(1, 2), "same words"),
    )
    assert commit_of(scene.silence(400))


@pytest.mark.parametrize("guesses", [(True, False), (False, True)], ids=["second is confident", "first is confident"])
def test_one_confident_transcript_of_two_is_enough(guesses: tuple[bool, bool]) -> None:
    scene = Scene(TurnSettings(hangover_ms=400, speculate_after_ms=40, rechecks=RecheckThresholds(settle_ms=100)))
    scene.speech(300)
    scene.silence(60)
    for rough in guesses:
        heard = replace(words("what time is it"), low_confidence=rough)
        scene.handle(FinalTranscript(at(scene.now_ms), last_requested(scene), heard))
        scene.silence(60)
    commit = commit_of(scene.silence(400))
    assert not commit.low_confidence


def test_confident_recheck_replaces_noise() -> None:
    scene = Scene(TurnSettings(hangover_ms=400, speculate_after_ms=40, rechecks=RecheckThresholds(settle_ms=100)))
    scene.uncertain_speech(600, 0.72)
    scene.silence(60)
    low_confidence_transcript(scene, last_requested(scene), "stock")
    scene.silence(60)
    scene.transcript(last_requested(scene), "stop")
    commit = commit_of(scene.silence(400))
    assert commit.text == "stop"


def test_low_confidence_recheck_of_uncertain_speech_stays_noise() -> None:
    scene = Scene(TurnSettings(hangover_ms=400, speculate_after_ms=40, rechecks=RecheckThresholds(settle_ms=100)))
    scene.uncertain_speech(600, 0.72)
    scene.silence(60)
    low_confidence_transcript(scene, last_requested(scene), "the")
    scene.silence(60)
    assert low_confidence_transcript(scene, last_requested(scene), "they") == (
        DropAttempt(ReplyId(1, 2), "same words"),
    )
    assert [effect.reason for effect in scene.silence(400) if isinstance(effect, TurnDiscarded)] == ["noise"]
    assert not [effect for effect in scene.effects if isinstance(effect, PrepareReply)]


@pytest.mark.parametrize("answers", [True, False], ids=["commit", "request"])
def test_low_confidence_transcript_is_answered_on_request(answers: bool) -> None:
    scene = Scene(TurnSettings(has_client=True, answers=answers))
    scene.uncertain_speech(600, 0.7)
    scene.silence(400)
    assert scene.phase() is Phase.AWAITING_TRANSCRIPT
    scene.handle(InputCommitted(at(scene.now_ms)) if answers else ReplyRequested(at(scene.now_ms), "requested", ""))
    commit = commit_of(low_confidence_transcript(scene, last_requested(scene), "fifty"))
    assert commit.text == "fifty"


def test_low_confidence_transcript_is_recorded_without_auto_reply() -> None:
    scene = Scene(TurnSettings(has_client=True, answers=False))
    scene.uncertain_speech(600, 0.7)
    scene.silence(400)
    assert [
        effect.text
        for effect in low_confidence_transcript(scene, last_requested(scene))
        if isinstance(effect, CommitWithoutReply)
    ] == ["the"]


@pytest.mark.parametrize("during_a_reply", [True, False], ids=["during a reply", "without a reply"])
def test_wake_phrase_makes_low_confidence_transcript_valid(during_a_reply: bool) -> None:
    scene = Scene(TurnSettings(interrupted_by=InterruptedBy.WAKE_PHRASE))
    if during_a_reply:
        scene.commit_reply(words_heard=3, audible=True)
        scene.silence(1000)
    scene.uncertain_speech(600, 0.7)
    segment = next(effect.segment for effect in reversed(scene.effects) if isinstance(effect, OpenSegment))
    scene.handle(
        InterimTranscript(at(scene.now_ms), replace(words("stop", segment), low_confidence=True), has_wake_phrase=True)
    )
    scene.silence(400)
    commit = commit_of(low_confidence_transcript(scene, last_requested(scene), "stop"))
    assert commit.text == "stop"


def test_addressed_side_talk_is_not_noise_when_it_continues() -> None:
    scene, _ = during_reply(TurnSettings(interrupted_by=InterruptedBy.WAKE_PHRASE))
    scene.uncertain_speech(600, 0.7)
    scene.silence(400)
    low_confidence_transcript(scene, last_requested(scene), "what time")
    scene.uncertain_speech(300, 0.7)
    scene.silence(600)
    commit = commit_of(low_confidence_transcript(scene, last_requested(scene), "what time is it"))
    assert commit.text == "what time is it"


def test_silent_frames_do_not_raise_certainty() -> None:
    """The trace only keeps the probability of speech, and a replay must make the same decisions."""
    scene = Scene()
    scene.uncertain_speech(600, 0.6)
    scene.handle(FrameProcessed(at(620), VadResult(False, at(600), 1.0)))
    scene.now_ms, scene.speaking, scene.edge_ms = 620, False, 600
    scene.silence(400)
    assert TurnDiscarded(1, at(1020), at(600), "noise") in low_confidence_transcript(scene, FIRST)


@pytest.mark.parametrize("words_heard", [0, 2], ids=["unheard reply", "partly heard reply"])
def test_certainty_of_overlap_counts_for_the_turn(words_heard: int) -> None:
    scene = Scene()
    scene.commit_reply(words_heard=words_heard, audible=True)
    scene.silence(1000)
    while scene.phase() is Phase.REPLYING:
        scene.speech(20)
    scene.uncertain_speech(100)
    scene.silence(600)
    asked = next(effect.reply_id for effect in reversed(scene.effects) if isinstance(effect, RecognizerRequest))
    commit = commit_of(low_confidence_transcript(scene, asked))
    assert commit.new_text == "the"
