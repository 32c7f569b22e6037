"""Tests what counts as a detected interruption."""

import base64

import numpy as np
import pytest

from bench.conversations.reply_listener import DUCK, SPEECH_STARTED, HeardReply, ReplyListener
from bench.serving.rows import Row
from bench.serving.scenarios import interrupted

BEGIN_S = 12.0
ASKED_S = 11.0


def playing_reply(*events: tuple[float, str], seconds: float = 8.0) -> tuple[ReplyListener, HeardReply]:
    """Returns a reply that plays from second 10 on, and events after it."""
    listener = ReplyListener()
    sound = np.full(round(seconds * 24_000), 3000, "<i2").tobytes()
    listener.receive(10.0, {"type": "response.created", "response": {"id": "r"}})
    listener.receive(
        10.0, {"type": "response.output_audio.delta", "response_id": "r", "delta": base64.b64encode(sound).decode()}
    )
    for at_s, kind in events:
        listener.receive(at_s, {"type": kind})
    return listener, listener.replies[0]


def interruption_row(*events: tuple[float, str], seconds: float = 8.0) -> Row:
    listener, reply = playing_reply(*events, seconds=seconds)
    return interrupted(Row("bargein", "a"), listener, reply, ASKED_S, BEGIN_S)


def test_duck_and_stop_are_timed_from_speech_onset() -> None:
    row = interruption_row((12.1, DUCK), (12.25, SPEECH_STARTED))
    assert row.duck_ms == pytest.approx(100)
    assert row.stop_ms == pytest.approx(250)
    assert (row.lost, row.why) == ("", "")


def test_unnoticed_interruption_has_no_stop() -> None:
    row = interruption_row()
    assert (row.duck_ms, row.stop_ms, row.lost, row.why) == (None, None, "", "")


@pytest.mark.parametrize("kind", [DUCK, SPEECH_STARTED], ids=["duck", "speech started"])
def test_stop_before_speech_does_not_count(kind: str) -> None:
    row = interruption_row((11.5, kind), (12.3, SPEECH_STARTED))
    assert (row.stop_ms, row.why, row.lost) == (None, "stopped before any speech", "")


def test_events_before_the_clip_do_not_count() -> None:
    assert interruption_row((10.5, DUCK), (12.3, SPEECH_STARTED)).stop_ms == pytest.approx(300)


def test_reply_that_ended_by_itself_is_void() -> None:
    assert interruption_row((12.3, SPEECH_STARTED), seconds=1.5).lost == "the reply had already ended"
