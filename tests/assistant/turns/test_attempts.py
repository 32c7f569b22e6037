"""Tests of attempts: when they start, also before the silence, are dropped and committed."""

from dataclasses import replace

import pytest
from support.turns.turn_scene import FIRST, SLOW_TO_SETTLE, Scene, at, commit_of

from assistant.pipeline.transcript_requests import RecognizerRequest, SessionEffects
from assistant.turns.effects import CloseSegment, CommitTurn, DropAttempt, EndOfTurn, PrepareReply
from assistant.turns.events import DraftTranscript, FinalTranscript, ReplyId, TranscriptExpected
from assistant.turns.settings import AttemptThresholds, EndsTurn, RecheckThresholds, TurnSettings
from assistant.turns.state.states import Phase
from audio.stt import SegmentId, Transcript


def test_attempt_is_prepared_before_end_of_turn_and_committed_at_it() -> None:
    scene = Scene(TurnSettings(hangover_ms=400, speculate_after_ms=100))
    scene.speech(800)
    assert scene.silence(100) == (RecognizerRequest(FIRST, SegmentId(0), at(800)),)
    assert scene.transcript(FIRST, "hello") == (PrepareReply(FIRST, "hello", "hello"),)
    assert scene.phase() is Phase.USER_SPEAKING
    assert scene.silence(280) == ()
    assert scene.silence(20) == (
        EndOfTurn(1),
        CommitTurn(FIRST, "hello", "hello", at(800)),
        CloseSegment(SegmentId(0), 1),
    )


def test_speech_before_commit_drops_attempt() -> None:
    scene = Scene(TurnSettings(hangover_ms=400, speculate_after_ms=100))
    scene.speech(800)
    scene.silence(100)
    scene.transcript(FIRST, "a small coffee")
    assert scene.speech(20) == (DropAttempt(FIRST, "went on"),)
    scene.speech(500)
    assert scene.silence(100) == (RecognizerRequest(ReplyId(1, 2), SegmentId(0), at(1420)),)
    assert scene.transcript(FIRST, "a small coffee") == ()  # late transcript of the dropped attempt
    scene.transcript(ReplyId(1, 2), "a small coffee with milk")
    assert CommitTurn(ReplyId(1, 2), "a small coffee with milk", "a small coffee with milk", at(1420)) in scene.silence(
        300
    )


def test_early_attempts_are_limited() -> None:
    scene = Scene(TurnSettings(hangover_ms=400, speculate_after_ms=40, rechecks=RecheckThresholds(settle_ms=300)))
    limits, seconds = AttemptThresholds(), 0.0
    while seconds < 20:
        scene.speech(100)
        scene.silence(100)
        seconds = scene.now_ms / 1000
    asked = sum(isinstance(effect, RecognizerRequest) for effect in scene.effects)
    assert asked == pytest.approx(limits.max_early + limits.max_early_per_s * seconds, abs=1.5)
    scene.silence(400)
    assert scene.phase() is Phase.AWAITING_TRANSCRIPT


def test_long_silence_starts_attempt_beyond_the_limit() -> None:
    scene = Scene(TurnSettings(hangover_ms=400, speculate_after_ms=40, rechecks=RecheckThresholds(settle_ms=300)))
    for _ in range(30):
        scene.speech(60)
        scene.silence(60)
    scene.speech(60)
    assert scene.silence(AttemptThresholds().late_after_ms - 20) == ()
    assert [type(effect) for effect in scene.silence(20)] == [RecognizerRequest]


def test_dip_in_speech_drops_attempt() -> None:
    scene = Scene(TurnSettings(hangover_ms=400, speculate_after_ms=40))
    scene.speech(800)
    scene.possible_end(60)
    assert scene.speech(20) == (DropAttempt(FIRST, "went on"),)


SECOND = ReplyId(1, 2)
SEGMENT = SegmentId(0)
PREPARED = (PrepareReply(FIRST, "turn on the lamp", "turn on the lamp", foreseen=True),)


def draft(scene: Scene, text: str = "turn on the lamp", *, sentence_end: float = 0.95) -> SessionEffects:
    """Delivers a draft of the audio so far."""
    now = at(scene.now_ms)
    return scene.handle(DraftTranscript(now, Transcript(SEGMENT, now, text, is_draft=True), sentence_end))


def spoken(settings: TurnSettings = SLOW_TO_SETTLE) -> Scene:
    scene = Scene(settings)
    scene.speech(800)
    return scene


def test_attempt_begins_before_silence_if_draft_sounds_complete() -> None:
    assert draft(spoken()) == PREPARED


@pytest.mark.parametrize(
    "settings",
    [
        replace(SLOW_TO_SETTLE, speculate_after_ms=None),
        replace(SLOW_TO_SETTLE, answers=False),
        replace(SLOW_TO_SETTLE, ends_turn=EndsTurn.PUSH_TO_TALK),
        replace(SLOW_TO_SETTLE, ends_turn=EndsTurn.CLIENT),
        replace(SLOW_TO_SETTLE, attempts=AttemptThresholds(foreseen_sentence_end=1.1)),
    ],
    ids=["no attempts", "no answers", "key ends turns", "client ends turns", "switched off"],
)
def test_no_attempt_begins_before_silence_where_none_may(settings: TurnSettings) -> None:
    assert draft(spoken(settings)) == ()


def test_draft_that_does_not_sound_complete_begins_no_attempt() -> None:
    assert draft(spoken(), sentence_end=0.5) == ()


def test_foreseen_attempt_is_kept_in_speech_for_a_while() -> None:
    scene = spoken()
    draft(scene)
    assert scene.speech(380) == ()
    assert scene.speech(20) == (DropAttempt(FIRST, "went on"),)


def test_draft_with_same_words_keeps_foreseen_attempt() -> None:
    scene = spoken()
    draft(scene)
    scene.speech(300)
    assert draft(scene, "Turn on the lamp.", sentence_end=0.2) == ()
    assert scene.speech(300) == ()


def test_draft_with_other_words_replaces_foreseen_attempt() -> None:
    scene = spoken()
    draft(scene)
    scene.speech(300)
    assert draft(scene, "turn on the lamp and the heating") == (
        DropAttempt(FIRST, "went on"),
        PrepareReply(SECOND, "turn on the lamp and the heating", "turn on the lamp and the heating", foreseen=True),
    )
    assert draft(scene, "turn on the lamp and the heating in the", sentence_end=0.1) == (
        DropAttempt(SECOND, "went on"),
    )


def test_foreseen_attempts_are_limited() -> None:
    scene = spoken(replace(SLOW_TO_SETTLE, attempts=AttemptThresholds(max_foreseen=1, max_foreseen_per_s=0)))
    draft(scene)
    assert draft(scene, "turn on the lamp and the heating") == (DropAttempt(FIRST, "went on"),)


def test_foreseen_attempt_is_committed_with_confirmed_words() -> None:
    scene = spoken()
    draft(scene)
    [asked] = scene.possible_end(40)
    assert asked == RecognizerRequest(SECOND, SEGMENT, at(800), early=True)
    assert confirmed(scene, SECOND) == (DropAttempt(SECOND, "same words"),)
    effects: SessionEffects = ()
    for _ in range(20):
        for asked in scene.silence(20):
            if isinstance(asked, RecognizerRequest):
                effects += confirmed(scene, asked.reply_id)
            effects += (asked,)
    assert CommitTurn(FIRST, "turn on the lamp", "turn on the lamp", at(800)) in effects
    assert not any(isinstance(effect, PrepareReply) for effect in effects)


def test_unconfirmed_words_are_never_committed() -> None:
    scene = spoken()
    draft(scene)
    assert not any(isinstance(effect, CommitTurn) for effect in scene.silence(2000))


def test_other_words_in_silence_restart_foreseen_attempt() -> None:
    scene = spoken()
    draft(scene)
    scene.possible_end(40)
    assert confirmed(scene, SECOND, "turn on the lamps") == (
        DropAttempt(FIRST, "other words"),
        PrepareReply(SECOND, "turn on the lamps", "turn on the lamps"),
    )


def test_draft_that_lacks_too_much_is_replaced_in_silence() -> None:
    scene = spoken()
    draft(scene)
    scene.speech(240)
    assert scene.possible_end(40) == (
        DropAttempt(FIRST, "went on"),
        RecognizerRequest(SECOND, SEGMENT, at(1040), early=True, draft=True),
    )


def test_turn_that_ends_sooner_than_attempts_begin_confirms_its_words() -> None:
    scene = spoken(TurnSettings(hangover_ms=60, speculate_after_ms=200))
    draft(scene)
    effects = scene.silence(60)
    assert RecognizerRequest(SECOND, SEGMENT, at(800)) in effects
    assert commit_of(confirmed(scene, SECOND))


def test_draft_in_silence_is_ignored_once_transcripts_are_requested() -> None:
    scene = spoken()
    scene.possible_end(40)
    assert draft(scene) == ()


def test_draft_of_another_segment_is_ignored() -> None:
    scene = spoken()
    now = at(scene.now_ms)
    assert scene.handle(DraftTranscript(now, Transcript(SegmentId(7), now, "stop", is_draft=True), 1.0)) == ()


def confirmed(scene: Scene, reply_id: ReplyId, text: str = "Turn on the lamp.") -> SessionEffects:
    """Delivers a transcript that is no draft."""
    return scene.handle(FinalTranscript(at(scene.now_ms), reply_id, Transcript(SEGMENT, at(scene.now_ms), text)))


@pytest.mark.parametrize("reply_id", [FIRST, ReplyId(2, 2)], ids=["used id", "id of another turn"])
def test_transcript_that_no_attempt_expects_is_ignored(reply_id: ReplyId) -> None:
    """The recognizer's adapter announces no such transcript, so it takes no part here."""
    scene = Scene(TurnSettings(hangover_ms=400, speculate_after_ms=40))
    scene.requests = scene.turns  # type: ignore[assignment]
    scene.speech(800)
    scene.silence(40)
    scene.handle(TranscriptExpected(at(840), FIRST, settled=False))  # type: ignore[arg-type]
    scene.silence(360)
    scene.transcript(FIRST, "hello")
    scene.handle(TranscriptExpected(at(1200), reply_id, settled=True))  # type: ignore[arg-type]
    assert scene.transcript(reply_id, "hello there") == ()
    assert scene.phase() is Phase.AWAITING_TRANSCRIPT
