"""Tests of attempts that start from a draft transcript."""

from collections.abc import Callable
from dataclasses import replace

from turn_scene import FIRST, SLOW_TO_SETTLE, Scene, at, draft_transcript, words

from assistant.turns.events import (
    CommitTurn,
    DropAttempt,
    Effect,
    EndOfTurn,
    Event,
    FinalTranscript,
    PrepareReply,
    ReplyId,
    Transcribe,
    TranscriptFailed,
)
from assistant.turns.settings import TurnSettings
from assistant.turns.states import Phase
from audio.stt import SegmentId


def test_draft_is_rechecked_at_once() -> None:
    scene = Scene(SLOW_TO_SETTLE)
    again = ReplyId(1, 2)
    assert draft_transcript(scene, "turn on the lamp") == (
        PrepareReply(FIRST, "turn on the lamp", "turn on the lamp"),
        Transcribe(again, SegmentId(0), at(800), early=True),
    )
    assert scene.silence(100) == (), "the recheck is pending"
    assert scene.transcript(again, "Turn on the lamp.") == (DropAttempt(again, "same words"),)
    settled = ReplyId(1, 3)
    assert scene.silence(20) == (Transcribe(settled, SegmentId(0), at(800)),)
    assert scene.transcript(settled, "Turn on the lamp.") == (DropAttempt(settled, "same words"),)
    assert CommitTurn(FIRST, "turn on the lamp", "turn on the lamp", at(800)) in scene.silence(140)


def test_draft_with_other_words_is_dropped() -> None:
    scene = Scene(SLOW_TO_SETTLE)
    draft_transcript(scene, "turn on the")
    again = ReplyId(1, 2)
    assert scene.transcript(again, "Turn on the lamp.") == (
        DropAttempt(FIRST, "other words"),
        PrepareReply(again, "Turn on the lamp.", "Turn on the lamp."),
    )


def test_draft_is_not_committed_at_end_of_turn() -> None:
    scene = Scene(replace(SLOW_TO_SETTLE, hangover_ms=100))
    draft_transcript(scene, "turn on the")
    assert scene.silence(160) == (EndOfTurn(1),)
    again, settled = ReplyId(1, 2), ReplyId(1, 3)
    assert scene.transcript(again, "turn on the")[1:] == (Transcribe(settled, SegmentId(0), at(800)),)
    assert CommitTurn(settled, "turn on the lamp", "turn on the lamp", at(800)) in scene.transcript(
        settled, "turn on the lamp"
    )


def commits_with(scene: Scene, answer: Callable[[Transcribe], Event]) -> list[CommitTurn]:
    """Continues the silence, answers each request with `answer`, and returns the commits."""
    told = list[Effect]()
    for _ in range(40):
        told += scene.silence(20)
        told += [more for effect in told if isinstance(effect, Transcribe) for more in scene.handle(answer(effect))]
        told = [effect for effect in told if not isinstance(effect, Transcribe)]
    return [effect for effect in told if isinstance(effect, CommitTurn)]


def test_failed_transcript_after_draft_drops_draft() -> None:
    """The draft may lack a word, so it is not answered."""
    scene = Scene(SLOW_TO_SETTLE)
    draft_transcript(scene, "set a timer for twenty")
    again = ReplyId(1, 2)
    assert scene.handle(TranscriptFailed(at(scene.now_ms), again, SegmentId(0))) == (
        DropAttempt(FIRST, "other words"),
        PrepareReply(again, "", "", transcript_lost=True),
    )
    commits = commits_with(scene, lambda asked: TranscriptFailed(at(scene.now_ms), asked.reply, SegmentId(0)))
    assert commits == [CommitTurn(again, "", "", at(800))]


def test_confidence_is_taken_from_recheck_of_draft() -> None:
    scene = Scene(SLOW_TO_SETTLE)
    draft_transcript(scene, "turn it on")
    again = ReplyId(1, 2)
    guess = replace(words("Turn it on."), low_confidence=True)
    assert scene.handle(FinalTranscript(at(scene.now_ms), again, guess)) == (DropAttempt(again, "same words"),)
    commits = commits_with(scene, lambda asked: FinalTranscript(at(scene.now_ms), asked.reply, guess))
    assert commits == [CommitTurn(FIRST, "turn it on", "turn it on", at(800), low_confidence=True)]


def test_confident_draft_of_noise_is_not_answered() -> None:
    """On the shorter audio of a draft, a decoder can be wrongly confident."""
    scene = Scene(SLOW_TO_SETTLE)
    scene.uncertain_speech(800, 0.6)
    scene.possible_end(40)
    scene.handle(FinalTranscript(at(scene.now_ms), FIRST, replace(words("thank you"), is_draft=True)))
    guess = replace(words("Thank you."), low_confidence=True)
    assert scene.handle(FinalTranscript(at(scene.now_ms), ReplyId(1, 2), guess)) == (DropAttempt(FIRST, "other words"),)
    assert commits_with(scene, lambda asked: FinalTranscript(at(scene.now_ms), asked.reply, guess)) == []
    assert scene.phase() is Phase.IDLE


def test_draft_of_dropped_attempt_is_ignored() -> None:
    scene = Scene(SLOW_TO_SETTLE)
    scene.speech(800)
    scene.possible_end(40)
    scene.speech(20)
    assert scene.handle(FinalTranscript(at(scene.now_ms), FIRST, replace(words("turn on"), is_draft=True))) == ()


def test_no_draft_is_requested_at_end_of_turn() -> None:
    scene = Scene(TurnSettings(hangover_ms=400, speculate_after_ms=None, settle_ms=160))
    scene.speech(800)
    asked = [effect for effect in scene.silence(400) if isinstance(effect, Transcribe)]
    assert asked == [Transcribe(FIRST, SegmentId(0), at(800))]
