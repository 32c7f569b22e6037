"""Tests of replies that resume after a false interruption or a backchannel."""

from dataclasses import replace

import pytest
from support.turns.turn_scene import (
    FIRST,
    Scene,
    at,
    at_reply_onset,
    commit_of,
    during_reply,
    has_resumed,
    interrupt_briefly,
    last_requested,
    low_confidence_transcript,
    words,
)

from assistant.pipeline.transcript_requests import SessionEffects
from assistant.turns.effects import CommitTurn, InterruptReply, PrepareReply, ResumeReply, RetractReply, TurnDiscarded
from assistant.turns.events import (
    FinalTranscript,
    InputCleared,
    PlaybackProgress,
    ReplyCancelled,
    ReplyEnded,
    ReplyId,
    ReplyRequested,
)
from assistant.turns.settings import ReplyThresholds, TurnSettings
from assistant.turns.state.states import Phase


def test_reply_resumes_after_noise() -> None:
    scene, cut = during_reply()
    assert InterruptReply(cut) in scene.speech_above_noise(300, 0.7)
    scene.silence(400)
    low_confidence_transcript(scene, ReplyId(2, 1))
    assert scene.silence(1000)[-1] == ResumeReply(cut)


def test_reply_resumes_after_cough() -> None:
    scene, _ = during_reply()
    scene.transcript(interrupt_briefly(scene), "")
    assert scene.turns.resume_pending
    assert scene.silence(280) == ()  # 680 ms after the speech
    assert scene.silence(20) == (ResumeReply(FIRST),)
    answer = ReplyId(3, 1)
    assert scene.handle(ReplyRequested(at(scene.now_ms), "resumed", "and a half")) == (
        PrepareReply(answer, "and a half", text_is_reply=True),
        CommitTurn(answer, "", "", None, origin="resumed"),
    )
    scene.handle(PlaybackProgress(at(scene.now_ms), answer, 0, audible=True))
    again = interrupt_briefly(scene)  # before a word of the rest was played
    assert RetractReply(answer) in scene.effects
    scene.transcript(again, "")
    assert scene.silence(600)[-1] == ResumeReply(answer)


def test_reply_does_not_resume_if_words_follow_hum() -> None:
    scene, _ = during_reply()
    scene.transcript(interrupt_briefly(scene), "")
    scene.transcript(interrupt_briefly(scene), "")  # once more, before the reply resumes
    scene.silence(280)
    assert not has_resumed(scene)
    scene.transcript(interrupt_briefly(scene), "what is the date")
    scene.silence(2000)
    assert not has_resumed(scene)
    assert scene.turns.phase is Phase.REPLYING


def announcement_after_interruption(words_heard: int) -> Scene:
    """A cough interrupts a reply, and an announcement starts before the reply resumes."""
    scene, _ = during_reply()
    scene.transcript(interrupt_briefly(scene), "")
    scene.handle(ReplyRequested(at(scene.now_ms), "announcement", "Your timer is done."))
    scene.silence(20)
    scene.handle(PlaybackProgress(at(scene.now_ms), ReplyId(3, 1), words_heard, audible=True))
    return scene


@pytest.mark.parametrize("words_heard", [0, 2], ids=["unheard announcement", "partly heard announcement"])
def test_reply_does_not_resume_after_words_during_announcement(words_heard: int) -> None:
    scene = announcement_after_interruption(words_heard)
    asking = interrupt_briefly(scene)
    scene.transcript(asking, "what is the date")
    scene.handle(PlaybackProgress(at(scene.now_ms), asking, 2, audible=True))
    again = interrupt_briefly(scene)
    scene.transcript(again, "stop")
    scene.handle(ReplyEnded(at(scene.now_ms), again))
    scene.silence(2000)
    assert not has_resumed(scene)


@pytest.mark.parametrize(
    ("words_heard", "rest_of"),
    [(0, FIRST), (2, ReplyId(3, 1))],
    ids=["unheard announcement", "partly heard announcement"],
)
def test_interrupted_announcement_resumes_instead_if_it_was_heard(words_heard: int, rest_of: ReplyId) -> None:
    scene = announcement_after_interruption(words_heard)
    scene.transcript(interrupt_briefly(scene), "")
    if not words_heard:  # the announcement is repeated before the reply resumes
        scene.silence(20)
        scene.handle(PlaybackProgress(at(scene.now_ms), ReplyId(4, 1), 4, audible=True))
        scene.handle(ReplyEnded(at(scene.now_ms), ReplyId(4, 1)))
    scene.silence(2000)
    assert [effect for effect in scene.effects if isinstance(effect, ResumeReply)] == [ResumeReply(rest_of)]


@pytest.mark.parametrize(
    "event", [ReplyRequested(at(0), "requested"), ReplyCancelled(at(0))], ids=["request", "cancel"]
)
def test_request_or_cancel_prevents_resuming(
    event: ReplyRequested | ReplyCancelled,
) -> None:
    scene, _ = during_reply()
    scene.transcript(interrupt_briefly(scene), "")
    scene.handle(replace(event, position=at(scene.now_ms)))
    scene.silence(2000)
    assert not scene.turns.resume_pending
    assert not has_resumed(scene)


def test_reply_does_not_resume_without_auto_reply() -> None:
    scene = Scene(TurnSettings(answers=False))
    scene.handle(ReplyRequested(at(0), "requested"))
    scene.handle(PlaybackProgress(at(0), FIRST, 3, audible=True))
    scene.transcript(interrupt_briefly(scene), "")
    scene.silence(2000)
    assert scene.phase() is Phase.IDLE
    assert not has_resumed(scene)


def test_wake_phrase_alone_ends_reply() -> None:
    scene, _ = during_reply()
    cough = interrupt_briefly(scene)
    effects = scene.handle(FinalTranscript(at(scene.now_ms), cough, words(""), "called"))
    assert effects[-1] == TurnDiscarded(2, at(scene.now_ms), at(3100), "called")
    scene.silence(2000)
    assert not has_resumed(scene)


def backchannel_transcript(scene: Scene, reply_id: ReplyId) -> SessionEffects:
    return scene.handle(FinalTranscript(at(scene.now_ms), reply_id, words("yeah"), "backchannel"))


def test_backchannel_that_interrupted_is_discarded_and_reply_resumes() -> None:
    scene, _ = during_reply()
    effects = backchannel_transcript(scene, interrupt_briefly(scene))
    assert not any(isinstance(effect, PrepareReply | CommitTurn) for effect in effects)
    assert [effect.reason for effect in effects if isinstance(effect, TurnDiscarded)] == ["backchannel"]
    scene.silence(1000)
    assert has_resumed(scene)


def test_reply_resumes_sooner_after_a_backchannel() -> None:
    scene, cut = during_reply(TurnSettings(replies=ReplyThresholds(backchannel_resume_delay_ms=500.0)))
    backchannel_transcript(scene, interrupt_briefly(scene))
    assert scene.silence(80) == ()  # 480 ms after the speech
    assert scene.silence(20) == (ResumeReply(cut),)


def test_backchannel_right_after_reply_onset_is_a_turn() -> None:
    scene, _ = at_reply_onset()
    assert any(
        isinstance(effect, PrepareReply | CommitTurn)
        for effect in backchannel_transcript(scene, interrupt_briefly(scene))
    )


def test_backchannel_without_reply_is_a_turn() -> None:
    scene = Scene()
    scene.silence(1000)
    assert any(
        isinstance(effect, CommitTurn) and effect.text == "yeah"
        for effect in backchannel_transcript(scene, interrupt_briefly(scene))
    )


def test_cough_in_first_second_resumes_the_reply_that_it_withdrew() -> None:
    scene, reply = at_reply_onset()
    cough = interrupt_briefly(scene)
    assert cough.turn == reply.turn
    assert RetractReply(reply) in scene.effects
    effects = scene.transcript(cough, "")
    assert not any(isinstance(effect, PrepareReply | CommitTurn) for effect in effects), "it is not asked again"
    assert scene.turns.resume_pending
    assert scene.silence(280) == ()  # 680 ms after the speech
    assert scene.silence(20) == (ResumeReply(reply),)


def test_uncertain_word_in_first_second_resumes_the_reply_that_it_withdrew() -> None:
    scene, reply = at_reply_onset()
    scene.uncertain_speech(300)
    scene.silence(400)
    low_confidence_transcript(scene, last_requested(scene))
    assert scene.silence(1000)[-1] == ResumeReply(reply)


@pytest.mark.parametrize("event", [InputCleared(at(0)), None], ids=["cleared", "no transcript"])
def test_withdrawn_reply_resumes_if_its_turn_cannot_continue(event: InputCleared | None) -> None:
    scene, reply = at_reply_onset()
    scene.speech(300)
    if event is not None:
        scene.handle(replace(event, position=at(scene.now_ms)))
    scene.silence(12_000)
    assert [effect for effect in scene.effects if isinstance(effect, ResumeReply)] == [ResumeReply(reply)]
    assert sum(isinstance(effect, CommitTurn) for effect in scene.effects) == 1


def test_words_after_withdrawn_reply_are_answered_with_those_before() -> None:
    scene, _ = at_reply_onset()
    effects = scene.transcript(interrupt_briefly(scene), "in Tokyo")
    assert commit_of(effects).text == "what time is it in Tokyo"
    scene.silence(2000)
    assert not has_resumed(scene)


def test_reply_with_effect_is_interrupted_in_its_first_second_and_resumes() -> None:
    scene = Scene()
    reply = scene.commit_reply("set a timer for one minute")
    scene.handle(PlaybackProgress(at(scene.now_ms), reply, 2, audible=True, has_effect=True))
    thanks = interrupt_briefly(scene)
    assert InterruptReply(reply) in scene.effects
    assert not any(isinstance(effect, RetractReply) for effect in scene.effects)
    assert commit_of(scene.transcript(thanks, "thanks")).text == "thanks"
    scene, reply = at_reply_onset()
    scene.handle(PlaybackProgress(at(scene.now_ms), reply, 3, audible=True, has_effect=True))
    scene.transcript(interrupt_briefly(scene), "")
    assert scene.silence(1000)[-1] == ResumeReply(reply)


def test_reply_with_effect_is_retracted_before_a_word_was_heard() -> None:
    scene = Scene()
    reply = scene.commit_reply("set a timer for one minute")
    scene.handle(PlaybackProgress(at(scene.now_ms), reply, 0, audible=True, has_effect=True))
    interrupt_briefly(scene)
    assert RetractReply(reply) in scene.effects
