"""Tests when a reply becomes audible, and when it ends."""

import base64

import numpy as np
import pytest

from audio.units import REPLY_RATE_HZ, Pcm
from bench.ear import SPEECH_STARTED, Ear, Event


def loud(ms: int) -> Pcm:
    return np.full(ms * REPLY_RATE_HZ // 1000, 3000, np.int16)


def quiet(ms: int) -> Pcm:
    return np.zeros(ms * REPLY_RATE_HZ // 1000, np.int16)


def begun(name: str = "r1") -> Event:
    return {"type": "response.created", "response": {"id": name, "status": "in_progress"}}


def sound(pcm: Pcm, name: str = "r1") -> Event:
    return {
        "type": "response.output_audio.delta",
        "response_id": name,
        "delta": base64.b64encode(pcm.tobytes()).decode(),
    }


def done(status: str, name: str = "r1") -> Event:
    return {"type": "response.done", "response": {"id": name, "status": status}}


def heard(*events: tuple[float, Event]) -> Ear:
    ear = Ear()
    for at_s, event in events:
        ear.hear(at_s, event)
    return ear


def test_leading_silence_counts_as_latency() -> None:
    (reply,) = heard((1.0, begun()), (1.0, sound(np.concatenate([quiet(70), loud(200)])))).replies
    assert reply.audible_s == pytest.approx(1.07)
    assert reply.leading_ms == pytest.approx(70)


def test_onset_may_be_in_an_earlier_piece_than_its_detection() -> None:
    ear = heard((1.0, begun()), (1.0, sound(np.concatenate([quiet(60), loud(40)]))))
    assert ear.replies[0].audible_s is None
    ear.hear(1.5, sound(loud(100)))  # too late: the first piece was played by 1.1
    assert ear.replies[0].audible_s == pytest.approx(1.06)
    assert ear.replies[0].plays_until_s == pytest.approx(1.6)


def test_early_sound_plays_after_previous_sound() -> None:
    ear = heard((1.0, begun()), (1.0, sound(quiet(500))), (1.1, sound(loud(200))))
    assert ear.replies[0].audible_s == pytest.approx(1.5)
    assert ear.silent_at_s() == pytest.approx(1.7)


def test_click_does_not_count_as_reply() -> None:
    ear = heard((1.0, begun()), (1.0, sound(np.concatenate([loud(30), quiet(400)]))), (1.1, done("completed")))
    assert ear.replies[0].audible_s is None
    assert ear.replies[0].leading_ms == 0


def test_speech_stops_playback_and_keeps_played_sound() -> None:
    started: Event = {"type": SPEECH_STARTED}
    ear = heard((1.0, begun()), (1.0, sound(loud(500))), (1.2, started))
    assert (ear.replies[0].plays_until_s, ear.replies[0].cut) == (1.2, True)
    over = heard((1.0, begun()), (1.0, sound(loud(500))), (1.6, started))
    assert (over.replies[0].plays_until_s, over.replies[0].cut) == (1.5, False)


def test_reply_is_in_progress_until_done() -> None:
    ear = heard((1.0, begun()), (1.1, begun("r2")), (1.2, done("cancelled")))
    assert ear.answering()
    ear.hear(1.3, done("completed", "r2"))
    assert not ear.answering()
    assert [reply.status for reply in ear.replies] == ["cancelled", "completed"]


def test_overlapping_replies_are_separated() -> None:
    ear = heard((1.0, begun()), (1.0, begun("r2")), (1.0, sound(loud(200), "r2")))
    assert [reply.audible_s for reply in ear.replies] == [None, 1.0]


def test_events_are_counted_within_time_bounds() -> None:
    ear = heard((1.0, {"type": SPEECH_STARTED}), (2.0, {"type": SPEECH_STARTED}))
    assert (ear.count(SPEECH_STARTED, 1.0, 2.0), ear.count(SPEECH_STARTED, 1.5)) == (1, 1)
    assert (ear.first(SPEECH_STARTED, 1.5), ear.first(SPEECH_STARTED, 2.5)) == (2.0, None)
