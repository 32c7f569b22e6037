"""Tests of overlaps in which the words so far decide."""

from dataclasses import replace

import pytest
from support.turns.turn_scene import Scene, at, words

from assistant.pipeline.transcript_requests import SessionEffect, SessionEffects
from assistant.turns.effects import (
    CloseSegment,
    DuckReply,
    InterruptReply,
    OpenSegment,
    OverlapDecided,
    OverlapEvidence,
    RequestTranscript,
    RetractReply,
    TurnStarted,
    UnduckReply,
)
from assistant.turns.events import InterimTranscript, ReplyId
from assistant.turns.settings import OverlapThresholds, TurnSettings
from audio.stt import SegmentId
from audio.units import FRAME_MS

SETTINGS = TurnSettings(
    interrupt_after_ms=40,
    overlap=OverlapThresholds(words_after_ms=200, words_interval_ms=60, max_words_wait_ms=500, max_wordless_ms=3000),
)
FIRST_WORDS = replace(
    SETTINGS,
    overlap=replace(SETTINGS.overlap, first_word_until_ms=400, first_word_interval_ms=20, max_ignorable=0.04),
)
ONSET_MS = 2800
SEGMENT = SegmentId(at(ONSET_MS - 300))


def during_reply(settings: TurnSettings = SETTINGS) -> tuple[Scene, ReplyId]:
    """Returns a scene in which a reply has been audible for one second, and its reply."""
    scene = Scene(settings)
    reply_id = scene.commit_reply(words_heard=3, audible=True)
    scene.silence(ONSET_MS - scene.now_ms)
    return scene, reply_id


def deliver(scene: Scene, text: str, *, low_confidence: bool = False, called: bool = False) -> SessionEffects:
    """Delivers words so far that were requested."""
    transcript = replace(words(text, SEGMENT), low_confidence=low_confidence)
    return scene.handle(InterimTranscript(at(scene.now_ms), transcript, called, was_requested=True))


def requests(effects: SessionEffects | list[SessionEffect]) -> list[RequestTranscript]:
    return [effect for effect in effects if isinstance(effect, RequestTranscript)]


def interrupts(effects: SessionEffects) -> bool:
    return any(isinstance(effect, InterruptReply) for effect in effects)


def test_words_so_far_are_requested_while_speech_continues() -> None:
    scene, reply_id = during_reply()
    assert scene.speech(180) == (DuckReply(reply_id), OpenSegment(SEGMENT, at(ONSET_MS)))
    assert scene.speech(20) == (RequestTranscript(SEGMENT, at(ONSET_MS + 200), so_far=True),)
    assert scene.speech(200) == (), "one request at a time"


def test_words_so_far_interrupt() -> None:
    scene, reply_id = during_reply()
    scene.speech(280)
    assert deliver(scene, "turn") == (
        OverlapDecided(reply_id, interrupts=True, evidence="words"),
        TurnStarted(2, at(ONSET_MS)),
        InterruptReply(reply_id),
    )


@pytest.mark.parametrize("text", ["", "Mhm.", "Yeah, right.", "I see.", "I", "Mom, I'm on the phone."])
def test_words_so_far_that_do_not_interrupt_are_requested_again(text: str) -> None:
    scene, _ = during_reply()
    scene.speech(280)
    assert deliver(scene, text) == ()
    assert requests(scene.speech(60)) == []
    assert requests(scene.speech(40)) == [RequestTranscript(SEGMENT, at(ONSET_MS + 360), so_far=True)]


def test_interval_of_requests_grows_with_the_speech() -> None:
    scene, _ = during_reply()
    scene.speech(600)
    deliver(scene, "")
    scene.speech(600)
    deliver(scene, "")
    assert requests(scene.speech(280)) == []
    assert len(requests(scene.speech(20))) == 1


def test_low_confidence_words_so_far_do_not_interrupt() -> None:
    scene, _ = during_reply()
    scene.speech(280)
    assert deliver(scene, "turn", low_confidence=True) == ()


def test_backchannel_keeps_reply_playing() -> None:
    scene, reply_id = during_reply()
    scene.speech(280)
    deliver(scene, "Yeah.")
    asked = scene.silence(200)
    assert scene.requested_transcript("Yeah.", asked) == (
        OverlapDecided(reply_id, interrupts=False, evidence="backchannel"),
        UnduckReply(reply_id),
        CloseSegment(SEGMENT, 1, used=False),
    )


def test_beginning_of_a_backchannel_interrupts_once_the_speech_has_ended() -> None:
    scene, _ = during_reply()
    scene.speech(280)
    assert deliver(scene, "I") == ()
    assert interrupts(scene.requested_transcript("I", scene.silence(200)))


def test_wake_phrase_among_backchannels_interrupts() -> None:
    scene, _ = during_reply()
    scene.speech(280)
    assert interrupts(deliver(scene, "okay", called=True))


def test_yes_after_a_question_of_the_reply_interrupts() -> None:
    scene, _ = during_reply()
    scene.speech(280)
    transcript = InterimTranscript(at(scene.now_ms), words("Yeah.", SEGMENT), was_requested=True, after_question=True)
    assert interrupts(scene.handle(transcript))


def first_word(scene: Scene, probability: float) -> SessionEffects:
    """Delivers what the first word may be, which was requested."""
    transcript = words("", SEGMENT)
    return scene.handle(InterimTranscript(at(scene.now_ms), transcript, was_requested=True, ignorable=probability))


def test_first_word_interrupts() -> None:
    scene, reply_id = during_reply(FIRST_WORDS)
    assert requests(scene.speech(220)) == [RequestTranscript(SEGMENT, at(ONSET_MS + 200), so_far=True, first_word=True)]
    assert first_word(scene, 0.02)[0] == OverlapDecided(reply_id, interrupts=True, evidence="first word")


def test_possible_backchannel_is_examined_again_then_all_words() -> None:
    scene, _ = during_reply(FIRST_WORDS)
    scene.speech(220)
    assert first_word(scene, 0.5) == ()
    assert [request.first_word for request in requests(scene.speech(20))] == [True]
    scene.speech(160)
    assert first_word(scene, 0.5) == ()
    assert [request.first_word for request in requests(scene.speech(20))] == [False]
    assert interrupts(deliver(scene, "turn"))


@pytest.mark.parametrize(
    ("text", "low_confidence", "evidence"),
    [
        ("Mom, I'm on the phone.", False, "words to others"),
        ("turn", True, "unsure words"),
        ("", False, "no words"),
    ],
)
def test_decision_names_its_evidence(text: str, low_confidence: bool, evidence: OverlapEvidence) -> None:
    scene, reply_id = during_reply()
    scene.speech(280)
    asked = [effect for effect in scene.silence(200) if isinstance(effect, RequestTranscript)]
    assert asked
    effects = deliver(scene, text, low_confidence=low_confidence)
    assert effects[0] == OverlapDecided(reply_id, interrupts=False, evidence=evidence)


def test_slow_recognizer_leaves_the_decision_to_the_speech() -> None:
    scene, _ = during_reply()
    assert not interrupts(scene.speech(680))
    assert interrupts(scene.speech(FRAME_MS))


def test_long_speech_without_words_interrupts() -> None:
    scene, _ = during_reply()
    said = 0
    while said < 2960:
        said += 20
        effects = scene.speech(20)
        assert not interrupts(effects)
        if requests(effects):
            deliver(scene, "")
    assert interrupts(scene.speech(40))


def test_early_speech_retracts_reply_without_words() -> None:
    scene = Scene(SETTINGS)
    reply = scene.commit_reply(words_heard=3, audible=True)
    assert RetractReply(reply) in scene.speech(40)


def test_without_requests_speech_interrupts() -> None:
    scene, _ = during_reply(TurnSettings(interrupt_after_ms=40))
    assert interrupts(scene.speech(40))
