"""Tests of the transition table: every state has a row, and what a row lacks has no effect."""

from typing import get_args

import pytest
from support.turns.turn_scene import FIRST, SOME_SEGMENT, Scene, at, words

from assistant.turns.events import (
    Event,
    FinalTranscript,
    FrameProcessed,
    InterimTranscript,
    PlaybackProgress,
    ReplyEnded,
    ReportedEvent,
    TranscriptFailed,
)
from assistant.turns.state.states import Phase, State
from assistant.turns.turn_taking import TRANSITIONS


def test_every_state_has_a_row_and_handles_frames() -> None:
    assert set(TRANSITIONS) == set(get_args(State))
    assert all(FrameProcessed in row for row in TRANSITIONS.values())


def test_every_event_has_a_handler_in_some_state() -> None:
    assert {event for row in TRANSITIONS.values() for event in row} == set(get_args(Event))


@pytest.mark.parametrize(
    "event",
    [
        FinalTranscript(at(0), FIRST, words("what time is it")),
        TranscriptFailed(at(0), FIRST, SOME_SEGMENT),
        InterimTranscript(at(0), words("what time is it")),
        PlaybackProgress(at(0), FIRST, 1, audible=True),
        ReplyEnded(at(0), FIRST),
    ],
)
def test_late_report_has_no_effect_while_idle(event: ReportedEvent) -> None:
    scene = Scene()
    assert scene.handle(event) == ()
    assert scene.turns.phase is Phase.IDLE
