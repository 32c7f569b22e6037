"""Tests of turns that sound alone begins and ends, with a recognizer that may never answer."""

from dataclasses import replace

from support.turns.turn_scene import FIRST, SOME_SEGMENT, Scene, at, commit_of, during_reply, has_resumed

from assistant.turns.effects import (
    CommitWithoutReply,
    EndSegment,
    InterruptReply,
    OpenSegment,
    TurnDiscarded,
    TurnEnded,
    TurnQueued,
    TurnStarted,
)
from assistant.turns.events import InputCleared, InputCommitted, KeyPressed, ReplyEnded, ReplyId, TranscriptFailed
from assistant.turns.settings import EndsTurn, InterruptedBy, TurnSettings
from assistant.turns.state.states import Phase
from audio.stt import SegmentId

FIXED = TurnSettings(hangover_ms=500, has_client=True, silence_is_final=True, sound_decides=True)
UNINTERRUPTED = replace(FIXED, interrupted_by=InterruptedBy.CLIENT)


def reports(scene: Scene) -> list[tuple[str, int, float]]:
    """Returns what was reported of turns: the kind, the number, and the onset or end in ms."""
    found = []
    for effect in scene.effects:
        match effect:
            case TurnStarted(turn, onset):
                found.append(("started", turn, onset / 16))
            case TurnQueued(turn, onset):
                found.append(("queued", turn, onset / 16))
            case TurnEnded(turn, end):
                found.append(("ended", turn, end / 16))
    return found


def pending_turn(settings: TurnSettings = FIXED) -> Scene:
    """Returns a scene at 1200 ms in which a turn waits for its transcript."""
    scene = Scene(settings)
    scene.silence(300)
    scene.speech(400)
    scene.silence(500)
    assert reports(scene) == [("started", 1, 300), ("ended", 1, 700)]
    scene.effects.clear()
    return scene


def test_first_frame_of_unlikely_speech_begins_turn() -> None:
    scene = Scene(FIXED)
    scene.silence(300)
    assert TurnStarted(1, at(300)) in scene.uncertain_speech(20, 0.51)


def test_short_word_of_low_probability_ends_after_the_silence() -> None:
    scene = Scene(FIXED)
    scene.silence(300)
    scene.uncertain_speech(80, 0.51)
    assert TurnEnded(1, at(380)) not in scene.silence(480)
    ended = scene.silence(20)
    assert TurnEnded(1, at(380)) in ended
    assert EndSegment(SegmentId(0), at(880)) in ended


def test_pause_shorter_than_the_silence_belongs_to_the_turn() -> None:
    scene = Scene(FIXED)
    scene.speech(400)
    scene.silence(480)
    scene.speech(200)
    scene.silence(600)
    assert reports(scene) == [("started", 1, 0), ("ended", 1, 1080)]


def test_possible_onset_does_not_delay_the_end() -> None:
    scene = Scene(FIXED)
    scene.speech(400)
    scene.silence(400)
    assert TurnEnded(1, at(400)) in scene.possible_onset(100)


def test_speech_while_transcript_is_pending_is_reported_at_once() -> None:
    scene = pending_turn()
    scene.uncertain_speech(100)
    scene.silence(480)
    assert reports(scene) == [("queued", 2, 1200)]
    scene.silence(20)
    assert reports(scene) == [("queued", 2, 1200), ("ended", 2, 1300)]


def test_pause_of_queued_turn_belongs_to_it() -> None:
    scene = pending_turn()
    scene.speech(200)
    scene.silence(480)
    scene.speech(200)
    scene.silence(500)
    assert reports(scene) == [("queued", 2, 1200), ("ended", 2, 2080)]


def test_late_transcripts_are_committed_in_order() -> None:
    scene = pending_turn(replace(FIXED, answers=False))
    for _ in range(2):
        scene.speech(400)
        scene.silence(500)
    scene.effects.clear()
    for turn, text in enumerate(("one", "two", "three"), start=1):
        scene.transcript(ReplyId(turn, 1), text)
        scene.silence(20)
    commits = [(effect.turn, effect.text) for effect in scene.effects if isinstance(effect, CommitWithoutReply)]
    assert commits == [(1, "one"), (2, "two"), (3, "three")]
    assert [kind for kind, _, _ in reports(scene)] == ["started", "started"], "the ends were reported before"


def test_queued_speech_interrupts_reply_to_late_transcript() -> None:
    scene = pending_turn()
    scene.speech(400)
    assert commit_of(scene.transcript(FIRST, "what time is it")).text == "what time is it"
    assert InterruptReply(FIRST) in scene.speech(20)
    scene.silence(500)
    assert reports(scene) == [("queued", 2, 1200), ("started", 2, 1200), ("ended", 2, 1620)]


def test_turn_without_words_is_discarded_after_its_end() -> None:
    scene = pending_turn()
    (discarded,) = [effect for effect in scene.transcript(FIRST, "") if isinstance(effect, TurnDiscarded)]
    assert (discarded.turn, discarded.reason) == (1, "no words")


def test_oldest_of_too_many_pending_turns_is_given_up() -> None:
    scene = pending_turn()
    for _ in range(FIXED.start.max_queued_turns + 1):
        scene.speech(200)
        scene.silence(500)
    assert [turn for kind, turn, _ in reports(scene) if kind == "ended"] == list(range(2, 11))
    lost = [(effect.turn, effect.reason) for effect in scene.effects if isinstance(effect, TurnDiscarded)]
    assert lost == [(2, "stuck")]


def test_cleared_queued_speech_is_discarded() -> None:
    scene = pending_turn()
    scene.speech(200)
    assert scene.handle(InputCleared(at(1400))) == (TurnDiscarded(2, at(1400), at(1400), "cleared"),)


def test_client_commits_queued_speech() -> None:
    scene = pending_turn()
    scene.speech(200)
    assert scene.handle(InputCommitted(at(1400))) == (TurnEnded(2, at(1400)),)


def test_empty_commit_while_transcript_is_pending_is_a_turn_of_its_own() -> None:
    scene = pending_turn()
    assert scene.handle(InputCommitted(at(1200))) == (TurnEnded(2, at(1200)),)
    scene.transcript(FIRST, "all of it")
    assert TurnDiscarded(2, at(1220), at(1200), "no words", submitted=True) in scene.silence(20)


def test_overlong_turn_goes_on_as_the_next_one_at_once() -> None:
    scene = Scene(replace(FIXED, max_turn_s=1.0))
    scene.speech(1400)
    scene.silence(500)
    assert reports(scene) == [("started", 1, 0), ("ended", 1, 1000), ("queued", 2, 1000), ("ended", 2, 1400)]


def test_speech_during_uninterrupted_reply_is_reported_from_its_first_frame() -> None:
    scene, _ = during_reply(UNINTERRUPTED)
    scene.effects.clear()
    start_ms = scene.now_ms
    assert TurnStarted(2, at(start_ms)) in scene.uncertain_speech(20)
    scene.silence(500)
    scene.speech(200)
    scene.silence(500)
    end_ms = start_ms + 720
    expected = [("started", 2, start_ms), ("ended", 2, start_ms + 20), ("queued", 3, end_ms - 200)]
    assert reports(scene) == [*expected, ("ended", 3, end_ms)]
    commit = [effect for effect in scene.transcript(ReplyId(2, 1), "one") if isinstance(effect, CommitWithoutReply)]
    assert [effect.text for effect in commit] == ["one"]
    opened = [effect for effect in scene.silence(20) if isinstance(effect, OpenSegment)]
    assert [effect.onset for effect in opened] == [at(end_ms - 200)]
    assert scene.phase() is Phase.REPLYING


def test_turn_that_ended_during_reply_is_answered_after_it() -> None:
    scene, reply = during_reply(UNINTERRUPTED)
    scene.speech(400)
    scene.silence(600)
    scene.handle(ReplyEnded(at(scene.now_ms), reply))
    scene.speech(400)
    scene.silence(500)
    assert [turn for kind, turn, _ in reports(scene) if kind == "ended"] == [1, 2, 3]
    assert scene.phase() is Phase.AWAITING_TRANSCRIPT
    assert commit_of(scene.transcript(ReplyId(2, 1), "and now")).text == "and now"


def test_reply_resumes_after_noise_in_the_wait_for_its_transcript() -> None:
    scene = pending_turn()
    scene.uncertain_speech(40)
    scene.transcript(FIRST, "what time is it")
    assert InterruptReply(FIRST) in scene.silence(500)
    scene.transcript(ReplyId(2, 1), "")
    scene.silence(1000)
    assert has_resumed(scene)


def test_reply_resumes_after_two_noises_in_the_wait_for_its_transcript() -> None:
    scene = pending_turn()
    for _ in range(2):
        scene.uncertain_speech(40)
        scene.silence(500)
    scene.transcript(FIRST, "what time is it")
    for turn in (2, 3):
        scene.silence(20)
        scene.transcript(ReplyId(turn, 1), "")
    scene.silence(1000)
    assert has_resumed(scene)


def test_queued_words_leave_interrupted_reply_ended() -> None:
    scene = pending_turn()
    scene.speech(400)
    scene.transcript(FIRST, "what time is it")
    scene.silence(520)
    assert commit_of(scene.transcript(ReplyId(2, 1), "in Rome")).text == "in Rome"
    scene.silence(1000)
    assert not has_resumed(scene)


def test_client_commit_of_queued_turn_interrupts_reply_as_the_client() -> None:
    scene = pending_turn()
    scene.speech(400)
    scene.handle(InputCommitted(at(scene.now_ms)))
    scene.transcript(FIRST, "what time is it")
    assert InterruptReply(FIRST, "client") in scene.silence(20)


def test_lost_transcript_beside_reply_does_not_block_later_turns() -> None:
    scene, _ = during_reply(UNINTERRUPTED)
    for _ in range(2):
        scene.speech(400)
        scene.silence(500)
    lost = scene.handle(TranscriptFailed(at(scene.now_ms), ReplyId(2, 1), SOME_SEGMENT))
    assert [effect.reason for effect in lost if isinstance(effect, TurnDiscarded)] == ["stuck"]
    started = [effect.turn for effect in scene.silence(20) if isinstance(effect, TurnStarted)]
    assert started == [3], "the next turn is transcribed"
    assert scene.phase() is Phase.REPLYING


def test_segment_of_turn_that_ended_during_reply_ends_once() -> None:
    scene, reply = during_reply(UNINTERRUPTED)
    scene.effects.clear()
    scene.speech(400)
    scene.silence(600)
    scene.handle(ReplyEnded(at(scene.now_ms), reply))
    scene.silence(100)
    assert len([effect for effect in scene.effects if isinstance(effect, EndSegment)]) == 1


def test_reported_turn_in_queue_outlasts_change_of_settings() -> None:
    scene = pending_turn()
    scene.uncertain_speech(40)
    scene.turns.settings = replace(FIXED, sound_decides=False)
    scene.silence(1000)
    scene.transcript(FIRST, "")
    assert TurnStarted(2, at(1200)) in scene.silence(20)


def test_turn_whose_end_was_reported_is_not_joined_with_later_speech() -> None:
    scene = pending_turn()
    for _ in range(FIXED.start.max_queued_turns):
        scene.speech(200)
        scene.silence(500)
    scene.turns.settings = replace(FIXED, sound_decides=False)
    scene.speech(600)
    scene.silence(500)
    for turn in range(1, 11):
        scene.silence(20)
        scene.transcript(ReplyId(turn, 1), "")
    ends = [effect.turn for effect in scene.effects if isinstance(effect, TurnDiscarded)]
    assert ends == list(range(1, 11))


def test_changed_settings_report_pending_end_before_queued_turn() -> None:
    scene = Scene(replace(FIXED, sound_decides=False))
    scene.speech(400)
    scene.silence(500)
    scene.turns.settings = FIXED
    scene.speech(200)
    assert reports(scene) == [("started", 1, 0), ("ended", 1, 400), ("queued", 2, 900)]


def test_end_of_held_turn_is_reported() -> None:
    settings = replace(FIXED, ends_turn=EndsTurn.PUSH_TO_TALK, speculate_after_ms=40)
    scene = Scene(settings)
    scene.handle(KeyPressed(at(0)))
    scene.speech(400)
    scene.silence(200)
    assert TurnEnded(1, at(400)) in scene.handle(InputCommitted(at(scene.now_ms)))


def test_commit_after_reply_ends_the_next_turn() -> None:
    scene, reply = during_reply(UNINTERRUPTED)
    scene.speech(400)
    scene.silence(600)
    scene.handle(ReplyEnded(at(scene.now_ms), reply))
    assert scene.phase() is Phase.AWAITING_TRANSCRIPT, "the turn has ended already"
    assert TurnEnded(3, at(scene.now_ms)) in scene.handle(InputCommitted(at(scene.now_ms)))


def test_queued_commit_lets_complete_reply_play_to_its_end() -> None:
    scene, _ = during_reply(UNINTERRUPTED)
    for _ in range(2):
        scene.speech(400)
        scene.silence(500)
    scene.speech(200)
    scene.handle(InputCommitted(at(scene.now_ms), after_current_reply=True))
    scene.effects.clear()
    for turn in (2, 3):
        scene.transcript(ReplyId(turn, 1), "one")
        scene.silence(20)
    assert TurnStarted(4, at(scene.now_ms - 240)) in scene.effects
    assert scene.phase() is Phase.AWAITING_TRANSCRIPT
    assert not [effect for effect in scene.effects if isinstance(effect, InterruptReply)]


def test_turn_ended_by_client_is_not_reported_again() -> None:
    scene = Scene(FIXED)
    scene.silence(300)
    scene.speech(400)
    scene.handle(InputCommitted(at(scene.now_ms)))
    scene.transcript(FIRST, "a small coffee")
    scene.speech(400)
    scene.silence(600)
    assert [(kind, turn) for kind, turn, _ in reports(scene)] == [
        ("started", 1),
        ("ended", 1),
        ("started", 2),
        ("ended", 2),
    ]
