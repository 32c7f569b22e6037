"""Tests of speech onsets that are not confirmed yet."""

import pytest
from support.turns.turn_scene import FIRST, Scene, at, commit_of, last_requested, low_confidence_transcript

from assistant.pipeline.transcript_requests import RecognizerRequest
from assistant.turns.effects import CloseSegment, DropAttempt, EndOfTurn, OpenSegment, RequestTranscript, TurnStarted
from assistant.turns.events import InputCommitted, ReplyRequested
from assistant.turns.settings import EndsTurn, TurnSettings
from assistant.turns.state.states import Phase
from audio.stt import SegmentId


def test_short_noises_begin_no_turn() -> None:
    scene = Scene()
    for _ in range(10):
        assert scene.uncertain_speech(380, 0.74) == ()
        assert scene.requested_transcript("", scene.silence(160)) == (
            CloseSegment(SegmentId(max(0, at(scene.edge_ms - 680))), 0, used=False),
        )
        assert scene.silence(240) == ()
    assert scene.phase() is Phase.IDLE


def test_candidate_with_words_begins_turn() -> None:
    scene = Scene()
    scene.silence(1000)
    scene.uncertain_speech(200, 0.7)
    assert scene.silence(140) == ()
    asked = scene.silence(20)
    assert asked == (OpenSegment(SegmentId(at(700)), at(1000)), RequestTranscript(SegmentId(at(700)), at(1200)))
    assert scene.phase() is Phase.IDLE
    assert scene.requested_transcript("Quit.", asked) == (TurnStarted(1, at(1000)),)
    assert RecognizerRequest(FIRST, SegmentId(at(700)), at(1200)) in scene.silence(400)


@pytest.mark.parametrize(("text", "rough"), [("", False), ("the", True)], ids=["no words", "low-confidence word"])
def test_candidate_without_clear_words_begins_no_turn(text: str, *, rough: bool) -> None:
    scene = Scene()
    scene.silence(1000)
    scene.uncertain_speech(200, 0.7)
    asked = scene.silence(160)
    assert scene.requested_transcript(text, asked, low_confidence=rough) == (
        CloseSegment(SegmentId(at(700)), 0, used=False),
    )
    assert scene.requested_transcript("quit", asked) == (), "the candidate was dropped"
    assert scene.silence(1000) == ()


def test_late_transcript_of_dropped_candidate_is_ignored() -> None:
    scene = Scene()
    scene.silence(1000)
    scene.uncertain_speech(200, 0.7)
    asked = scene.silence(780)
    assert scene.silence(20) == (CloseSegment(SegmentId(at(700)), 0, used=False),)
    assert scene.requested_transcript("quit", asked) == ()


def test_speech_long_after_candidate_begins_its_own_turn() -> None:
    scene = Scene()
    scene.silence(1000)
    scene.uncertain_speech(200, 0.7)
    scene.silence(400)
    forgotten, opened, started = scene.speech(20)
    assert forgotten == CloseSegment(SegmentId(at(700)), 0, used=False)
    assert (opened, started) == (OpenSegment(SegmentId(at(1300)), at(1600)), TurnStarted(1, at(1600)))


def test_commit_by_client_turns_candidate_into_turn() -> None:
    scene = Scene(TurnSettings(has_client=True))
    scene.silence(1000)
    scene.uncertain_speech(200, 0.7)
    scene.silence(200)
    effects = scene.handle(InputCommitted(at(scene.now_ms)))
    assert effects[0] == TurnStarted(1, at(1000))
    assert EndOfTurn(1) in effects


def test_turn_begins_at_first_onset_of_candidate() -> None:
    scene = Scene()
    scene.silence(1000)
    assert scene.uncertain_speech(300, 0.6) == ()
    assert scene.uncertain_speech(20, 0.76) == (OpenSegment(SegmentId(at(700)), at(1000)), TurnStarted(1, at(1000)))


def test_soft_first_word_belongs_to_turn() -> None:
    scene = Scene()
    scene.silence(1000)
    scene.uncertain_speech(200, 0.6)
    scene.silence(380)
    segment = SegmentId(at(700))
    assert scene.speech(20) == (
        CloseSegment(segment, 0, used=False),
        OpenSegment(segment, at(1000)),
        TurnStarted(1, at(1000)),
    )


def test_long_uncertain_speech_begins_turn() -> None:
    scene = Scene()
    assert scene.uncertain_speech(380, 0.55) == ()
    assert scene.uncertain_speech(20, 0.55) == (OpenSegment(SegmentId(0), at(0)), TurnStarted(1, at(0)))


def test_joined_noises_are_limited_in_length() -> None:
    scene = Scene()
    for _ in range(6):
        scene.uncertain_speech(60, 0.55)
        scene.requested_transcript("", scene.silence(380))
    assert scene.speech(20) == (OpenSegment(SegmentId(at(1900)), at(2200)), TurnStarted(1, at(2200)))


def test_certainty_is_reset_after_discarded_turn() -> None:
    scene = Scene()
    scene.speech(300)
    scene.silence(400)
    scene.transcript(FIRST, "")
    assert scene.uncertain_speech(300, 0.7) == ()


def test_uncertain_speech_after_pause_continues_turn() -> None:
    scene = Scene(TurnSettings(hangover_ms=400, speculate_after_ms=40))
    scene.speech(300)
    scene.silence(200)
    assert any(isinstance(effect, DropAttempt) for effect in scene.uncertain_speech(20, 0.55))


@pytest.mark.parametrize(
    "settings",
    [TurnSettings(has_client=True, ends_turn=EndsTurn.CLIENT), TurnSettings(ends_turn=EndsTurn.PUSH_TO_TALK)],
    ids=["manual", "push-to-talk"],
)
def test_any_speech_begins_turn_in_manual_modes(settings: TurnSettings) -> None:
    assert TurnStarted(1, at(0)) in Scene(settings).uncertain_speech(20, 0.55)


def test_uncertain_speech_committed_by_client_is_answered() -> None:
    scene = Scene(TurnSettings(has_client=True))
    scene.silence(1000)
    scene.uncertain_speech(100, 0.55)
    told = scene.handle(InputCommitted(at(scene.now_ms)))
    assert told[:2] == (OpenSegment(SegmentId(at(700)), at(1000)), TurnStarted(1, at(1000)))
    assert commit_of(low_confidence_transcript(scene, last_requested(scene)))


def test_request_during_candidate_keeps_the_speech() -> None:
    scene = Scene()
    scene.uncertain_speech(100, 0.55)
    asked = scene.handle(ReplyRequested(at(scene.now_ms), "requested", ""))
    assert asked[:2] == (OpenSegment(SegmentId(0), at(0)), TurnStarted(1, at(0)))


def test_announcement_waits_for_candidate() -> None:
    scene = Scene()
    scene.speech(300)
    scene.handle(ReplyRequested(at(scene.now_ms), "announcement", "Your timer rings."))
    scene.silence(400)
    scene.transcript(FIRST, "")
    assert scene.uncertain_speech(300, 0.6) == ()
    scene.requested_transcript("", scene.silence(380))
    assert commit_of(scene.silence(20))


def test_background_speech_begins_turn_once_certain_for_longer() -> None:
    scene = Scene()
    scene.silence(1000)
    assert scene.background_speech(80) == ()
    assert TurnStarted(1, at(1000)) in scene.background_speech(20)


def test_voices_of_a_room_begin_no_turn_without_words() -> None:
    scene = Scene()
    scene.silence(1000)
    for _ in range(20):
        assert scene.background_speech(60, 0.6) == ()
        assert scene.background_speech(40, 0.8) == ()
    assert scene.requested_transcript("the", scene.silence(160), low_confidence=True) != ()
    scene.silence(1000)
    assert scene.phase() is Phase.IDLE


def test_speech_that_gets_louder_than_the_background_begins_turn_at_once() -> None:
    scene = Scene()
    scene.silence(1000)
    assert scene.background_speech(40) == ()
    assert TurnStarted(1, at(1000)) in scene.speech(20)


def test_short_background_word_begins_turn_by_its_transcript() -> None:
    scene = Scene()
    scene.silence(1000)
    scene.background_speech(300, 0.7)
    assert scene.requested_transcript("Quit.", scene.silence(160)) == (TurnStarted(1, at(1000)),)
