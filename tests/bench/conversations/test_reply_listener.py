"""Tests when a reply becomes audible, and when it ends."""

import base64

import numpy as np
import pytest

from audio.units import REPLY_RATE_HZ, Pcm
from bench.conversations.reply_listener import SPEECH_STARTED, Event, ReplyListener


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


def listener_after(*events: tuple[float, Event]) -> ReplyListener:
    listener = ReplyListener()
    for at_s, event in events:
        listener.receive(at_s, event)
    return listener


def test_leading_silence_counts_as_latency() -> None:
    (reply,) = listener_after((1.0, begun()), (1.0, sound(np.concatenate([quiet(70), loud(200)])))).replies
    assert reply.audible_s == pytest.approx(1.07)
    assert reply.leading_ms == pytest.approx(70)


def test_onset_may_be_in_an_earlier_piece_than_its_detection() -> None:
    listener = listener_after((1.0, begun()), (1.0, sound(np.concatenate([quiet(60), loud(40)]))))
    assert listener.replies[0].audible_s is None
    listener.receive(1.5, sound(loud(100)))  # too late: the first piece was played by 1.1
    assert listener.replies[0].audible_s == pytest.approx(1.06)
    assert listener.replies[0].plays_until_s == pytest.approx(1.6)


def test_early_sound_plays_after_previous_sound() -> None:
    listener = listener_after((1.0, begun()), (1.0, sound(quiet(500))), (1.1, sound(loud(200))))
    assert listener.replies[0].audible_s == pytest.approx(1.5)
    assert listener.silent_at_s() == pytest.approx(1.7)


def test_click_does_not_count_as_reply() -> None:
    listener = listener_after(
        (1.0, begun()), (1.0, sound(np.concatenate([loud(30), quiet(400)]))), (1.1, done("completed"))
    )
    assert listener.replies[0].audible_s is None
    assert listener.replies[0].leading_ms == 0


def test_speech_stops_playback_and_keeps_played_sound() -> None:
    started: Event = {"type": SPEECH_STARTED}
    listener = listener_after((1.0, begun()), (1.0, sound(loud(500))), (1.2, started))
    assert (listener.replies[0].plays_until_s, listener.replies[0].cut) == (1.2, True)
    over = listener_after((1.0, begun()), (1.0, sound(loud(500))), (1.6, started))
    assert (over.replies[0].plays_until_s, over.replies[0].cut) == (1.5, False)


def test_reply_is_audible_from_its_onset_until_it_is_stopped() -> None:
    (reply,) = listener_after(
        (1.0, begun()), (1.0, sound(np.concatenate([quiet(100), loud(500)]))), (1.3, {"type": SPEECH_STARTED})
    ).replies
    assert reply.audible_ms(0.5, 2.0) == pytest.approx(200)
    assert reply.audible_ms(1.2, 1.25) == pytest.approx(50)
    assert reply.audible_ms(1.4, 2.0) == 0


def test_reply_is_in_progress_until_done() -> None:
    listener = listener_after((1.0, begun()), (1.1, begun("r2")), (1.2, done("cancelled")))
    assert listener.answering()
    listener.receive(1.3, done("completed", "r2"))
    assert not listener.answering()
    assert [reply.status for reply in listener.replies] == ["cancelled", "completed"]


def test_overlapping_replies_are_separated() -> None:
    listener = listener_after((1.0, begun()), (1.0, begun("r2")), (1.0, sound(loud(200), "r2")))
    assert [reply.audible_s for reply in listener.replies] == [None, 1.0]


def test_events_are_counted_within_time_bounds() -> None:
    listener = listener_after((1.0, {"type": SPEECH_STARTED}), (2.0, {"type": SPEECH_STARTED}))
    assert (listener.count(SPEECH_STARTED, 1.0, 2.0), listener.count(SPEECH_STARTED, 1.5)) == (1, 1)
    assert (listener.first(SPEECH_STARTED, 1.5), listener.first(SPEECH_STARTED, 2.5)) == (2.0, None)
