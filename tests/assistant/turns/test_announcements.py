"""Tests of greetings and announcements."""

import pytest
from support.turns.turn_scene import FIRST, Scene, announcement_count, at, unheard_announcement

from assistant.turns.effects import CommitTurn, InterruptReply, PrepareReply, RetractReply
from assistant.turns.events import InputCommitted, ReplyCancelled, ReplyEnded, ReplyId, ReplyRequested
from assistant.turns.settings import EndsTurn, TurnSettings
from assistant.turns.state.states import Phase


def test_greeting_is_said_only_if_nobody_speaks() -> None:
    scene = Scene()
    scene.speech(100)
    assert scene.handle(ReplyRequested(at(100), "greeting", "Hello.")) == ()
    fresh = Scene()
    assert fresh.handle(ReplyRequested(at(0), "greeting", "Hello.")) == (
        PrepareReply(FIRST, "Hello.", text_is_reply=True),
        CommitTurn(FIRST, "", "", None, origin="greeting"),
    )


def test_announcement_waits_until_nobody_speaks() -> None:
    scene = Scene()
    scene.speech(500)
    assert scene.handle(ReplyRequested(at(500), "announcement", "Your timer is done.")) == ()
    scene.silence(400)
    scene.transcript(FIRST, "what time is it")
    assert scene.silence(1000) == ()
    scene.handle(ReplyEnded(at(scene.now_ms), FIRST))
    second = ReplyId(2, 1)
    assert scene.silence(20) == (
        PrepareReply(second, "Your timer is done.", text_is_reply=True),
        CommitTurn(second, "", "", None, origin="announcement"),
    )


def test_announcement_at_once_replaces_a_reply() -> None:
    scene = Scene()
    scene.speech(500)
    scene.silence(400)
    scene.transcript(FIRST, "what time is it")
    scene.silence(1000)
    second = ReplyId(2, 1)
    assert scene.handle(ReplyRequested(at(scene.now_ms), "announcement", "Fire.", at_once=True)) == (
        InterruptReply(FIRST, "requested"),
        PrepareReply(second, "Fire.", text_is_reply=True),
        CommitTurn(second, "", "", None, origin="announcement"),
    )


def test_speech_during_an_announcement_at_once_becomes_a_turn() -> None:
    scene = Scene()
    scene.speech(500)
    started = scene.handle(ReplyRequested(at(500), "announcement", "Fire.", at_once=True))
    assert PrepareReply(ReplyId(2, 1), "Fire.", text_is_reply=True) in started
    scene.speech(200)
    scene.silence(400)
    scene.handle(ReplyEnded(at(scene.now_ms), ReplyId(2, 1)))
    scene.silence(20)
    assert scene.phase() in {Phase.USER_SPEAKING, Phase.AWAITING_TRANSCRIPT}


def test_announcement_at_once_that_is_replaced_unheard_is_returned() -> None:
    scene = Scene()
    scene.handle(ReplyRequested(at(0), "announcement", "Dinner.", at_once=True))
    scene.handle(ReplyRequested(at(0), "announcement", "Fire.", at_once=True))
    assert [returned.text for returned in scene.turns.take_unheard_announcements()] == ["Dinner."]
    scene.progress(ReplyId(2, 1), 1)
    scene.handle(ReplyEnded(at(20), ReplyId(2, 1)))
    assert scene.silence(20) == ()
    assert scene.turns.take_unheard_announcements() == ()


def test_announcement_at_once_that_failed_is_returned() -> None:
    scene = Scene()
    scene.handle(ReplyRequested(at(0), "announcement", "Dinner.", at_once=True))
    scene.handle(ReplyEnded(at(20), FIRST))
    assert [returned.failures for returned in scene.turns.take_unheard_announcements()] == [1]


def test_unheard_announcement_is_repeated() -> None:
    scene = Scene()
    scene.handle(ReplyRequested(at(0), "announcement", "Your timer is done."))
    scene.silence(20)
    assert RetractReply(FIRST) in scene.speech(20)
    scene.speech(300)
    scene.silence(400)
    scene.transcript(ReplyId(1, 2), "")
    assert PrepareReply(ReplyId(2, 1), "Your timer is done.", text_is_reply=True) in scene.silence(20)


@pytest.mark.parametrize("fails", ["ends", "stuck"])
def test_failed_announcement_is_repeated_once(fails: str) -> None:
    scene = unheard_announcement()
    for _ in range(5):
        if fails == "ends" and scene.turns.replying is not None:
            scene.handle(ReplyEnded(at(scene.now_ms), scene.turns.replying))
        scene.silence(12_000)
    assert announcement_count(scene) == 2
    assert scene.phase() is Phase.IDLE


def test_audible_announcement_that_failed_is_not_repeated() -> None:
    scene = unheard_announcement()
    scene.progress(FIRST, 0)
    scene.handle(ReplyEnded(at(scene.now_ms), FIRST))
    scene.silence(1000)
    assert announcement_count(scene) == 1


def test_committed_input_precedes_unheard_announcement() -> None:
    scene = unheard_announcement(TurnSettings(ends_turn=EndsTurn.CLIENT))
    scene.speech(500)
    scene.handle(InputCommitted(at(scene.now_ms)))
    scene.transcript(ReplyId(2, 1), "hello")
    scene.silence(20)
    assert announcement_count(scene) == 2


@pytest.mark.parametrize("at_once", [False, True])
def test_announcement_repeated_by_request_is_not_repeated_again(at_once: bool) -> None:
    scene = Scene()
    scene.handle(ReplyRequested(at(0), "announcement", "Your timer is done.", at_once=at_once))
    scene.silence(20)
    again = ReplyId(2, 1)
    assert scene.handle(ReplyRequested(at(20), "repeated", "Your timer is done.")) == (
        InterruptReply(FIRST, "requested"),
        PrepareReply(again, "Your timer is done.", text_is_reply=True),
        CommitTurn(again, "", "", None, origin="repeated"),
    )
    scene.progress(again, 4)
    scene.handle(ReplyEnded(at(3000), again))
    assert scene.silence(3000) == ()
    assert scene.turns.take_unheard_announcements() == ()


def test_cancelled_announcement_is_not_repeated() -> None:
    scene = unheard_announcement()
    assert scene.handle(ReplyCancelled(at(scene.now_ms))) == (InterruptReply(FIRST, "client"),)
    scene.silence(1000)
    assert announcement_count(scene) == 1
