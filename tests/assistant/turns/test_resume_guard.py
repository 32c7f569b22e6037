"""Tests of the delay of a reply while the user may be resuming."""

from dataclasses import replace

import pytest
from support.turns.turn_scene import FIRST, Scene, at

from assistant.turns.effects import (
    CommitTurn,
    DropAttempt,
    DuckReply,
    EndOfTurn,
    HoldPlayback,
    ReleasePlayback,
    RetractReply,
    TurnStarted,
)
from assistant.turns.events import InputCommitted, ReplyId, ReplyRequested
from assistant.turns.settings import EndsTurn, InterruptedBy, TurnEndThresholds, TurnSettings
from assistant.turns.state.states import UserSpeaking


def turn_about_to_end() -> Scene:
    """Runs a turn with a prepared reply up to 20 ms before its end."""
    scene = Scene(TurnSettings(hangover_ms=400, speculate_after_ms=100))
    scene.speech(800)
    scene.silence(100)
    scene.transcript(FIRST, "a small coffee")
    scene.silence(280)
    return scene


def test_possible_onset_delays_end_of_turn() -> None:
    scene = turn_about_to_end()
    assert scene.possible_onset(60) == ()
    assert scene.speech(20) == (DropAttempt(FIRST, "went on"),)


def test_turn_ends_when_possible_onset_is_over() -> None:
    scene = turn_about_to_end()
    assert scene.possible_onset(60) == ()
    assert EndOfTurn(1) in scene.silence(20)


def test_long_possible_onset_does_not_delay_end_of_turn_further() -> None:
    scene = turn_about_to_end()
    assert scene.possible_onset(TurnEndThresholds().max_resume_wait_ms) == ()
    ended = scene.possible_onset(20)
    assert [effect for effect in ended if isinstance(effect, EndOfTurn | CommitTurn | HoldPlayback)] == [
        EndOfTurn(1),
        CommitTurn(FIRST, "a small coffee", "a small coffee", at(800)),
    ]
    assert scene.possible_onset(200) == (), "the delay is used up"


def test_each_silence_has_its_own_delay() -> None:
    scene = turn_about_to_end()
    assert scene.possible_onset(60) == ()
    scene.speech(500)
    scene.silence(100)
    scene.transcript(ReplyId(1, 2), "a small coffee with milk")
    scene.silence(280)
    assert scene.possible_onset(TurnEndThresholds().max_resume_wait_ms) == ()
    assert EndOfTurn(1) in scene.possible_onset(20)


def test_longer_silence_timeout_starts_a_new_delay() -> None:
    scene = turn_about_to_end()
    assert scene.possible_onset(40) == ()
    state = scene.turns._conversation.state
    assert isinstance(state, UserSpeaking)
    state.turn.silence_timeout_ms = 600.0
    assert scene.silence(160) == ()
    assert scene.possible_onset(TurnEndThresholds().max_resume_wait_ms) == ()
    assert EndOfTurn(1) in scene.possible_onset(20)


@pytest.mark.parametrize(
    "modes",
    [
        TurnSettings(interrupted_by=InterruptedBy.NOTHING),
        TurnSettings(ends_turn=EndsTurn.CLIENT),
        TurnSettings(ends_turn=EndsTurn.PUSH_TO_TALK),
        TurnSettings(has_client=True),
    ],
    ids=["uninterruptible", "manual", "push-to-talk", "client"],
)
def test_uninterruptible_reply_is_not_held(modes: TurnSettings) -> None:
    scene = Scene(replace(modes, hangover_ms=400, speculate_after_ms=100))
    scene.speech(800)
    scene.silence(60)
    told = scene.possible_onset(400)
    told += scene.handle(InputCommitted(at(scene.now_ms)))
    told += scene.possible_onset(40)
    for attempt in (1, 2):
        told += scene.transcript(ReplyId(1, attempt), "hello")
    told += scene.handle(ReplyRequested(at(scene.now_ms), "requested"))
    assert any(isinstance(effect, CommitTurn) for effect in told)
    assert not any(isinstance(effect, HoldPlayback) for effect in told)


def test_possible_onset_holds_reply_until_it_is_audible() -> None:
    scene = Scene()
    reply_id = scene.commit_reply("a small coffee")
    assert scene.possible_onset(20) == (HoldPlayback(reply_id),)
    assert scene.possible_onset(40) == ()
    assert scene.silence(20) == (ReleasePlayback(reply_id),)
    assert scene.possible_onset(TurnEndThresholds().max_resume_wait_ms) == (HoldPlayback(reply_id),)
    assert scene.possible_onset(20) == (ReleasePlayback(reply_id),)
    assert scene.possible_onset(100) == ()
    scene.progress(reply_id, 0)
    assert scene.speech(20)[0] == DuckReply(reply_id)


def test_speech_while_reply_is_held_retracts_it() -> None:
    scene = Scene()
    reply_id = scene.commit_reply("a small coffee")
    assert scene.possible_onset(40) == (HoldPlayback(reply_id),)
    assert scene.speech(20)[1:] == (RetractReply(reply_id), TurnStarted(1, at(scene.now_ms - 20)))


def test_reply_committed_during_possible_onset_is_held() -> None:
    scene = Scene()
    scene.speech(800)
    scene.silence(460)
    assert scene.possible_onset(40) == ()
    assert scene.transcript(FIRST, "hello")[2] == HoldPlayback(FIRST)
    assert scene.silence(20) == (ReleasePlayback(FIRST),)


@pytest.mark.parametrize("case", ["heard", "greeting", "not interruptible"])
def test_other_replies_are_not_held(case: str) -> None:
    nothing_interrupts = case == "not interruptible"
    scene = Scene(TurnSettings(interrupted_by=InterruptedBy.NOTHING if nothing_interrupts else InterruptedBy.VOICE))
    if case == "greeting":
        scene.handle(ReplyRequested(at(0), "greeting", "Hello."))
    else:
        scene.commit_reply(audible=case == "heard")
    assert scene.possible_onset(100) == ()


def test_held_reply_is_released_when_it_becomes_uninterruptible() -> None:
    for speaks in (False, True):
        scene = Scene()
        reply_id = scene.commit_reply()
        assert scene.possible_onset(20) == (HoldPlayback(reply_id),)
        scene.turns.settings = replace(scene.turns.settings, interrupted_by=InterruptedBy.NOTHING)
        assert (scene.speech(20) if speaks else scene.possible_onset(20))[0] == ReleasePlayback(reply_id)
