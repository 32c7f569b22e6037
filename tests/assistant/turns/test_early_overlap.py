"""Tests of speech right after the onset of a reply."""

import pytest
from support.turns.turn_scene import FIRST, Scene, at, discards, words

from assistant.turns.effects import DuckReply, InterruptReply, OpenSegment, RetractReply, TurnStarted, UnduckReply
from assistant.turns.events import InputCommitted, InterimTranscript, ReplyId, ReplyRequested
from assistant.turns.settings import InterruptedBy, TurnSettings
from audio.stt import SegmentId


@pytest.mark.parametrize("behind_ms", [0, 300, 700], ids="{} ms after onset".format)
@pytest.mark.parametrize("probability", [0.5, 0.58], ids="probability {}".format)
def test_early_uncertain_speech_retracts_reply(behind_ms: int, probability: float) -> None:
    scene = Scene()
    reply = scene.commit_reply(audible=True)
    scene.silence(behind_ms)
    assert DuckReply(reply) in scene.uncertain_speech(280, probability)
    assert scene.uncertain_speech(20, probability) == (RetractReply(reply), TurnStarted(1, at(1800 + behind_ms)))


def test_early_noise_burst_does_not_interrupt() -> None:
    soon = TurnSettings(interrupt_after_ms=40.0)
    for probability, enough_ms in ((0.74, 100), (0.76, 40)):
        scene = Scene(soon)
        reply = scene.commit_reply(words_heard=1, audible=True)
        scene.silence(300)
        assert not any(
            isinstance(effect, InterruptReply) for effect in scene.uncertain_speech(enough_ms - 20, probability)
        )
        assert InterruptReply(reply, continues_turn=True) in scene.uncertain_speech(20, probability)


def test_early_speech_after_committed_input_does_not_continue_turn() -> None:
    scene = Scene(TurnSettings(has_client=True, interrupt_after_ms=40.0))
    scene.speech(800)
    scene.handle(InputCommitted(at(scene.now_ms)))
    scene.silence(20)
    scene.transcript(FIRST, "what time is it")
    scene.progress(FIRST, 1)
    scene.silence(200)
    assert InterruptReply(FIRST) in scene.speech(300)


def test_later_uncertain_speech_does_not_retract_reply() -> None:
    scene = Scene()
    scene.commit_reply(audible=True)
    scene.silence(720)
    assert [type(effect) for effect in scene.uncertain_speech(2000)] == [DuckReply, OpenSegment, UnduckReply]


def test_early_speech_does_not_interrupt_uninterruptible_reply() -> None:
    scene = Scene(TurnSettings(interrupted_by=InterruptedBy.CLIENT, has_client=True))
    scene.commit_reply(audible=True)
    scene.silence(300)
    scene.uncertain_speech(300)
    assert [discards(effect) for effect in scene.silence(20)] == [True]


def test_uncertain_speech_retracts_reply_only_once() -> None:
    scene = Scene()
    reply = scene.commit_reply(audible=True)
    scene.silence(300)
    assert RetractReply(reply) in scene.uncertain_speech(300)
    scene.silence(500)
    scene.transcript(ReplyId(1, 2), "")
    again = scene.turns.replying
    assert again is not None
    assert again.turn == 1
    scene.progress(again, 0)
    scene.silence(300)
    assert [type(effect) for effect in scene.uncertain_speech(2000)] == [DuckReply, OpenSegment, UnduckReply]


def test_early_backchannel_continues_turn() -> None:
    scene = Scene()
    reply = scene.commit_reply(words_heard=1, audible=True)
    scene.uncertain_speech(200)
    scene.handle(InterimTranscript(at(scene.now_ms), words("Mhm.", SegmentId(at(1500)))))
    assert InterruptReply(reply, continues_turn=True) in scene.uncertain_speech(100)


def test_early_unlikely_speech_does_not_retract_reply() -> None:
    scene = Scene()
    reply = scene.commit_reply(audible=True)
    assert [type(effect) for effect in scene.uncertain_speech(2000, probability=0.49)] == [
        DuckReply,
        OpenSegment,
        UnduckReply,
    ]
    assert scene.turns.replying == reply


@pytest.mark.parametrize(
    "asked",
    [ReplyRequested(at(0), "greeting", "Hello."), ReplyRequested(at(0), "requested")],
    ids=["greeting", "request"],
)
def test_early_speech_is_not_special_without_previous_turn(asked: ReplyRequested) -> None:
    scene = Scene()
    scene.handle(asked)
    scene.silence(20)
    scene.progress(FIRST, 1)
    assert [type(effect) for effect in scene.uncertain_speech(2000)] == [DuckReply, OpenSegment, UnduckReply]
