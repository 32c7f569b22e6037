"""Tests the page in Chromium with a scripted server: what it sends, renders and measures."""

import base64
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
import soxr
from page_browser import (
    PageRecording,
    best_correlation,
    chromium,
    load_recording,
    read_recording,
    start_recording,
    to_wire,
    wait_until,
)
from playwright.sync_api import Browser, Page
from scripted_server import Reply, Script, Server, serving

from web.app import STATIC

# Runs alone even without timing checks: beside a browser, the sound cards of other tests have underruns.
pytestmark = [pytest.mark.slow, pytest.mark.alone, pytest.mark.real_time, pytest.mark.timeout(180)]

SPEECH_BOUNDS_S = (0.3, 1.9)
"""Position of the question in the fake microphone's sound; it begins with 0.7 s of room noise."""

LOUD = 0.005


@pytest.fixture(scope="module")
def spoken() -> np.ndarray[Any, np.dtype[np.float32]]:
    """The microphone input: silence, a question, silence."""
    question = load_recording("rhasspy3_what-time-is-it")
    question[int((SPEECH_BOUNDS_S[1] - SPEECH_BOUNDS_S[0]) * 16_000) :] = 0
    before = np.zeros(int(SPEECH_BOUNDS_S[0] * 16_000), np.float32)
    return np.concatenate([before, question, np.zeros(16_000 * 20, np.float32)])


@pytest.fixture(scope="module")
def browser(
    spoken: np.ndarray[Any, np.dtype[np.float32]], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Browser]:
    microphone: Path = tmp_path_factory.mktemp("page") / "microphone.wav"
    soundfile.write(microphone, spoken, 16_000, subtype="PCM_16")
    with chromium(microphone) as browser:
        yield browser


def reply(seconds: float, text: str = "It is ten past four.") -> Reply:
    """Returns real speech from its first sound on."""
    sound = load_recording("Montreal-Forced-Al_mfa-internalsil")
    begin = int(np.flatnonzero(np.abs(sound) > 0.03)[0])
    return Reply(text, to_wire(sound[begin : begin + int(16_000 * seconds)]))


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(Script([reply(1.5)])) as server:
        yield server


@pytest.fixture
def page(browser: Browser, server: Server) -> Iterator[Page]:
    """Opens the page. A console message fails the test."""
    context = browser.new_context(reduced_motion="no-preference")
    page = context.new_page()
    console: list[str] = []
    page.on("console", lambda message: console.append(message.text))
    page.on("pageerror", lambda error: console.append(str(error)))
    page.goto(server.url)
    yield page
    context.close()
    assert [line for line in console if "WebSocket connection to" not in line] == []


def start(page: Page) -> None:
    page.click("#start")
    page.wait_for_selector("body[data-phase=listening]")
    start_recording(page)


def wait_for_phase(page: Page, phase: str) -> None:
    """Waits for a phase. It may be half a second old then, because the browser polls less often after a while."""
    page.wait_for_selector(f"body[data-phase={phase}]", timeout=20_000)


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
        {"type": "input_audio_buffer.speech_started", "item_id": "item_8", "audio_start_ms": 1},
        {"type": "response.done", "response": {"id": "resp_9_1", "status": "cancelled"}},
        {"type": "conversation.item.truncated", "item_id": "item_9", "audio_end_ms": 0},
    ],
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


def test_network_stall_is_bridged(page: Page, server: Server) -> None:
    server.script.stalls_s = {600: 0.9}
    start(page)
    wait_for_phase(page, "speaking")
    wait_for_phase(page, "listening")
    recorded = read_recording(page)
    pcm = server.script.replies[0].pcm
    wanted = soxr.resample(pcm.astype(np.float32) / 32768, 24_000, recorded.rate_hz)
    part = int(0.55 * recorded.rate_hz)
    before, at = best_correlation(recorded.player, wanted[:part])
    after, again = best_correlation(recorded.player, wanted[-part:])
    assert before > 0.999
    assert after > 0.999
    late_s = (again - at) / recorded.rate_hz - (1.5 - 0.55)
    assert 0.2 < late_s < 0.6  # 0.9 s stalled, 0.6 s were buffered
    assert server.events_of("repartee.playout")[-1]["played_ms"] == pytest.approx(1500, abs=1)


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


def shorten_timeouts(page: Page) -> None:
    """Shortens the times until a silent server is probed and given up.

    `page_modules/session.js` tests the real times.
    """
    source = (STATIC / "session" / "connection-monitor.js").read_text(encoding="utf-8")
    source = source.replace("PROBE_AFTER_MS = 5000", "PROBE_AFTER_MS = 1500")
    source = source.replace("ANSWER_WITHIN_MS = 5000", "ANSWER_WITHIN_MS = 1500")
    assert source.count("_MS = 1500;") == 2
    url = "**/session/connection-monitor.js"
    page.route(url, lambda route: route.fulfill(body=source, content_type="text/javascript"))
    page.reload()


def test_stopped_server_counts_as_lost(page: Page, server: Server) -> None:
    shorten_timeouts(page)
    start(page)
    wait_for_phase(page, "speaking")
    server.script.frozen = True
    wait_for_phase(page, "reconnecting")
    assert "The connection was lost." in page.inner_text(".notice[data-problem=lost]")
    server.script.frozen = False
    wait_for_phase(page, "listening")
    assert server.queries[-1]["resume"] in server.sessions
    page.wait_for_selector(".notice", state="detached")


def test_silent_server_is_probed_and_kept(page: Page, server: Server) -> None:
    shorten_timeouts(page)
    page.evaluate("window.probes = 0")
    start(page)
    wait_for_phase(page, "speaking")
    wait_for_phase(page, "listening")
    page.evaluate("repartee.session.connection.addEventListener('probe', () => probes++)")
    wait_until(page, lambda: page.evaluate("probes") == 2, "two probes")
    assert page.get_attribute("body", "data-phase") == "listening"
    assert server.connections == 1


def test_slow_network_is_shown(page: Page, server: Server) -> None:
    page.evaluate("""() => {
        const real = Object.getOwnPropertyDescriptor(WebSocket.prototype, "bufferedAmount").get;
        window.waiting = 0;
        Object.defineProperty(WebSocket.prototype, "bufferedAmount", { get() { return real.call(this) + waiting; } });
    }""")
    start(page)
    page.evaluate("window.waiting = 100_000")
    shown = page.wait_for_selector(".notice[data-problem=slow]")
    assert shown is not None
    assert "too slow for your voice" in shown.inner_text()
    page.evaluate("window.waiting = 0")
    page.wait_for_selector(".notice[data-problem=slow]", state="detached")
    assert server.connections == 1


def test_escape_while_disconnected_stops_the_reply(page: Page, server: Server) -> None:
    server.script.replies = [reply(6)]
    server.script.drop_after_ms = 1000
    page.click("#start")
    wait_until(page, lambda: server.connections == 1, "a connection")
    server.script.close_with = ("server_full", 1013)  # new connections are refused for now
    wait_for_phase(page, "reconnecting")
    wait_until(page, lambda: page.evaluate("window.repartee.session.replyPlayback.playing"), "sound")
    page.keyboard.press("Escape")
    server.script.close_with = None
    wait_for_phase(page, "listening")
    wait_until(page, lambda: server.events_of("response.cancel"), "the end of the reply")
    (cancel,) = server.events_of("response.cancel")
    assert cancel["response_id"] == "resp_1_1"
    assert page.locator(".item.assistant.interrupted").count() == 1


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


def rms(sound: np.ndarray[Any, np.dtype[np.float32]]) -> float:
    return float(np.sqrt(np.mean(np.square(sound))))


def dispatch_events(page: Page, *events: dict[str, Any]) -> None:
    """Passes events to the page as if the server had sent them together."""
    page.evaluate(
        "(events) => events.forEach((detail) => "
        "window.repartee.session.connection.dispatchEvent(new CustomEvent('event', { detail })))",
        events,
    )


def test_new_conversation_replaces_lost_one(page: Page, server: Server) -> None:
    server.script.replies = [reply(6)]
    start(page)
    wait_for_phase(page, "speaking")
    server.sessions.clear()
    page.evaluate("window.repartee.session.connection.connect()")
    page.wait_for_selector(".notice[data-problem=not-kept]")
    page.fill("#text-input", "who are you")
    page.press("#text-input", "Enter")
    texts = ["what time is it", "It is ten past four.", "who are you", "It is ten past four."]
    wait_until(page, lambda: page.locator(".item .text").all_inner_texts() == texts, "the lines of both conversations")
    assert page.locator(".item.assistant.interrupted").count() == 1
    assert server.connections == 2


def test_mute_sends_no_audio(page: Page, server: Server) -> None:
    start(page)
    page.keyboard.press("m")
    page.wait_for_timeout(100)
    before = len(server.audio_chunks)
    assert page.inner_text("#phase") == "Muted"
    assert page.get_attribute("#mute", "aria-pressed") == "true"
    page.wait_for_timeout(400)
    assert len(server.audio_chunks) == before
    page.keyboard.press("m")
    wait_until(page, lambda: len(server.audio_chunks) > before + 10, "sound after the mute")


def start_with_push_to_talk(page: Page) -> None:
    page.click("#settings-open")
    page.check("#push-to-talk")
    page.keyboard.press("Escape")
    start(page)


def test_push_to_talk_sends_a_turn(page: Page, server: Server) -> None:
    start_with_push_to_talk(page)
    page.wait_for_timeout(300)
    assert server.audio_chunks == []
    assert server.events_of("session.update")[-1]["session"]["audio"]["input"]["turn_detection"] is None
    page.keyboard.down("Space")
    wait_for_phase(page, "hearing")
    wait_until(page, lambda: len(server.audio_chunks) > 100, "two seconds of sound")
    page.keyboard.up("Space")
    wait_for_phase(page, "speaking")
    sent = len(server.audio_chunks)
    kinds = [event["type"] for event in server.events]
    assert kinds.index("input_audio_buffer.commit") + 1 == kinds.index("response.create")
    wait_until(page, lambda: server.events_of("repartee.playout"), "a report")
    assert "latency_ms" in server.events_of("repartee.playout")[0]
    page.wait_for_timeout(200)
    assert len(server.audio_chunks) == sent


def test_push_to_talk_works_by_click_and_not_while_muted(page: Page, server: Server) -> None:
    start_with_push_to_talk(page)
    page.keyboard.press("m")
    page.keyboard.press("Space")
    page.wait_for_selector(".notice >> text=The microphone is muted")
    assert page.get_attribute("#hold", "aria-pressed") == "false"
    assert page.inner_text("#phase-announcement") == "Muted"
    page.keyboard.press("m")
    page.focus("#hold")
    page.keyboard.press("Enter")
    wait_for_phase(page, "hearing")
    assert page.get_attribute("#hold", "aria-pressed") == "true"
    wait_until(page, lambda: len(server.audio_chunks) > 20, "sound")
    page.evaluate("hold.click()")  # as from a screen reader
    wait_for_phase(page, "speaking")
    page.click("#hold", delay=300)  # a mouse holds it, and the click does not start it again
    wait_until(page, lambda: len(server.events_of("response.create")) == 2, "another turn")
    assert page.get_attribute("#hold", "aria-pressed") == "false"


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


def test_silence_with_key_down_is_not_answered(page: Page, server: Server) -> None:
    server.script.replies = [replace(server.script.replies[0], transcript=""), *server.script.replies]
    start_with_push_to_talk(page)
    page.keyboard.down("Space")
    wait_until(page, lambda: len(server.audio_chunks) > 20, "sound")
    page.keyboard.up("Space")
    wait_until(page, lambda: server.events_of("response.cancel"), "the end of its reply")
    assert "No words were recognized." in page.inner_text("#notices")
    page.keyboard.down("Space")
    wait_until(page, lambda: len(server.audio_chunks) > 60, "sound")
    page.keyboard.up("Space")
    wait_for_phase(page, "speaking")


def test_reply_after_empty_turn_is_played(page: Page, server: Server) -> None:
    server.script.replies = [replace(reply(0.1), text="", transcript=""), reply(1.5)]
    start_with_push_to_talk(page)
    page.keyboard.down("Space")
    wait_until(page, lambda: len(server.audio_chunks) > 20, "sound")
    page.keyboard.up("Space")
    page.wait_for_selector(".notice >> text=No words were recognized.")
    wait_until(page, lambda: page.get_attribute("body", "data-phase") == "listening", "an end of it")
    assert page.locator(".notice").count() == 1
    page.keyboard.down("Space")
    wait_until(page, lambda: len(server.audio_chunks) > 60, "sound")
    page.keyboard.up("Space")
    wait_for_phase(page, "speaking")
    assert [event["response_id"] for event in server.events_of("response.cancel")] == ["resp_1_1"], (
        "of the first one only"
    )


def send_texts(page: Page, *texts: str) -> None:
    """Types texts directly one after the other."""
    for text in texts:
        page.fill("#text-input", text)
        page.press("#text-input", "Enter")


def record_phases(page: Page) -> None:
    """Records the phases from now on."""
    page.evaluate("""() => {
        window.phases = [document.body.dataset.phase];
        new MutationObserver(() => {
            const { phase } = document.body.dataset;
            if (phases.at(-1) !== phase) phases.push(phase);
        }).observe(document.body, { attributeFilter: ["data-phase"] });
    }""")


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


def test_text_typed_as_reply_begins_is_requested_again(page: Page, server: Server) -> None:
    server.script.stalls_s = {600: 0.2}  # shorter than the sound before it: the page does not run dry
    page.evaluate("delete MediaDevices.prototype.getUserMedia")  # no microphone
    start(page)
    record_phases(page)
    page.evaluate(
        "void (repartee.session._requestReply = () => delete repartee.session._requestReply)"
    )  # as if it were on its way
    send_texts(page, "hello")
    refused = {"code": "conversation_already_has_active_response", "message": "another response is under way"}
    dispatch_events(
        page,
        {"type": "response.created", "response": {"id": "resp_9_1", "status": "in_progress"}},
        {"type": "error", "error": refused},
        {"type": "response.done", "response": {"id": "resp_9_1", "status": "cancelled"}},
    )
    wait_for_phase(page, "speaking")
    assert page.evaluate("phases") == ["listening", "thinking", "speaking"]
    assert [event["response_id"] for event in server.events_of("response.cancel")] == ["resp_9_1"]
    assert len(server.events_of("response.create")) == 1
    assert page.locator(".notice.note").count() == 0


def test_unsent_request_is_not_awaited(page: Page, server: Server) -> None:
    page.evaluate("delete MediaDevices.prototype.getUserMedia")  # no microphone
    start(page)
    page.evaluate("""() => {
        const { connection } = repartee.session, { send } = connection;
        connection.send = (event) =>
            event.type === "response.create" ? !delete connection.send : send.call(connection, event);
    }""")
    send_texts(page, "first")
    page.wait_for_selector(".item.user")
    assert page.get_attribute("body", "data-phase") == "listening"
    send_texts(page, "second")
    wait_for_phase(page, "speaking")
    assert server.events_of("response.cancel") == []


def test_requested_reply_is_not_awaited_after_reconnect(page: Page, server: Server) -> None:
    server.script.reply_delay_s = 60
    page.evaluate("delete MediaDevices.prototype.getUserMedia")  # no microphone
    start(page)
    send_texts(page, "first", "second")
    wait_until(page, lambda: len(server.events_of("conversation.item.create")) == 2, "both")
    dispatch_events(
        page, {"type": "error", "error": {"code": "input_audio_buffer_commit_empty", "message": "no words"}}
    )
    server.script.reply_delay_s = 0
    page.evaluate("repartee.session.connection.connect()")
    wait_until(page, lambda: server.connections == 2, "a second connection")
    wait_for_phase(page, "listening")
    send_texts(page, "third")
    wait_for_phase(page, "speaking")
    assert server.events_of("response.cancel") == []


def test_space_bar_operates_switches_with_push_to_talk(page: Page, server: Server) -> None:
    page.click("#settings-open")
    page.check("#push-to-talk")
    start(page)
    page.focus("#noiseSuppression")
    was = page.is_checked("#noiseSuppression")
    page.keyboard.press("Space")
    assert page.is_checked("#noiseSuppression") != was
    assert page.get_attribute("body", "data-phase") == "listening"
    page.focus("#engines summary")
    page.keyboard.press("Space")
    assert page.evaluate("document.getElementById('engines').open")
    page.focus("#start")
    page.keyboard.down("Space")
    wait_for_phase(page, "hearing")
    page.focus("#push-to-talk")
    page.keyboard.up("Space")  # ends the press and operates no switch
    wait_until(page, lambda: page.evaluate("!window.repartee.session.pushToTalk.keyDown"), "the key is up")
    assert page.is_checked("#push-to-talk")
    page.keyboard.press("Space")
    assert not page.is_checked("#push-to-talk")


def test_page_can_be_used_by_keyboard_only(page: Page, server: Server) -> None:
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip-link"
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "start":
            break
    page.keyboard.press("Enter")
    wait_for_phase(page, "listening")
    page.keyboard.press("m")
    page.focus("#text-input")
    page.keyboard.type("hello mom")  # its letters are not shortcuts
    page.keyboard.press("Enter")
    wait_for_phase(page, "speaking")
    assert server.events_of("conversation.item.create")[0]["item"]["content"][0]["text"] == "hello mom"
    assert page.inner_text(".item.user .text") == "hello mom"
    wait_until(
        page,
        lambda: "Repartee: It is ten past four." in page.inner_text("#announcements"),
        "the reply, for a screen reader",
    )
    assert page.inner_text("#phase") == "Speaking"
    page.keyboard.press("Escape")
    wait_until(page, lambda: page.get_attribute("body", "data-phase") == "listening", "an end of the reply")


def test_transcript_is_marked_with_its_language(page: Page, server: Server) -> None:
    server.script.language = "de"
    server.script.replies = [replace(reply(0.5), text="Zehn nach vier.")]
    page.evaluate("delete MediaDevices.prototype.getUserMedia")  # no microphone
    start(page)
    send_texts(page, "wie spät ist es")
    wait_until(
        page, lambda: page.inner_text("#announcements") == "Repartee: Zehn nach vier.", "the reply, for a screen reader"
    )
    assert page.locator("#announcements [lang=de]").all_inner_texts() == ["Zehn nach vier."]
    assert page.locator("#text-input[lang=de]").count() == 1
    in_force = "(of) => [...document.querySelectorAll(of)].map((one) => one.closest('[lang]').lang)"
    assert page.evaluate(in_force, "#announcements, .item .who, .item .note") == ["en"] * 5
    assert page.evaluate(in_force, ".item .text, .item .word") == ["de"] * 5


def test_page_fits_the_width_of_a_phone(page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    start(page)
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    for name in ("start", "mute", "settings-open", "text-input"):
        box = page.locator(f"#{name}").bounding_box()
        assert box is not None
        assert 0 <= box["x"] <= box["x"] + box["width"] <= 360
