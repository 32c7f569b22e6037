"""Tests what happens to speech of voices that the assistant does not listen to."""

from dataclasses import replace

import pytest
from support.turns.turn_scene import FIRST, Scene, at, during_reply, has_resumed, last_requested, words

from assistant.pipeline.transcript_requests import RecognizerRequest, SessionEffects
from assistant.speakers.verdict import VoiceVerdict
from assistant.turns.effects import (
    CommitTurn,
    DuckReply,
    EndSegment,
    InterruptReply,
    OpenSegment,
    RequestTranscript,
    TurnDiscarded,
    TurnStarted,
    UnduckReply,
)
from assistant.turns.events import FinalTranscript, InterimTranscript, ReplyEnded, ReplyId, VoiceJudged
from assistant.turns.settings import FocusThresholds, TurnSettings
from assistant.turns.state.states import Phase
from audio.stt import SegmentId

FOCUSED = TurnSettings(focus=FocusThresholds())
WITH_WAKE_PHRASE = replace(FOCUSED, focus=FocusThresholds(waits_for_words=True))


def judged(
    scene: Scene, verdict: VoiceVerdict, since_ms: float | None = None, until_ms: float | None = None
) -> SessionEffects:
    """Reports a verdict on the speech since a time, or since its onset, until a time, or until now."""
    since = at(scene.edge_ms if since_ms is None else since_ms)
    until = at(scene.now_ms if until_ms is None else until_ms)
    return scene.handle(VoiceJudged(at(scene.now_ms), since, until, verdict))


def discarded(effects: SessionEffects) -> list[str]:
    return [effect.reason for effect in effects if isinstance(effect, TurnDiscarded)]


def started(effects: SessionEffects) -> list[int]:
    return [effect.turn for effect in effects if isinstance(effect, TurnStarted)]


# ---- turns ----


def test_turn_of_another_voice_is_discarded() -> None:
    scene = Scene(FOCUSED)
    scene.silence(500)
    assert started(scene.speech(1000)) == [1]
    assert discarded(judged(scene, "other")) == ["other voice"]
    assert scene.phase() is Phase.IDLE
    assert scene.speech(5000) == (), "it goes on and is ignored"


def test_unsure_verdict_changes_nothing() -> None:
    scene = Scene(FOCUSED)
    scene.silence(500)
    scene.speech(1000)
    assert judged(scene, "unsure") == ()
    assert scene.phase() is Phase.USER_SPEAKING


def test_without_focus_no_verdict_changes_anything() -> None:
    scene, _ = during_reply(replace(FOCUSED, focus=None))
    scene.speech(20)
    assert judged(scene, "other") == ()
    assert InterruptReply(FIRST) in scene.speech(400)
    assert judged(scene, "other") == ()
    assert scene.phase() is Phase.USER_SPEAKING


def test_short_turn_without_verdict_is_answered() -> None:
    scene = Scene(FOCUSED)
    assert scene.commit_reply("stop") == FIRST


def test_turn_is_discarded_by_a_verdict_on_its_end() -> None:
    scene = Scene(FOCUSED)
    scene.silence(500)
    scene.speech(800)
    scene.silence(420)
    assert scene.phase() is Phase.AWAITING_TRANSCRIPT
    assert discarded(judged(scene, "other", since_ms=500)) == ["other voice"]


def test_verdict_on_speech_after_a_turn_does_not_discard_it() -> None:
    scene = Scene(FOCUSED)
    scene.silence(500)
    scene.speech(800)
    scene.silence(420)
    assert judged(scene, "other", since_ms=1400) == ()
    assert scene.phase() is Phase.AWAITING_TRANSCRIPT


def test_turn_that_was_long_unsure_is_not_discarded() -> None:
    scene = Scene(FOCUSED)
    scene.silence(500)
    for _ in range(3):
        scene.speech(600)
        judged(scene, "unsure")
    assert judged(scene, "other", since_ms=500) == ()
    assert scene.phase() is Phase.USER_SPEAKING


def own_turn_and_television() -> Scene:
    """Returns a scene in which another voice goes on after the user's own, which ended at 2 s."""
    scene = Scene(FOCUSED)
    scene.silence(500)
    scene.speech(1500)
    judged(scene, "own")
    scene.speech(600)
    assert judged(scene, "other", since_ms=2000) == ()
    return scene


def test_own_turn_ends_where_another_voice_goes_on() -> None:
    scene = own_turn_and_television()
    effects = scene.speech(700)
    segment = SegmentId(at(200))
    assert EndSegment(segment, at(2000)) in effects
    assert [effect.speech_end for effect in effects if isinstance(effect, RecognizerRequest)] == [at(2000)]
    reply = last_requested(scene)
    committed = scene.transcript(reply, "what time is it")
    assert [effect.text for effect in committed if isinstance(effect, CommitTurn)] == ["what time is it"]
    assert scene.speech(3000) == (), "the other voice goes on during the reply"


@pytest.mark.parametrize("verdicts", [["own"], ["unsure", "unsure", "unsure"]])
def test_other_voice_within_a_sentence_does_not_end_the_turn(verdicts: list[VoiceVerdict]) -> None:
    scene = own_turn_and_television()
    for verdict in verdicts:
        scene.speech(500)
        judged(scene, verdict)
    assert scene.speech(2000) == ()
    assert scene.phase() is Phase.USER_SPEAKING
    scene.silence(420)
    scene.transcript(last_requested(scene), "I'd like a table")
    assert scene.phase() is Phase.REPLYING


def test_late_verdict_on_television_does_not_discard_own_turn() -> None:
    scene = Scene(FOCUSED)
    scene.silence(1500)
    scene.speech(600)
    assert judged(scene, "other", since_ms=500, until_ms=1400) == ()
    assert scene.phase() is Phase.USER_SPEAKING
    scene.silence(420)
    assert judged(scene, "other", since_ms=500, until_ms=1400) == ()
    assert scene.phase() is Phase.AWAITING_TRANSCRIPT


def test_late_verdict_on_television_does_not_dismiss_interruption() -> None:
    scene, reply = during_reply(replace(FOCUSED, interrupt_after_ms=300))
    onset_ms = scene.now_ms
    scene.speech(100)
    judged(scene, "other", since_ms=onset_ms - 900, until_ms=onset_ms - 100)
    assert InterruptReply(reply) in scene.speech(400)


def test_short_own_word_before_another_voice_is_answered() -> None:
    scene = Scene(FOCUSED)
    scene.silence(500)
    scene.speech(500)
    scene.silence(200)
    scene.speech(1000)
    judged(scene, "other")
    scene.speech(300)
    scene.transcript(last_requested(scene), "stop")
    assert scene.phase() is Phase.REPLYING


def test_own_speech_that_one_verdict_ignored_returns_whole() -> None:
    scene = Scene(FOCUSED)
    scene.silence(500)
    scene.speech(600)
    judged(scene, "other")
    scene.speech(600)
    assert judged(scene, "unsure") == ()
    scene.speech(600)
    effects = judged(scene, "unsure")
    (opened,) = [effect for effect in effects if isinstance(effect, OpenSegment)]
    assert (opened.segment, opened.onset) == (SegmentId(at(500)), at(500))
    scene.silence(420)
    scene.transcript(last_requested(scene), "what time is it")
    assert scene.phase() is Phase.REPLYING


def test_unsure_voice_after_television_has_no_television() -> None:
    scene = Scene(FOCUSED)
    scene.silence(500)
    for _ in range(3):
        scene.speech(600)
        judged(scene, "other")
    for _ in range(2):
        scene.speech(600)
        effects = judged(scene, "unsure", since_ms=2300)
    (opened,) = [effect for effect in effects if isinstance(effect, OpenSegment)]
    assert (opened.segment, opened.onset) == (SegmentId(at(2000)), at(2300))


def test_own_voice_within_ignored_speech_starts_a_turn_with_its_first_word() -> None:
    scene = Scene(FOCUSED)
    scene.silence(500)
    scene.speech(1000)
    judged(scene, "other")
    scene.speech(1000)
    assert judged(scene, "unsure", since_ms=1500) == ()
    scene.speech(500)
    effects = judged(scene, "own", since_ms=1600)
    assert started(effects) == [2]
    (opened,) = [effect for effect in effects if isinstance(effect, OpenSegment)]
    assert (opened.segment, opened.onset) == (SegmentId(at(1300)), at(1600))
    assert scene.phase() is Phase.USER_SPEAKING


def test_own_voice_starts_a_turn_although_all_speech_has_ended() -> None:
    scene = Scene(FOCUSED)
    scene.silence(500)
    scene.speech(1000)
    judged(scene, "other")
    scene.speech(1500)
    scene.silence(60)
    assert started(judged(scene, "own", since_ms=1600)) == [2]
    scene.silence(420)
    scene.transcript(last_requested(scene), "what time is it")
    assert scene.phase() is Phase.REPLYING


def test_candidate_of_another_voice_is_dropped() -> None:
    scene = Scene(FOCUSED)
    scene.silence(500)
    scene.uncertain_speech(300)
    assert judged(scene, "other") == ()
    assert scene.speech(2000) == ()


@pytest.mark.parametrize("verdict", ["own", "unsure"])
def test_next_stretch_is_a_turn_again(verdict: VoiceVerdict) -> None:
    scene = Scene(FOCUSED)
    scene.silence(500)
    scene.speech(1000)
    judged(scene, "other")
    scene.silence(1000)
    assert started(scene.speech(1000)) == [2]
    assert judged(scene, verdict) == ()
    assert scene.phase() is Phase.USER_SPEAKING


def test_turn_that_the_client_ended_is_never_another_voice() -> None:
    scene = Scene(replace(FOCUSED, ends_turn=TurnSettings().ends_turn.CLIENT))
    scene.silence(500)
    scene.speech(1000)
    assert judged(scene, "other") == ()
    assert scene.phase() is Phase.USER_SPEAKING


# ---- the wake phrase ----


def test_wake_phrase_makes_any_voice_count() -> None:
    scene = Scene(WITH_WAKE_PHRASE)
    scene.silence(500)
    scene.speech(1000)
    assert discarded(judged(scene, "other")) == []
    scene.silence(420)
    reply = last_requested(scene)
    scene.handle(FinalTranscript(at(scene.now_ms), reply, words("what time is it"), calls_assistant=True))
    assert scene.phase() is Phase.REPLYING


def test_other_voice_without_wake_phrase_is_discarded_with_its_words() -> None:
    scene = Scene(WITH_WAKE_PHRASE)
    scene.silence(500)
    scene.speech(1000)
    judged(scene, "other")
    scene.silence(420)
    effects = scene.transcript(last_requested(scene), "it rains today")
    assert discarded(effects) == ["other voice"]


def test_words_without_wake_phrase_end_the_turn_of_television() -> None:
    scene = Scene(WITH_WAKE_PHRASE)
    scene.silence(500)
    scene.speech(1000)
    asked = judged(scene, "other")
    assert discarded(scene.requested_transcript("it rains today", asked)) == ["other voice"]
    assert scene.speech(5000) == ()


def test_wake_phrase_within_speech_keeps_the_turn_of_any_voice() -> None:
    scene = Scene(WITH_WAKE_PHRASE)
    scene.silence(500)
    scene.speech(1000)
    (asked,) = judged(scene, "other")
    assert isinstance(asked, RequestTranscript)
    scene.handle(InterimTranscript(at(scene.now_ms), words("computer", asked.segment), True, was_requested=True))
    assert judged(scene, "other") == ()
    assert scene.phase() is Phase.USER_SPEAKING


def test_words_without_wake_phrase_dismiss_television() -> None:
    scene, _ = during_reply(replace(WITH_WAKE_PHRASE, interrupt_after_ms=2000))
    asked = scene.speech(900)
    judged(scene, "other")
    heard = InterimTranscript(at(scene.now_ms), words("it rains", SegmentId(at(2500))), was_requested=True)
    scene.handle(heard)
    assert not scene.turns.has_overlap
    assert asked


def test_wake_phrase_of_another_voice_interrupts_a_reply() -> None:
    scene, reply = during_reply(WITH_WAKE_PHRASE)
    scene.speech(20)
    judged(scene, "other")
    scene.speech(400)
    assert scene.phase() is Phase.REPLYING
    called = InterimTranscript(at(scene.now_ms), words("computer", SegmentId(at(2500))), has_wake_phrase=True)
    assert InterruptReply(reply) in scene.handle(called)


# ---- replies ----


def test_own_voice_interrupts_as_quickly_as_without_focus() -> None:
    effects = []
    for settings in (FOCUSED, replace(FOCUSED, focus=None)):
        scene, _ = during_reply(settings)
        effects.append((scene.speech(400), scene.now_ms))
    assert effects[0] == effects[1]


def test_reply_that_another_voice_interrupted_resumes_at_once() -> None:
    scene, reply = during_reply(FOCUSED)
    assert InterruptReply(reply) in scene.speech(1000)
    assert discarded(judged(scene, "other")) == ["other voice"]
    scene.speech(40)
    assert has_resumed(scene)


def test_television_that_goes_on_does_not_interrupt() -> None:
    scene, reply = television_before_reply()
    effects = scene.speech(700)
    judged(scene, "other")
    effects += scene.speech(2000)
    assert not any(isinstance(effect, DuckReply | InterruptReply) for effect in effects)
    assert scene.turns.replying == reply


def television_before_reply() -> tuple[Scene, ReplyId]:
    """Returns a scene in which another voice has just paused during a reply, and the reply."""
    scene, reply = during_reply(replace(FOCUSED, interrupt_after_ms=300))
    scene.speech(200)
    judged(scene, "other")
    scene.speech(500)
    judged(scene, "other")
    scene.silence(300)
    return scene, reply


def test_own_voice_after_television_interrupts_when_it_is_judged() -> None:
    scene, reply = television_before_reply()
    scene.speech(600)
    judged(scene, "own")
    assert any(isinstance(effect, InterruptReply) for effect in scene.speech(20))
    assert scene.phase() is Phase.USER_SPEAKING
    assert reply == FIRST


def test_short_own_word_after_television_is_transcribed() -> None:
    scene, _ = television_before_reply()
    scene.speech(400)
    asked = scene.silence(60)
    judged(scene, "unsure")
    asked += scene.silence(140)
    assert InterruptReply(FIRST) in scene.requested_transcript("stop", asked)


def test_speech_after_television_interrupts_without_verdict() -> None:
    scene, reply = television_before_reply()
    assert InterruptReply(reply) not in scene.speech(780)
    assert InterruptReply(reply) in scene.speech(60)


def test_requested_word_after_television_interrupts() -> None:
    scene, reply = television_before_reply()
    scene.speech(400)
    asked = scene.silence(200)
    assert InterruptReply(reply) in scene.requested_transcript("stop", asked)


def test_echo_judged_once_does_not_delay_interruption() -> None:
    scene, reply = during_reply(replace(FOCUSED, interrupt_after_ms=300))
    scene.speech(200)
    judged(scene, "other")
    scene.silence(300)
    assert InterruptReply(reply) in scene.speech(400)


def test_overlap_of_another_voice_is_dismissed_at_full_volume() -> None:
    scene, reply = during_reply(replace(FOCUSED, interrupt_after_ms=2000))
    assert DuckReply(reply) in scene.speech(900)
    effects = judged(scene, "other")
    assert UnduckReply(reply) in effects
    assert scene.speech(5000) == ()


def test_own_voice_within_ignored_speech_interrupts_a_reply() -> None:
    scene, reply = during_reply(replace(FOCUSED, interrupt_after_ms=600))
    scene.speech(500)
    judged(scene, "other")
    scene.speech(1500)
    effects = judged(scene, "own", since_ms=scene.now_ms - 1000)
    assert any(isinstance(effect, OpenSegment) for effect in effects)
    assert any(isinstance(effect, InterruptReply) for effect in scene.speech(700))
    assert reply == FIRST


def test_reply_that_own_speech_had_retracted_is_given_after_another_voice() -> None:
    scene = Scene(FOCUSED)
    scene.commit_reply()
    scene.speech(1000)  # before the reply is heard
    effects = judged(scene, "other")
    assert [effect.text for effect in effects if isinstance(effect, CommitTurn)] == ["what time is it"]


def test_television_after_a_reply_is_ignored() -> None:
    scene, reply = during_reply(FOCUSED)
    scene.handle(ReplyEnded(at(scene.now_ms), reply))
    scene.speech(1000)
    judged(scene, "other")
    assert scene.phase() is Phase.IDLE
