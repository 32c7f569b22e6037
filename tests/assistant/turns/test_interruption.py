"""Tests which overlaps interrupt a reply."""

import pytest
from support.turns.turn_scene import Scene, at, words

from assistant.pipeline.transcript_requests import RecognizerRequest
from assistant.turns.effects import (
    CloseSegment,
    DuckReply,
    InterruptReply,
    OpenSegment,
    RequestTranscript,
    TurnStarted,
    UnduckReply,
)
from assistant.turns.events import InterimTranscript, ReplyEnded, ReplyId
from assistant.turns.state.states import Phase
from audio.stt import SegmentId, Transcript
from audio.units import Samples


def test_speech_after_a_word_interrupts_and_starts_new_turn() -> None:
    scene = Scene()
    reply = scene.commit_reply(words_heard=3, audible=True)
    scene.speech(280)
    assert scene.speech(20) == (TurnStarted(2, at(1800)), InterruptReply(reply, continues_turn=True))
    scene.speech(500)
    assert RecognizerRequest(ReplyId(2, 1), SegmentId(at(1500)), at(2600)) in scene.silence(400)


def test_cough_ducks_reply_only_briefly() -> None:
    scene = Scene()
    reply = scene.commit_reply(words_heard=3, audible=True)
    assert scene.speech(160) == (DuckReply(reply), OpenSegment(SegmentId(at(1500)), at(1800)))
    assert scene.silence(140) == ()
    asked = scene.silence(20)
    assert asked == (RequestTranscript(SegmentId(at(1500)), at(1960)),), "it may be a short word"
    assert scene.phase() is Phase.REPLYING
    assert scene.requested_transcript("", asked) == (
        UnduckReply(reply),
        CloseSegment(SegmentId(at(1500)), 1, used=False),
    )
    assert scene.phase() is Phase.REPLYING
    assert scene.silence(2000) == ()


def test_uncertain_speech_interrupts_when_its_transcript_arrives() -> None:
    scene = Scene()
    reply = scene.commit_reply(words_heard=3, audible=True)
    scene.silence(1000)
    scene.uncertain_speech(160)
    asked = scene.silence(160)
    assert scene.requested_transcript("Quit.", asked) == (TurnStarted(2, at(2800)), InterruptReply(reply))
    scene.silence(500)
    assert [
        (effect.reply.turn, effect.speech_end) for effect in scene.effects if isinstance(effect, RecognizerRequest)
    ][-1] == (2, at(2960))


@pytest.mark.parametrize(
    ("text", "rough"),
    [("", False), ("Mhm.", False), ("the", True)],
    ids=["no words", "backchannel", "low-confidence word"],
)
def test_transcript_that_does_not_interrupt_unducks_reply(text: str, *, rough: bool) -> None:
    scene = Scene()
    reply = scene.commit_reply(words_heard=3, audible=True)
    scene.silence(1000)
    scene.uncertain_speech(160)
    asked = scene.silence(160)
    discarded = CloseSegment(SegmentId(at(2500)), 1, used=False)
    assert scene.requested_transcript(text, asked, low_confidence=rough) == (UnduckReply(reply), discarded)
    assert scene.requested_transcript("quit", asked) == (), "the overlap was dismissed"


def test_overlap_is_dismissed_when_transcript_is_late() -> None:
    scene = Scene()
    reply = scene.commit_reply(words_heard=3, audible=True)
    scene.silence(1000)
    scene.uncertain_speech(160)
    asked = scene.silence(160)
    assert scene.silence(780) == ()
    assert scene.silence(20) == (UnduckReply(reply), CloseSegment(SegmentId(at(2500)), 1, used=False))
    assert scene.requested_transcript("quit", asked) == ()


def test_new_onset_while_transcript_is_pending_is_measured_from_zero() -> None:
    scene = Scene()
    reply = scene.commit_reply(words_heard=3, audible=True)
    scene.silence(1000)
    scene.speech(280)
    asked = scene.silence(200)
    assert scene.speech(280) == (), "the reply stays ducked, and 280 ms are not enough"
    assert scene.requested_transcript("", asked) == (), "it belongs to the earlier speech"
    again = scene.silence(160)
    assert again == (RequestTranscript(SegmentId(at(2500)), at(3560)),)
    assert scene.requested_transcript("no wait", again) == (TurnStarted(2, at(2800)), InterruptReply(reply))


def test_two_coughs_have_two_segments() -> None:
    scene = Scene()
    scene.commit_reply(words_heard=3, audible=True)
    scene.speech(100)
    scene.requested_transcript("", scene.silence(160))
    scene.speech(100)
    segments = [effect.segment for effect in scene.effects if isinstance(effect, OpenSegment)]
    assert len(segments) == len(set(segments)) == 3


@pytest.mark.parametrize(
    ("probability", "stops"),
    [(0.49, False), (0.5, True), (0.6, True)],
    ids=["probability 0.49", "probability 0.5", "probability 0.6"],
)
def test_likely_speech_above_noise_counts_in_full(probability: float, *, stops: bool) -> None:
    scene = Scene()
    reply = scene.commit_reply(words_heard=3, audible=True)
    scene.silence(1000)
    assert not any(isinstance(effect, InterruptReply) for effect in scene.speech_above_noise(280, probability))
    assert (InterruptReply(reply) in scene.speech_above_noise(20, probability)) == stops


def test_speech_above_noise_and_certain_speech_add_up() -> None:
    scene = Scene()
    reply = scene.commit_reply(words_heard=3, audible=True)
    scene.silence(1000)
    scene.speech_above_noise(200, 0.5)
    scene.uncertain_speech(200, 0.74)
    assert scene.uncertain_speech(80, 0.76) == (), "uncertain speech does not count"
    assert InterruptReply(reply) in scene.uncertain_speech(20, 0.76)


def test_backchannel_needs_twice_the_speech_to_interrupt() -> None:
    scene = Scene()
    reply = scene.commit_reply(words_heard=3, audible=True)
    scene.silence(1000)
    scene.speech(200)
    scene.handle(InterimTranscript(at(scene.now_ms), words("Mhm.", SegmentId(at(2500)))))
    assert scene.speech(300) == ()
    assert scene.speech(100) == (TurnStarted(2, at(2800)), InterruptReply(reply))


def test_interim_transcript_of_other_segment_is_ignored() -> None:
    scene = Scene()
    reply = scene.commit_reply(words_heard=3, audible=True)
    scene.speech(200)
    scene.handle(InterimTranscript(at(scene.now_ms), words("mhm", SegmentId(7))))
    assert InterruptReply(reply, continues_turn=True) in scene.speech(100)


def test_confident_interim_transcript_interrupts_at_once() -> None:
    scene = Scene()
    reply = scene.commit_reply(words_heard=3, audible=True)
    scene.speech(200)
    rough = Transcript(SegmentId(at(1500)), Samples(0), "stop", low_confidence=True)
    assert scene.handle(InterimTranscript(at(scene.now_ms), rough)) == (), "a recognizer may report a word for a cough"
    sure = words("stop", SegmentId(at(1500)))
    assert scene.handle(InterimTranscript(at(scene.now_ms), sure)) == (
        TurnStarted(2, at(1800)),
        InterruptReply(reply, continues_turn=True),
    )


def test_overlap_becomes_turn_when_reply_ends() -> None:
    scene = Scene()
    reply = scene.commit_reply(words_heard=3, audible=True)
    scene.speech(100)
    assert scene.handle(ReplyEnded(at(scene.now_ms), reply)) == (UnduckReply(reply), TurnStarted(2, at(1800)))
    assert scene.phase() is Phase.USER_SPEAKING
    assert RecognizerRequest(ReplyId(2, 1), SegmentId(at(1500)), at(1900)) in scene.silence(400)
