"""Tests of backchannels during a reply."""

from support.turns.turn_scene import Scene, at, has_resumed, interrupt_briefly, words

from assistant.pipeline.transcript_requests import SessionEffects
from assistant.turns.effects import CommitTurn, PrepareReply, TurnDiscarded
from assistant.turns.events import FinalTranscript, ReplyId


def backchannel_transcript(scene: Scene, reply: ReplyId) -> SessionEffects:
    return scene.handle(FinalTranscript(at(scene.now_ms), reply, words("yeah"), "backchannel"))


def test_backchannel_that_interrupted_is_discarded_and_reply_resumes() -> None:
    scene = Scene()
    scene.commit_reply(words_heard=3, audible=True)
    scene.silence(1000)
    effects = backchannel_transcript(scene, interrupt_briefly(scene))
    assert not any(isinstance(effect, PrepareReply | CommitTurn) for effect in effects)
    assert [effect.reason for effect in effects if isinstance(effect, TurnDiscarded)] == ["backchannel"]
    scene.silence(1000)
    assert has_resumed(scene)


def test_backchannel_right_after_reply_onset_is_a_turn() -> None:
    scene = Scene()
    scene.commit_reply(words_heard=3, audible=True)
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
