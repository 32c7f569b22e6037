"""Tests of committed replies that are retracted because the user continues, also right after their onset."""

from dataclasses import replace
from math import exp

import pytest
from support.turns.turn_scene import FIRST, Scene, at, commit_of, words

from assistant.end_of_turn.estimator import EndOfTurnEstimate
from assistant.pipeline.transcript_requests import RecognizerRequest
from assistant.setup.derived_settings import PROFILES
from assistant.turns.effects import (
    CloseSegment,
    CommitTurn,
    DuckReply,
    HoldPlayback,
    InterruptReply,
    OpenSegment,
    PrepareReply,
    ReleasePlayback,
    RetractReply,
    TurnStarted,
    UnduckReply,
)
from assistant.turns.events import (
    EndOfTurnScored,
    FinalTranscript,
    InputCleared,
    InputCommitted,
    InterimTranscript,
    ReplyCancelled,
    ReplyId,
    ReplyRequested,
)
from assistant.turns.settings import OverlapThresholds, TurnSettings
from assistant.turns.state.states import Phase
from audio.stt import SegmentId, Transcript
from audio.units import Samples


def test_speech_before_reply_is_audible_retracts_it_and_joins_words() -> None:
    scene = Scene()
    reply_id = scene.commit_reply("a small coffee")
    segment = SegmentId(at(1500))
    assert scene.speech(20) == (OpenSegment(segment, at(1800)), RetractReply(reply_id), TurnStarted(1, at(1800)))
    scene.speech(500)
    assert RecognizerRequest(ReplyId(1, 2), segment, at(2320)) in scene.silence(400)
    assert scene.transcript(ReplyId(1, 2), "with milk") == (
        PrepareReply(ReplyId(1, 2), "a small coffee with milk", "with milk"),
        CommitTurn(ReplyId(1, 2), "a small coffee with milk", "with milk", at(2320)),
        CloseSegment(segment, 1),
    )


def test_speech_during_first_word_retracts_reply() -> None:
    scene = Scene()
    reply_id = scene.commit_reply(words_heard=0, audible=True)
    assert scene.speech(20) == (DuckReply(reply_id), OpenSegment(SegmentId(at(1500)), at(1800)))
    assert scene.speech(260) == ()
    assert scene.speech(20) == (RetractReply(reply_id), TurnStarted(1, at(1800)))
    assert scene.phase() is Phase.USER_SPEAKING


def test_retracted_greeting_adds_no_words() -> None:
    scene = Scene()
    scene.handle(ReplyRequested(at(0), "greeting", "Hello, I am here."))
    assert RetractReply(FIRST) in scene.speech(20)
    scene.speech(500)
    scene.silence(400)
    assert PrepareReply(ReplyId(1, 2), "what time is it", "what time is it") in scene.transcript(
        ReplyId(1, 2), "what time is it"
    )


def test_low_confidence_is_kept_across_retraction() -> None:
    scene = Scene()
    scene.speech(800)
    scene.silence(400)
    scene.handle(
        FinalTranscript(at(1200), FIRST, Transcript(SegmentId(0), Samples(0), "a smell coffee", low_confidence=True))
    )
    scene.speech(400)
    scene.silence(400)
    commit = commit_of(scene.transcript(ReplyId(1, 2), "with milk"))
    assert commit.low_confidence


def test_cough_that_retracted_reply_still_gets_earlier_words_answered() -> None:
    scene = Scene()
    scene.commit_reply("what time is it")
    scene.speech(200)
    scene.silence(400)
    assert CommitTurn(ReplyId(1, 2), "what time is it", "", at(2000)) in scene.transcript(ReplyId(1, 2), "")


def test_missing_transcript_after_retraction_answers_earlier_words() -> None:
    scene = Scene()
    scene.commit_reply("what time is it")
    scene.speech(200)
    scene.silence(400)
    scene.silence(10_000)
    assert [effect for effect in scene.effects if isinstance(effect, CommitTurn)][-1] == CommitTurn(
        ReplyId(1, 3), "what time is it", "", None, origin="requested"
    )


def test_clear_after_retraction_answers_earlier_words() -> None:
    scene = Scene()
    scene.commit_reply("what time is it")
    scene.speech(100)
    again = ReplyId(1, 2)
    assert scene.handle(InputCleared(at(1900))) == (
        CloseSegment(SegmentId(at(1500)), 1, used=False),
        PrepareReply(again, "what time is it"),
        CommitTurn(again, "what time is it", "", None, origin="requested"),
    )
    assert scene.speech(300) == (), "the same speech retracts no other reply"


@pytest.mark.parametrize("behind_ms", [0, 300, 980], ids="{} ms after onset".format)
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
            isinstance(effect, RetractReply) for effect in scene.uncertain_speech(enough_ms - 20, probability)
        )
        assert RetractReply(reply) in scene.uncertain_speech(20, probability)


def test_early_speech_after_committed_input_does_not_continue_turn() -> None:
    scene = Scene(TurnSettings(has_client=True, interrupt_after_ms=40.0))
    scene.speech(800)
    scene.handle(InputCommitted(at(scene.now_ms)))
    scene.silence(20)
    scene.transcript(FIRST, "what time is it")
    scene.progress(FIRST, 1)
    scene.silence(200)
    assert InterruptReply(FIRST) in scene.speech(300)


@pytest.mark.parametrize(("behind_ms", "probability"), [(1000, 0.58), (0, 0.49)], ids=["later", "unlikely speech"])
def test_later_or_unlikely_speech_does_not_retract_reply(behind_ms: float, probability: float) -> None:
    scene = Scene()
    reply = scene.commit_reply(audible=True)
    scene.silence(behind_ms)
    effects = scene.uncertain_speech(2000, probability)
    assert [type(effect) for effect in effects] == [DuckReply, OpenSegment, UnduckReply]
    assert scene.turns.replying == reply


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
    assert RetractReply(reply) in scene.uncertain_speech(100)


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


SOON = TurnSettings(interrupt_after_ms=40.0)


def heard_reply(settings: TurnSettings = SOON) -> tuple[Scene, ReplyId]:
    """Returns a scene 300 ms after the onset of a reply of which a word was heard."""
    scene = Scene(settings)
    reply = scene.commit_reply(words_heard=1, audible=True)
    scene.silence(300)
    return scene, reply


def test_possible_onset_in_first_second_holds_reply_at_once() -> None:
    scene, reply = heard_reply()
    assert scene.possible_onset(20) == (HoldPlayback(reply),)
    assert scene.silence(20) == (ReleasePlayback(reply),)
    assert scene.possible_onset(200) == (), "its own echo must not hold it again and again"


def test_possible_onset_holds_heard_reply_for_limited_time() -> None:
    scene, reply = heard_reply()
    assert scene.possible_onset(140) == (HoldPlayback(reply),)
    assert scene.possible_onset(20) == (ReleasePlayback(reply),)


def test_possible_onset_after_first_second_does_not_hold_reply() -> None:
    scene, _ = heard_reply()
    scene.silence(700)
    assert scene.possible_onset(200) == ()


def test_reply_is_not_held_where_microphone_hears_loudspeaker() -> None:
    scene, reply = heard_reply(TurnSettings())
    assert scene.possible_onset(200) == ()
    assert HoldPlayback(reply) not in scene.speech(100)


def test_certain_speech_withdraws_held_reply() -> None:
    scene, reply = heard_reply()
    scene.possible_onset(40)
    assert scene.speech(20)[0] == DuckReply(reply), "it is held already"
    assert RetractReply(reply) in scene.speech(20)


def test_speech_that_stays_unlikely_holds_reply_for_limited_time() -> None:
    scene, reply = heard_reply()
    held = scene.uncertain_speech(280, 0.45)
    assert HoldPlayback(reply) in held
    assert ReleasePlayback(reply) not in held
    assert ReleasePlayback(reply) in scene.uncertain_speech(20, 0.45)


def test_pause_of_early_speech_releases_reply() -> None:
    scene, reply = heard_reply()
    assert HoldPlayback(reply) in scene.uncertain_speech(60, 0.45)
    assert ReleasePlayback(reply) in scene.silence(20)


@pytest.mark.parametrize(("logit", "softly"), [(0.4, True), (2.0, False)])
def test_reply_to_turn_that_sounds_unsure_begins_softly(logit: float, *, softly: bool) -> None:
    scene = Scene(TurnSettings(profile=PROFILES["auto"]))
    scene.speech(800)
    scene.silence(180)
    estimate = EndOfTurnEstimate(1 / (1 + exp(-logit)), 200.0, 340.0, "sound")
    scene.handle(EndOfTurnScored(at(scene.now_ms), SegmentId(0), estimate))
    scene.silence(600)
    assert commit_of(scene.transcript(FIRST, "a small coffee")).softly is softly


def test_cancelled_reply_that_early_speech_holds_needs_no_release() -> None:
    scene, reply = heard_reply()
    assert HoldPlayback(reply) in scene.uncertain_speech(60, 0.45)
    effects = scene.handle(ReplyCancelled(at(scene.now_ms)))
    assert InterruptReply(reply, "client") in effects
    assert not any(isinstance(effect, ReleasePlayback | UnduckReply) for effect in effects)


def test_early_speech_interrupts_as_in_older_traces_without_early_hold() -> None:
    former = replace(SOON, overlap=OverlapThresholds(early_ms=700.0, max_early_hold_ms=0.0))
    scene, reply = heard_reply(former)
    assert scene.possible_onset(40) == ()
    assert InterruptReply(reply) in scene.speech(60)
    assert HoldPlayback(reply) not in scene.effects
