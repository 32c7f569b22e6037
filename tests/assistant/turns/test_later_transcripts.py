"""Tests of turn taking alone with several transcripts for one attempt, as a recognizer's adapter may deliver them."""

from dataclasses import replace

import pytest
from support.turns.turn_scene import FIRST, at, words

from assistant.turns.effects import CloseSegment, CommitTurn, DropAttempt, Effects, EndOfTurn, PrepareReply, Transcribe
from assistant.turns.events import FinalTranscript, FrameProcessed, ReplyId, TranscriptExpected
from assistant.turns.settings import TurnSettings
from assistant.turns.state.states import Phase
from assistant.turns.turn_taking import TurnTaking
from audio.stt import SegmentId
from audio.vad import VadResult

SECOND = ReplyId(1, 2)
SPEECH_MS, HANGOVER_MS = 800, 400


def after_speech(silence_ms: int, *, settled: bool) -> tuple[TurnTaking, Effects]:
    """Runs a turn up to a silence, in which a transcript is expected after 40 ms. Returns the last effects."""
    turns = TurnTaking(TurnSettings(hangover_ms=HANGOVER_MS, speculate_after_ms=40))
    effects: Effects = ()
    for ms in range(20, SPEECH_MS + silence_ms + 20, 20):
        speaking = ms <= SPEECH_MS
        effects = turns.handle(FrameProcessed(at(ms), VadResult(speaking, at(0 if speaking else SPEECH_MS), speaking)))
        if ms == SPEECH_MS + 40:
            assert effects == (Transcribe(FIRST, SegmentId(0), at(SPEECH_MS), "draft"),)
            assert turns.handle(TranscriptExpected(at(ms), FIRST, settled)) == ()
    return turns, effects


def silent_frame(silence_ms: int) -> FrameProcessed:
    return FrameProcessed(at(SPEECH_MS + silence_ms), VadResult(False, at(SPEECH_MS), 0.0))


def transcript(turns: TurnTaking, reply: ReplyId, text: str, *, is_draft: bool = False) -> Effects:
    return turns.handle(FinalTranscript(at(SPEECH_MS + HANGOVER_MS), reply, replace(words(text), is_draft=is_draft)))


def committed(reply: ReplyId, text: str) -> Effects:
    return (CommitTurn(reply, text, text, at(SPEECH_MS)), CloseSegment(SegmentId(0), 1))


def test_settled_transcript_is_committed_at_end_of_turn() -> None:
    turns, _ = after_speech(HANGOVER_MS - 20, settled=True)
    assert transcript(turns, FIRST, "hello") == (PrepareReply(FIRST, "hello", "hello"),)
    assert turns.handle(silent_frame(HANGOVER_MS)) == (EndOfTurn(1), *committed(FIRST, "hello"))


def test_end_of_turn_waits_for_settled_transcript() -> None:
    turns, _ = after_speech(HANGOVER_MS - 20, settled=False)
    transcript(turns, FIRST, "hello")
    assert turns.handle(silent_frame(HANGOVER_MS)) == (EndOfTurn(1),)
    turns.handle(TranscriptExpected(at(SPEECH_MS + HANGOVER_MS), SECOND, settled=True))
    assert transcript(turns, SECOND, "Hello.") == (DropAttempt(SECOND, "same words"), *committed(FIRST, "hello"))


def test_later_transcript_with_other_words_replaces_attempt() -> None:
    turns, _ = after_speech(HANGOVER_MS, settled=False)
    transcript(turns, FIRST, "hello")
    turns.handle(TranscriptExpected(at(SPEECH_MS + HANGOVER_MS), SECOND, settled=True))
    assert transcript(turns, SECOND, "hello there") == (
        DropAttempt(FIRST, "other words"),
        PrepareReply(SECOND, "hello there", "hello there"),
        *committed(SECOND, "hello there"),
    )


def test_draft_is_never_committed() -> None:
    turns, _ = after_speech(HANGOVER_MS, settled=True)
    assert transcript(turns, FIRST, "hello", is_draft=True) == (PrepareReply(FIRST, "hello", "hello"),)
    assert turns.phase is Phase.AWAITING_TRANSCRIPT


@pytest.mark.parametrize("reply", [FIRST, ReplyId(2, 2)], ids=["used id", "id of another turn"])
def test_transcript_that_no_attempt_expects_is_ignored(reply: ReplyId) -> None:
    turns, _ = after_speech(HANGOVER_MS, settled=False)
    transcript(turns, FIRST, "hello")
    turns.handle(TranscriptExpected(at(SPEECH_MS + HANGOVER_MS), reply, settled=True))
    assert transcript(turns, reply, "hello there") == ()
    assert turns.phase is Phase.AWAITING_TRANSCRIPT
