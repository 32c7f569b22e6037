"""Tests of turn taking with a push-to-talk key."""

import pytest
from support.turns.turn_scene import FIRST, Scene, announcement_count, at, unheard_announcement

from assistant.turns.effects import CommitTurn, EndOfTurn, PrepareReply
from assistant.turns.events import InputCommitted, KeyPressed, ReplyEnded, ReplyId, ReplyRequested
from assistant.turns.settings import EndsTurn, TurnSettings

PUSH_TO_TALK = TurnSettings(ends_turn=EndsTurn.PUSH_TO_TALK, speculate_after_ms=60, max_turn_s=5)


def test_forgotten_key_ends_turn_at_maximum_length() -> None:
    scene = Scene(PUSH_TO_TALK)
    scene.handle(KeyPressed(at(0)))
    scene.speech(800)
    scene.silence(60)
    scene.transcript(FIRST, "what time is it")
    assert EndOfTurn(1) not in scene.silence(4120)
    assert CommitTurn(FIRST, "what time is it", "what time is it", at(800)) in scene.silence(20)


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
