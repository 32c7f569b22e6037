"""Sound that the page sends, renders and measures, with a scripted server: recorded in the browser."""

import base64
from typing import Any

import numpy as np
import pytest
import soxr
from playwright.sync_api import Page
from support.pages.page_browser import (
    PageRecording,
    best_correlation,
    read_recording,
    to_wire,
    wait_until,
)
from support.pages.page_conversation import (
    SPEECH_BOUNDS_S,
    dispatch_events,
    record_phases,
    reply,
    send_texts,
    start,
    start_with_push_to_talk,
    wait_for_phase,
)
from support.servers.scripted_server import Server

# Alone: a busy machine interrupts the rendered sound.
pytestmark = [pytest.mark.slow, pytest.mark.alone, pytest.mark.real_time, pytest.mark.timeout(180)]

LOUD = 0.005


def loud_frames(sound: np.ndarray[Any, np.dtype[np.float32]]) -> np.ndarray[Any, np.dtype[np.intp]]:
    return np.flatnonzero(np.abs(sound) > LOUD)


def correlation_with(recorded: PageRecording, pcm: np.ndarray[Any, np.dtype[np.int16]]) -> float:
    """Returns the correlation of the rendered and the sent audio."""
    wanted = soxr.resample(pcm.astype(np.float32) / 32768, 24_000, recorded.rate_hz)
    return best_correlation(recorded.player, wanted)[0]


def test_turn_is_sent_rendered_and_timed(
    page: Page, server: Server, spoken: np.ndarray[Any, np.dtype[np.float32]]
) -> None:
    played_words: list[int] = []
    page.click("#settings-open")
    for setting in ("echoCancellation", "noiseSuppression", "autoGainControl"):
        page.uncheck(f"#{setting}")
    start(page)
    wait_until(page, lambda: page.inner_text("#granted") == "Active in the browser: none of these.", "what was granted")
    wait_for_phase(page, "hearing")
    page.wait_for_selector(".item.user.in-progress .text >> text=what")
    wait_until(
        page, lambda: page.get_attribute("body", "data-phase") == "speaking", "a reply"
    )  # at once, see `wait_for_phase`
    while page.get_attribute("body", "data-phase") == "speaking":
        played_words.append(page.locator(".word.played").count())
        page.wait_for_timeout(30)
    wait_until(page, lambda: page.locator(".row").count() > 5, "the turn's record")
    recorded = read_recording(page)

    question = to_wire(spoken[int(SPEECH_BOUNDS_S[0] * 16_000) : int(SPEECH_BOUNDS_S[1] * 16_000)]).astype(np.float32)
    assert best_correlation(server.received_audio().astype(np.float32), question)[0] > 0.99
    assert correlation_with(recorded, server.script.replies[0].pcm) > 0.999

    assert played_words == sorted(played_words)
    assert len(set(played_words)) >= 4  # words light up one after the other
    assert page.locator(".word.played").count() == 5
    check_latency(page, server, recorded)


def check_latency(page: Page, server: Server, recorded: PageRecording) -> None:
    """Compares the latency with the gap in the recording, which uses the context's clock."""
    (turn,) = page.evaluate("window.repartee.turns.all")
    delay_ms = page.evaluate("window.repartee.session.audio.output.deviceDelayMs")
    first = recorded.frame + loud_frames(recorded.player)[0]
    # The scripted server dates the end of speech by whole chunks, so its time is the reference.
    end_ms = turn["speech_end_ms"]
    sent = soxr.resample(server.received_audio().astype(np.float32) / 32768, 24_000, recorded.rate_hz)[
        : int(end_ms / 1000 * recorded.rate_hz)
    ]
    spoken = sent[-recorded.rate_hz :]
    end = recorded.frame + best_correlation(recorded.microphone, spoken)[1] + len(spoken)
    gap_ms = (first - end) * 1000 / recorded.rate_hz + delay_ms
    assert turn["latency_ms"] == pytest.approx(gap_ms, abs=20)
    assert 300 < turn["latency_ms"] < 600  # the script waits 300 ms; the rest is for a busy machine
    assert 5 < turn["device_ms"] < 200

    reports = server.events_of("repartee.playout")
    assert reports[0]["latency_ms"] == turn["latency_ms"]
    played = [one["played_ms"] for one in reports]
    assert played == sorted(played)
    assert [one["finished"] for one in reports] == [False] * (len(reports) - 1) + [True]
    assert played[-1] == pytest.approx(1500, abs=1)
    assert page.inner_text("#latency") == str(round(turn["latency_ms"]))
    assert float(page.inner_text(".stage[data-stage=endpoint_wait] .ms")) == 300


def test_escape_stops_rendered_reply(page: Page, server: Server) -> None:
    server.script.replies = [reply(6)]
    start(page)
    wait_for_phase(page, "speaking")
    page.wait_for_timeout(700)
    page.evaluate("addEventListener('keydown', () => (window.pressed = now()), true)")
    page.keyboard.press("Escape")
    wait_for_phase(page, "listening")
    page.wait_for_timeout(300)
    recorded = read_recording(page)
    pressed = page.evaluate("window.pressed") * recorded.rate_hz - recorded.frame
    last = np.flatnonzero(np.abs(recorded.player) > 1e-4)[-1]
    assert (last - pressed) / recorded.rate_hz < 0.05
    assert server.events_of("response.cancel") or server.events_of("output_audio_buffer.clear")
    assert page.locator(".item.assistant.interrupted").count() == 1
    assert not server.events_of("repartee.playout")[-1]["finished"]


@pytest.mark.parametrize(
    "cut",
    [
        pytest.param(
            {"type": "input_audio_buffer.speech_started", "item_id": "item_8", "audio_start_ms": 1},
            marks=pytest.mark.thorough,
        ),
        pytest.param(
            {"type": "response.done", "response": {"id": "resp_9_1", "status": "cancelled"}},
            marks=pytest.mark.thorough,
        ),
        {"type": "conversation.item.truncated", "item_id": "item_9", "audio_end_ms": 0},
    ],
    ids=["speech started", "response done", "item truncated"],
)
def test_reply_cut_before_playback_is_not_rendered(page: Page, server: Server, cut: dict[str, Any]) -> None:
    page.evaluate("delete MediaDevices.prototype.getUserMedia")  # no microphone
    start(page)
    sound = {"delta": base64.b64encode(reply(0.5).pcm.tobytes()).decode()}
    about = {"response_id": "resp_9_1", "item_id": "item_9"}
    late = {"type": "response.output_audio.delta", **about, **sound}
    page.evaluate("window.repartee.tap.context.suspend()")  # otherwise it begins at once
    dispatch_events(
        page,
        {"type": "response.created", "response": {"id": "resp_9_1", "status": "in_progress"}},
        {"type": "response.output_item.added", "response_id": "resp_9_1", "item": {"id": "item_9", "type": "message"}},
        {"type": "response.output_audio_transcript.delta", **about, "delta": "Certainly not."},
        {"type": "response.output_audio.delta", **about, **sound},
        cut,
        late,
    )
    page.evaluate("window.repartee.tap.context.resume()")
    page.wait_for_timeout(700)
    assert loud_frames(read_recording(page).player).size == 0
    assert page.locator(".item.assistant.interrupted").count() == 1
    assert page.locator(".notice[data-problem=overflow]").count() == 0
    assert server.events_of("repartee.playout")[-1]["played_ms"] == 0
    dispatch_events(
        page,
        {"type": "response.created", "response": {"id": "resp_10_1", "status": "in_progress"}},
        late | {"response_id": "resp_10_1"},
    )
    wait_until(page, lambda: loud_frames(read_recording(page).player).size > 0, "the next reply")


def test_reconnect_within_reply_loses_no_sample(page: Page, server: Server) -> None:
    server.script.replies = [reply(3)]
    server.script.drop_after_ms = 1000
    start(page)
    page.evaluate("""new MutationObserver(() => {
        window.noticeText ??= document.querySelector('[data-problem=lost]')?.innerText;
    }).observe(document.getElementById('notices'), { childList: true })""")
    wait_until(page, lambda: server.connections == 2, "a second connection")
    page.wait_for_selector(".notice[data-problem=lost]", state="detached")
    wait_for_phase(page, "listening")
    assert "The connection was lost." in page.evaluate("window.noticeText")
    query = server.queries[1]
    assert query["resume"] in server.sessions
    assert (query["response_id"], query["received_ms"]) == ("resp_1_1", "1000")
    # It reconnected before the received audio was played: no sample is missing.
    assert correlation_with(read_recording(page), server.script.replies[0].pcm) > 0.999
    assert page.locator(".item").count() == 2


@pytest.mark.thorough
def test_reply_has_full_volume_after_reconnect(page: Page, server: Server) -> None:
    server.script.replies = [reply(4.2)]
    start(page)
    wait_for_phase(page, "speaking")
    dispatch_events(page, {"type": "repartee.duck", "response_id": "resp_1_1"})
    page.wait_for_timeout(400)
    page.evaluate("window.repartee.session.connection.connect()")
    wait_until(page, lambda: server.connections == 2, "a second connection")
    wait_for_phase(page, "listening")
    sound = read_recording(page)
    begins, a_second = loud_frames(sound.player)[0], sound.rate_hz
    wanted = soxr.resample(server.script.replies[0].pcm.astype(np.float32) / 32768, 24_000, sound.rate_hz)
    late = slice(a_second * 11 // 5, a_second * 21 // 5)
    assert rms(sound.player[begins:][late]) == pytest.approx(rms(wanted[late]), rel=0.1)


def test_listening_sound_is_rendered_until_the_user_goes_on(page: Page, server: Server) -> None:
    start(page)
    wait_for_phase(page, "listening")
    sound = reply(1.5).pcm
    event = {"type": "repartee.listening_sound", "audio": base64.b64encode(sound.astype("<i2").tobytes()).decode()}
    dispatch_events(page, event)
    page.wait_for_timeout(400)
    assert page.get_attribute("body", "data-phase") == "listening"
    dispatch_events(page, {"type": "repartee.listening_sound_stopped"})
    page.wait_for_timeout(400)
    recorded = read_recording(page)
    heard = loud_frames(recorded.player)
    assert 0.25 < (heard[-1] - heard[0]) / recorded.rate_hz < 0.8
    assert server.events_of("repartee.playout") == []
    assert server.events_of("session.update")[0]["session"]["repartee"]["listening_sounds"] is True


def rms(sound: np.ndarray[Any, np.dtype[np.float32]]) -> float:
    return float(np.sqrt(np.mean(np.square(sound))))


def test_reply_beginning_while_key_is_down_is_cancelled(page: Page, server: Server) -> None:
    server.script.reply_delay_s = 0.5
    start_with_push_to_talk(page)
    page.keyboard.down("Space")
    wait_until(page, lambda: len(server.audio_chunks) > 20, "sound")
    page.keyboard.up("Space")
    wait_until(page, lambda: server.events_of("response.create"), "a turn")
    page.keyboard.down("Space")
    wait_until(page, lambda: server.events_of("response.cancel"), "the end of its reply")
    assert server.events_of("response.cancel")[0]["response_id"] == "resp_1_1"
    page.wait_for_timeout(300)
    assert page.get_attribute("body", "data-phase") == "hearing"
    assert loud_frames(read_recording(page).player).size == 0
    page.keyboard.up("Space")
    wait_for_phase(page, "speaking")


@pytest.mark.thorough
def test_texts_typed_before_reply_are_answered_together(page: Page, server: Server) -> None:
    server.script.reply_delay_s = 2.0
    server.script.stalls_s = {600: 0.2}  # shorter than the sound before it: the page does not run dry
    page.evaluate("delete MediaDevices.prototype.getUserMedia")  # no microphone
    start(page)
    record_phases(page)
    send_texts(page, "first", "second", "third")
    wait_for_phase(page, "speaking")
    assert page.evaluate("phases") == ["listening", "thinking", "speaking"]
    assert [event["response_id"] for event in server.events_of("response.cancel")] == ["resp_1_1"]
    assert len(server.events_of("response.create")) == 2
    assert page.locator(".item.user .text").all_inner_texts() == ["first", "second", "third"]
    assert page.locator(".notice.note").count() == 0
    wait_for_phase(page, "listening")
    assert correlation_with(read_recording(page), server.script.replies[0].pcm) > 0.999
