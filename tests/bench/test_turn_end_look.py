"""Tests the resume guard on a constructed turn: which answers cut in, and which are held until speech is detected."""

import numpy as np

from assistant.turns.settings import TurnEndThresholds
from audio.frame import Frame
from audio.units import FRAME_SAMPLES, Samples
from audio.vad import VadResult
from bench.turn_end_clips import Turn
from bench.turn_end_look import Look, looks

FRAMES = 150


def frames_with_onsets(stirs: set[int]) -> list[tuple[Frame, VadResult]]:
    """Returns speech in frames 10 to 40 and 58 to 80. The pause is known from frame 44 on, the end from frame 84 on."""
    found = []
    for number in range(FRAMES):
        speaking = 10 <= number < 44 or 58 <= number < 84
        edge = 40 if number < 84 else 80
        voicing = VadResult(
            speaking, Samples(edge * FRAME_SAMPLES), 0.0, possible_onset=number in stirs and not speaking
        )
        start = number * FRAME_SAMPLES
        found.append((Frame(Samples(start), np.zeros(FRAME_SAMPLES, np.int16)), voicing))
    return found


TURN = Turn(
    id="one", speaker="somebody", source="", kind="question", pcm=np.zeros(FRAMES * FRAME_SAMPLES, np.int16),
    start_ms=200, end_ms=1600, pauses=((800, 1180),), made=(), real_until_ms=3000,
)  # fmt: skip


def test_answer_is_held_after_possible_onset() -> None:
    """The pause begins at 800 ms; its end is known at 1180. Frame 55 ends at 1120, after 320 ms of the pause."""
    in_the_pause = [look for look in looks(TURN, frames_with_onsets({55, 56, 57})) if look.label == "pause"]
    held = [look for look in in_the_pause if look.knew]
    assert in_the_pause == [Look("pause", 0.0, False)] * 3 + held
    assert held == [Look("pause", 60.0, True)]


def test_hold_is_limited_for_long_possible_onset() -> None:
    looked = [look for look in looks(TURN, frames_with_onsets(set(range(84, 120)))) if look.label == "end"]
    assert {look.held_ms for look in looked} == {0.0, TurnEndThresholds().max_resume_wait_ms}
    assert not any(look.knew for look in looked)
