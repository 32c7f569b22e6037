"""Tests of speech during a reply that is no louder than the background."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from support.turns.turn_scene import Scene, at, discards, words

from assistant.pipeline.transcript_requests import SessionEffect
from assistant.turns.effects import DuckReply, InterruptReply, OpenSegment, TurnStarted
from assistant.turns.events import InterimTranscript
from assistant.turns.settings import TurnSettings
from audio.stt import SegmentId

SHORT_INTERRUPT = TurnSettings(interrupt_after_ms=40.0)


def test_background_speech_interrupts_with_a_confident_transcript() -> None:
    """For example voices of a coffee shop: they duck the reply, and it continues."""
    scene = Scene(SHORT_INTERRUPT)
    reply = scene.commit_reply(words_heard=3, audible=True)
    scene.silence(1000)
    assert scene.background_speech(600) == (DuckReply(reply), OpenSegment(SegmentId(at(2500)), at(2800)))
    guess = replace(words("I like it.", SegmentId(at(2500))), low_confidence=True)
    assert scene.handle(InterimTranscript(at(scene.now_ms), guess)) == ()
    heard = InterimTranscript(at(scene.now_ms), words("Stop it.", SegmentId(at(2500))))
    assert scene.handle(heard) == (TurnStarted(2, at(2800)), InterruptReply(reply))


def test_long_background_speech_interrupts() -> None:
    scene = Scene(SHORT_INTERRUPT)
    reply = scene.commit_reply(words_heard=3, audible=True)
    scene.silence(1000)
    assert scene.background_speech(980)[0] == DuckReply(reply)
    assert scene.background_speech(20) == (TurnStarted(2, at(2800)), InterruptReply(reply))


def test_speech_that_becomes_louder_than_background_interrupts() -> None:
    scene = Scene(SHORT_INTERRUPT)
    reply = scene.commit_reply(words_heard=3, audible=True)
    scene.silence(1000)
    scene.background_speech(380)
    assert scene.speech(20)[-1] == InterruptReply(reply)


@pytest.mark.parametrize(
    ("rough", "expected"),
    [(False, lambda effect: isinstance(effect, InterruptReply)), (True, discards)],
    ids=["confident transcript", "low-confidence transcript"],
)
def test_transcript_of_long_background_speech_is_requested(
    rough: bool, expected: Callable[[SessionEffect], bool]
) -> None:
    scene = Scene(SHORT_INTERRUPT)
    scene.commit_reply(words_heard=3, audible=True)
    scene.silence(1000)
    for _ in range(4):
        scene.background_speech(780)
        scene.silence(120)
    asked = scene.silence(60)
    effects = scene.requested_transcript("Stop it now.", asked, low_confidence=rough)
    assert any(expected(effect) for effect in effects)


def test_early_background_speech_does_not_interrupt() -> None:
    scene = Scene(SHORT_INTERRUPT)
    reply = scene.commit_reply(words_heard=1, audible=True)
    scene.silence(300)
    scene.background_speech(400)
    assert InterruptReply(reply, continues_turn=True) not in scene.effects
    assert scene.speech(20)[-1] == InterruptReply(reply, continues_turn=True)


def test_background_level_is_ignored_with_long_interrupt_after_ms() -> None:
    scene = Scene()
    reply = scene.commit_reply(words_heard=3, audible=True)
    scene.silence(1000)
    assert InterruptReply(reply) not in scene.background_speech(280)
    assert scene.background_speech(20)[-1] == InterruptReply(reply)
