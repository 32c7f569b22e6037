"""Listening sounds: when a pause is attended with a "mhm", and what stops it."""

from dataclasses import replace
from itertools import pairwise

import pytest
from support.turns.turn_scene import Scene, at, words

from assistant.end_of_turn.estimator import BALANCED, PATIENT, EndOfTurnEstimate
from assistant.pipeline.transcript_requests import RecognizerRequest, SessionEffect
from assistant.turns.effects import (
    CommitTurn,
    DropAttempt,
    EndOfTurn,
    OpenSegment,
    PlayListeningSound,
    StopListeningSound,
)
from assistant.turns.events import EndOfTurnScored, FinalTranscript, ReplyId
from assistant.turns.log.event_entries import parse_entries, settings_entry
from assistant.turns.settings import EndsTurn, ListeningSoundThresholds, TurnSettings
from assistant.turns.state.states import Phase

SOUNDS = ListeningSoundThresholds()
SETTINGS = TurnSettings(speculate_after_ms=40, profile=PATIENT, listening_sounds=SOUNDS)
UNFINISHED, FINISHED = EndOfTurnEstimate(0.02, 200.0, 650.0, "sound"), EndOfTurnEstimate(0.9, 200.0, 650.0, "sound")


class PausingScene(Scene):
    """A user who speaks and pauses."""

    def __init__(self, settings: TurnSettings = SETTINGS) -> None:
        super().__init__(settings)
        self.transcribed: set[ReplyId] = set()
        self.silence(500)

    def pause(
        self,
        estimate: EndOfTurnEstimate | None = UNFINISHED,
        text: str = "i would like to",
        *,
        speech_ms: float = 1000,
        low_confidence: bool = False,
    ) -> None:
        """Speaks, then pauses for 200 ms. The transcript and the estimate arrive."""
        self.speech(speech_ms)
        self.silence(200)
        for effect in self.effects:  # a transcript may request another one
            if isinstance(effect, RecognizerRequest) and effect.reply_id not in self.transcribed:
                self.transcribed.add(effect.reply_id)
                heard = replace(words(text, effect.segment), low_confidence=low_confidence)
                self.handle(FinalTranscript(at(self.now_ms), effect.reply_id, heard))
        if estimate is not None:
            self.score(estimate)

    def score(self, estimate: EndOfTurnEstimate) -> None:
        segment = next(effect.segment for effect in reversed(self.effects) if isinstance(effect, OpenSegment))
        self.handle(EndOfTurnScored(at(self.now_ms), segment, estimate))

    @property
    def sounds(self) -> list[SessionEffect]:
        return [effect for effect in self.effects if isinstance(effect, PlayListeningSound | StopListeningSound)]


def test_pause_that_sounds_unfinished_is_attended_after_700_ms() -> None:
    scene = PausingScene()
    scene.pause()
    assert sounds_of(scene.silence(480)) == []
    assert sounds_of(scene.silence(20)) == [PlayListeningSound(1)]
    assert sounds_of(scene.silence(1000)) == []  # once in a pause
    assert scene.phase() is Phase.USER_SPEAKING


def sounds_of(effects: tuple[SessionEffect, ...]) -> list[SessionEffect]:
    return [effect for effect in effects if isinstance(effect, PlayListeningSound | StopListeningSound)]


def test_sound_stops_with_the_first_frame_of_speech() -> None:
    scene = PausingScene()
    scene.pause()
    scene.silence(600)
    first, *others = scene.speech(20)
    assert first == StopListeningSound(1)
    assert [type(effect) for effect in others] == [DropAttempt]
    assert sounds_of(scene.speech(500)) == []


def test_possible_end_of_speech_does_not_stop_the_sound() -> None:
    """The VAD still reports speech then; it is not new speech."""
    scene = PausingScene()
    scene.pause()
    scene.silence(600)
    assert sounds_of(scene.possible_end(40)) == []


@pytest.mark.parametrize("settings", [replace(SETTINGS, listening_sounds=None), TurnSettings(speculate_after_ms=40)])
def test_sounds_are_off_by_default(settings: TurnSettings) -> None:
    scene = PausingScene(settings)
    scene.pause()
    scene.silence(1700)
    assert scene.sounds == []


@pytest.mark.parametrize("estimate", [None, FINISHED, EndOfTurnEstimate(0.2, 200.0, 650.0, "sound")])
def test_pause_that_does_not_sound_unfinished_is_not_attended(estimate: EndOfTurnEstimate | None) -> None:
    scene = PausingScene(replace(SETTINGS, hangover_ms=2000.0))
    scene.pause(estimate)
    scene.silence(1700)
    assert scene.sounds == []


def test_last_estimate_of_the_pause_counts() -> None:
    scene = PausingScene()
    scene.pause()
    scene.score(EndOfTurnEstimate(0.2, 220.0, 650.0, "sound"))
    scene.silence(600)
    assert scene.sounds == []
    scene.pause(None)  # the estimate of the pause before does not count
    scene.silence(600)
    assert scene.sounds == []


@pytest.mark.parametrize(("text", "low_confidence"), [("", False), ("the", True)])
def test_noise_is_not_attended(text: str, low_confidence: bool) -> None:
    scene = PausingScene()
    scene.pause(text=text, low_confidence=low_confidence)
    scene.silence(1500)
    assert scene.sounds == []


def test_side_talk_is_not_attended() -> None:
    scene = PausingScene()
    scene.speech(1000)
    scene.silence(200)
    for request in [effect for effect in scene.effects if isinstance(effect, RecognizerRequest)]:
        scene.handle(FinalTranscript(at(scene.now_ms), request.reply_id, words("", request.segment), "overheard"))
    scene.score(UNFINISHED)
    scene.silence(1000)
    assert scene.sounds == []


def test_pause_that_is_about_to_end_by_timeout_is_not_attended() -> None:
    """The reply would cut the sound off. Balanced waits 800 ms at most."""
    scene = PausingScene(replace(SETTINGS, profile=BALANCED))
    scene.pause()
    assert [type(effect) for effect in scene.silence(600)].count(EndOfTurn) == 1
    assert scene.sounds == []
    late = PausingScene(replace(SETTINGS, profile=replace(PATIENT, ceiling_ms=820, pausing_ms=820, unfinished_ms=990)))
    late.pause()
    late.silence(700)
    assert late.sounds == []


def test_sound_waits_while_the_user_may_be_resuming() -> None:
    scene = PausingScene()
    scene.pause()
    scene.silence(460)
    assert sounds_of(scene.possible_onset(100)) == []
    assert sounds_of(scene.silence(20)) == [PlayListeningSound(1)]


def test_sounds_are_eight_seconds_apart() -> None:
    scene = PausingScene()
    played_ms = []
    for _ in range(12):
        scene.pause(speech_ms=1500)
        played_ms += [scene.now_ms for _ in range(50) if PlayListeningSound(1) in scene.silence(20)]
    gaps = [later - sooner for sooner, later in pairwise(played_ms)]
    assert len(gaps) >= 2
    assert all(8000 <= gap < 8000 + 2700 for gap in gaps)


def test_interval_spans_turns() -> None:
    scene = PausingScene()
    scene.pause()
    scene.silence(600)
    scene.score(FINISHED)
    scene.silence(20)
    assert scene.phase() is Phase.REPLYING
    scene.speech(400)
    scene.silence(200)
    scene.pause()
    scene.silence(700)
    assert len([effect for effect in scene.sounds if isinstance(effect, PlayListeningSound)]) == 1


@pytest.mark.parametrize(
    "settings", [replace(SETTINGS, answers=False), replace(SETTINGS, ends_turn=EndsTurn.PUSH_TO_TALK)]
)
def test_only_turns_that_silence_ends_and_that_are_answered_are_attended(settings: TurnSettings) -> None:
    scene = PausingScene(settings)
    scene.pause()
    scene.silence(1000)
    assert scene.sounds == []


@pytest.mark.parametrize("estimate", [FINISHED, UNFINISHED])
def test_sound_neither_ends_nor_delays_the_turn(estimate: EndOfTurnEstimate) -> None:
    """The same frames have the same effects at the same times, apart from the sound itself."""
    runs = []
    for thresholds in (SOUNDS, None):
        scene = PausingScene(replace(SETTINGS, listening_sounds=thresholds))
        timed = []
        scene.pause()
        scene.silence(540)
        scene.score(estimate)
        for _ in range(80):
            timed += [(scene.now_ms, effect) for effect in scene.silence(20)]
        runs.append([one for one in timed if not isinstance(one[1], PlayListeningSound)])
        assert len(scene.sounds) == (thresholds is not None)
        assert any(isinstance(effect, CommitTurn) for _, effect in timed)
    assert runs[0] == runs[1]


def test_settings_are_part_of_the_event_log() -> None:
    for settings in (SETTINGS, TurnSettings(), replace(SETTINGS, listening_sounds=replace(SOUNDS, after_ms=900.0))):
        assert list(parse_entries([settings_entry(settings)])) == [settings]
