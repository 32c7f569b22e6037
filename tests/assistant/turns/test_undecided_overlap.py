"""Tests of ducking and segments during overlaps that stay undecided."""

import pytest
from support.turns.turn_scene import Scene, at

from assistant.pipeline.transcript_requests import RecognizerRequest
from assistant.turns.effects import (
    CloseSegment,
    DuckReply,
    Effect,
    InterruptReply,
    OpenSegment,
    TurnStarted,
    UnduckReply,
)
from assistant.turns.events import ReplyEnded, ReplyId, ReplyRequested
from assistant.turns.state.states import Phase
from audio.stt import SegmentId


def test_intermittent_uncertain_speech_ducks_for_one_second() -> None:
    scene = Scene()
    scene.commit_reply(words_heard=3, audible=True)
    scene.silence(1000)
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
    scene = Scene()
    reply = scene.commit_reply(words_heard=3, audible=True)
    scene.silence(1000)
    scene.uncertain_speech(160)
    asked = scene.silence(silence_ms)
    assert scene.handle(ReplyEnded(at(scene.now_ms), reply)) == (UnduckReply(reply),)
    assert scene.phase() is Phase.IDLE
    asked += scene.silence(160 - silence_ms)
    assert scene.requested_transcript(text, asked) == (said or (CloseSegment(SegmentId(at(2500)), 1, used=False),))
    asking = [effect for effect in scene.silence(600) if isinstance(effect, RecognizerRequest)]
    assert [effect.speech_end for effect in asking] == [at(2960)] * len(said)


def test_continuous_uncertain_speech_ducks_for_one_second() -> None:
    scene = Scene()
    reply = scene.commit_reply(words_heard=3, audible=True)
    scene.silence(1000)
    assert scene.uncertain_speech(1000) == (DuckReply(reply), OpenSegment(SegmentId(at(2500)), at(2800)))
    assert scene.uncertain_speech(20) == (UnduckReply(reply),)
    assert scene.uncertain_speech(3000) == ()
    assert scene.speech(280) == (), "certain speech after it still needs 300 ms"
    assert scene.speech(20) == (TurnStarted(2, at(2800)), InterruptReply(reply))


def test_long_uncertain_speech_is_discarded_without_transcript() -> None:
    scene = Scene()
    reply = scene.commit_reply(words_heard=3, audible=True)
    scene.silence(1000)
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
