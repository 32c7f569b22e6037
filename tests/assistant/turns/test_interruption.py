"""Tests which overlaps interrupt a reply, and what becomes of those that stay undecided."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from support.turns.turn_scene import Scene, at, at_reply_onset, discards, during_reply, words

from assistant.pipeline.transcript_requests import RecognizerRequest, SessionEffect
from assistant.turns.effects import (
    CloseSegment,
    DuckReply,
    Effect,
    InterruptReply,
    OpenSegment,
    RequestTranscript,
    RetractReply,
    TurnStarted,
    UnduckReply,
)
from assistant.turns.events import InterimTranscript, ReplyEnded, ReplyId, ReplyRequested
from assistant.turns.settings import TurnSettings
from assistant.turns.state.states import Phase
from audio.stt import SegmentId, Transcript
from audio.units import Samples


def test_speech_within_a_second_of_reply_onset_continues_turn() -> None:
    scene, reply_id = at_reply_onset()
    scene.speech(280)
    assert scene.speech(20) == (RetractReply(reply_id), TurnStarted(1, at(1800)))
    scene.speech(500)
    assert RecognizerRequest(ReplyId(1, 2), SegmentId(at(1500)), at(2600)) in scene.silence(400)


def test_cough_ducks_reply_only_briefly() -> None:
    scene, reply_id = at_reply_onset()
    assert scene.speech(160) == (DuckReply(reply_id), OpenSegment(SegmentId(at(1500)), at(1800)))
    assert scene.silence(140) == ()
    asked = scene.silence(20)
    assert asked == (RequestTranscript(SegmentId(at(1500)), at(1960)),), "it may be a short word"
    assert scene.phase() is Phase.REPLYING
    assert scene.requested_transcript("", asked) == (
        UnduckReply(reply_id),
        CloseSegment(SegmentId(at(1500)), 1, used=False),
    )
    assert scene.phase() is Phase.REPLYING
    assert scene.silence(2000) == ()


def test_uncertain_speech_interrupts_when_its_transcript_arrives() -> None:
    scene, reply_id = during_reply()
    scene.uncertain_speech(160)
    asked = scene.silence(160)
    assert scene.requested_transcript("Quit.", asked) == (TurnStarted(2, at(2800)), InterruptReply(reply_id))
    scene.silence(500)
    assert [
        (effect.reply_id.turn, effect.speech_end) for effect in scene.effects if isinstance(effect, RecognizerRequest)
    ][-1] == (2, at(2960))


@pytest.mark.parametrize(
    ("text", "rough"),
    [("", False), ("Mhm.", False), ("the", True)],
    ids=["no words", "backchannel", "low-confidence word"],
)
def test_transcript_that_does_not_interrupt_unducks_reply(text: str, *, rough: bool) -> None:
    scene, reply_id = during_reply()
    scene.uncertain_speech(160)
    asked = scene.silence(160)
    discarded = CloseSegment(SegmentId(at(2500)), 1, used=False)
    assert scene.requested_transcript(text, asked, low_confidence=rough) == (UnduckReply(reply_id), discarded)
    assert scene.requested_transcript("quit", asked) == (), "the overlap was dismissed"


def test_overlap_is_dismissed_when_transcript_is_late() -> None:
    scene, reply_id = during_reply()
    scene.uncertain_speech(160)
    asked = scene.silence(160)
    assert scene.silence(780) == ()
    assert scene.silence(20) == (UnduckReply(reply_id), CloseSegment(SegmentId(at(2500)), 1, used=False))
    assert scene.requested_transcript("quit", asked) == ()


def test_new_onset_while_transcript_is_pending_is_measured_from_zero() -> None:
    scene, reply_id = during_reply()
    scene.speech(280)
    asked = scene.silence(200)
    assert scene.speech(280) == (), "the reply stays ducked, and 280 ms are not enough"
    assert scene.requested_transcript("", asked) == (), "it belongs to the earlier speech"
    again = scene.silence(160)
    assert again == (RequestTranscript(SegmentId(at(2500)), at(3560)),)
    assert scene.requested_transcript("no wait", again) == (TurnStarted(2, at(2800)), InterruptReply(reply_id))


@pytest.mark.parametrize(
    ("probability", "stops"),
    [(0.49, False), (0.5, True), (0.6, True)],
    ids=["probability 0.49", "probability 0.5", "probability 0.6"],
)
def test_likely_speech_above_noise_counts_in_full(probability: float, *, stops: bool) -> None:
    scene, reply_id = during_reply()
    assert not any(isinstance(effect, InterruptReply) for effect in scene.speech_above_noise(280, probability))
    assert (InterruptReply(reply_id) in scene.speech_above_noise(20, probability)) == stops


def test_speech_above_noise_and_certain_speech_add_up() -> None:
    scene, reply_id = during_reply()
    scene.speech_above_noise(200, 0.5)
    scene.uncertain_speech(200, 0.74)
    assert scene.uncertain_speech(80, 0.76) == (), "uncertain speech does not count"
    assert InterruptReply(reply_id) in scene.uncertain_speech(20, 0.76)


def test_backchannel_needs_twice_the_speech_to_interrupt() -> None:
    scene, reply_id = during_reply()
    scene.speech(200)
    scene.handle(InterimTranscript(at(scene.now_ms), words("Mhm.", SegmentId(at(2500)))))
    assert scene.speech(300) == ()
    assert scene.speech(100) == (TurnStarted(2, at(2800)), InterruptReply(reply_id))


def test_interim_transcript_of_other_segment_is_ignored() -> None:
    scene, reply_id = at_reply_onset()
    scene.speech(200)
    scene.handle(InterimTranscript(at(scene.now_ms), words("mhm", SegmentId(7))))
    assert RetractReply(reply_id) in scene.speech(100)


def test_confident_early_interim_transcript_retracts_reply_at_once() -> None:
    scene, reply_id = at_reply_onset()
    scene.speech(200)
    rough = Transcript(SegmentId(at(1500)), Samples(0), "stop", low_confidence=True)
    assert scene.handle(InterimTranscript(at(scene.now_ms), rough)) == (), "a recognizer may report a word for a cough"
    sure = words("stop", SegmentId(at(1500)))
    assert scene.handle(InterimTranscript(at(scene.now_ms), sure)) == (
        RetractReply(reply_id),
        TurnStarted(1, at(1800)),
    )


def test_overlap_becomes_turn_when_reply_ends() -> None:
    scene, reply_id = at_reply_onset()
    scene.speech(100)
    assert scene.handle(ReplyEnded(at(scene.now_ms), reply_id)) == (UnduckReply(reply_id), TurnStarted(2, at(1800)))
    assert scene.phase() is Phase.USER_SPEAKING
    assert RecognizerRequest(ReplyId(2, 1), SegmentId(at(1500)), at(1900)) in scene.silence(400)


SHORT_INTERRUPT = TurnSettings(interrupt_after_ms=40.0)


def test_background_speech_interrupts_with_a_confident_transcript() -> None:
    """For example voices of a coffee shop: they duck the reply, and it continues."""
    scene, reply = during_reply(SHORT_INTERRUPT)
    assert scene.background_speech(600) == (DuckReply(reply), OpenSegment(SegmentId(at(2500)), at(2800)))
    guess = replace(words("I like it.", SegmentId(at(2500))), low_confidence=True)
    assert scene.handle(InterimTranscript(at(scene.now_ms), guess)) == ()
    heard = InterimTranscript(at(scene.now_ms), words("Stop it.", SegmentId(at(2500))))
    assert scene.handle(heard) == (TurnStarted(2, at(2800)), InterruptReply(reply))


def test_long_background_speech_interrupts() -> None:
    scene, reply = during_reply(SHORT_INTERRUPT)
    assert scene.background_speech(980)[0] == DuckReply(reply)
    assert scene.background_speech(20) == (TurnStarted(2, at(2800)), InterruptReply(reply))


def test_speech_that_becomes_louder_than_background_interrupts() -> None:
    scene, reply = during_reply(SHORT_INTERRUPT)
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
    scene, _ = during_reply(SHORT_INTERRUPT)
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
    assert RetractReply(reply) not in scene.effects
    assert RetractReply(reply) in scene.speech(20)


def test_background_level_is_ignored_with_long_interrupt_after_ms() -> None:
    scene, reply = during_reply()
    assert InterruptReply(reply) not in scene.background_speech(280)
    assert scene.background_speech(20)[-1] == InterruptReply(reply)


def test_intermittent_uncertain_speech_ducks_for_one_second() -> None:
    scene, _ = during_reply()
    for _ in range(20):
        scene.uncertain_speech(300, 0.6)
        scene.silence(100)
    ducks = [type(effect) for effect in scene.effects if isinstance(effect, DuckReply | UnduckReply)]
    assert ducks[:2] == [DuckReply, UnduckReply]
    assert ducks == [DuckReply, UnduckReply] * 3 + [DuckReply], "three segments are over"


@pytest.mark.parametrize("silence_ms", [20, 160], ids="{} ms of silence".format)
@pytest.mark.parametrize(
    ("text", "said"), [("quit", (TurnStarted(2, at(2800)),)), ("", ())], ids=["with words", "without words"]
)
def test_overlap_pending_at_end_of_reply_is_turn_if_it_has_words(
    silence_ms: float, text: str, said: tuple[Effect, ...]
) -> None:
    scene, reply = during_reply()
    scene.uncertain_speech(160)
    asked = scene.silence(silence_ms)
    assert scene.handle(ReplyEnded(at(scene.now_ms), reply)) == (UnduckReply(reply),)
    assert scene.phase() is Phase.IDLE
    asked += scene.silence(160 - silence_ms)
    assert scene.requested_transcript(text, asked) == (said or (CloseSegment(SegmentId(at(2500)), 1, used=False),))
    asking = [effect for effect in scene.silence(600) if isinstance(effect, RecognizerRequest)]
    assert [effect.speech_end for effect in asking] == [at(2960)] * len(said)


def test_continuous_uncertain_speech_ducks_for_one_second() -> None:
    scene, reply = during_reply()
    assert scene.uncertain_speech(1000) == (DuckReply(reply), OpenSegment(SegmentId(at(2500)), at(2800)))
    assert scene.uncertain_speech(20) == (UnduckReply(reply),)
    assert scene.uncertain_speech(3000) == ()
    assert scene.speech(280) == (), "certain speech after it still needs 300 ms"
    assert scene.speech(20) == (TurnStarted(2, at(2800)), InterruptReply(reply))


def test_long_uncertain_speech_is_discarded_without_transcript() -> None:
    scene, reply = during_reply()
    scene.uncertain_speech(2100)
    assert scene.silence(20) == (CloseSegment(SegmentId(at(2500)), 1, used=False),), (
        "no transcript is requested for long uncertain speech"
    )
    assert scene.uncertain_speech(20)[0] == DuckReply(reply)


@pytest.mark.parametrize("beside", [False, True], ids=["reply to a turn", "requested reply"])
def test_reply_without_progress_is_stuck_during_uncertain_speech(*, beside: bool) -> None:
    scene = Scene()
    if beside:
        scene.speech(500)
        scene.handle(ReplyRequested(at(500), "requested"))
        scene.silence(200)
        scene.progress(ReplyId(2, 1), 1)
    else:
        scene.commit_reply(words_heard=3, audible=True)
        scene.silence(1000)
    effects = scene.uncertain_speech(10_000)
    assert [type(effect) for effect in effects if isinstance(effect, DuckReply | UnduckReply)] == [
        DuckReply,
        UnduckReply,
    ]
    assert any(isinstance(effect, InterruptReply) and effect.reason == "stuck" for effect in effects)
