"""The look's worth, on a turn by hand: which answers would have cut in, and which were held back until it was known."""

import numpy as np

from assistant.turns.resume_guard import LOOK_MS
from audio.frame import Frame
from audio.units import FRAME_SAMPLES, Samples
from audio.vad import VadResult
from bench.turn_end_clips import Turn
from bench.turn_end_look import Look, looks

FRAMES = 150


def heard(stirs: set[int]) -> list[tuple[Frame, VadResult]]:
    """Voice in frames 10 to 40, a pause known from 44 on, voice again from 58 to 80; the end is known from 84 on."""
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


def test_an_answer_is_held_back_where_the_frame_before_it_stirs() -> None:
    """The pause begins at 800 ms; it is known at 1180 that it is over. Frame 55 ends at 1120, where 320 ms are over."""
    in_the_pause = [look for look in looks(TURN, heard({55, 56, 57})) if look.label == "pause"]
    held = [look for look in in_the_pause if look.knew]
    assert in_the_pause == [Look("pause", 0.0, False)] * 3 + held
    assert held == [Look("pause", 60.0, True)]


def test_what_stirs_for_longer_than_the_look_is_not_waited_for() -> None:
    looked = [look for look in looks(TURN, heard(set(range(84, 120)))) if look.label == "end"]
    assert {look.held_ms for look in looked} == {0.0, LOOK_MS}
    assert not any(look.knew for look in looked)
