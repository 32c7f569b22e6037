"""The page in Chromium with a scripted server: what is sent, rendered and timed."""

import base64
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
import soxr
from page_browser import Tape, begin_tape, chromium, likeness, read_tape, recording, to_wire, until
from playwright.sync_api import Browser, Page
from scripted_server import Reply, Script, Server, serving

from web.app import STATIC

# Runs alone even without timing checks: beside a browser, the sound cards of other tests have underruns.
pytestmark = [pytest.mark.slow, pytest.mark.alone, pytest.mark.real_time, pytest.mark.timeout(180)]

SPOKEN_S = (0.3, 1.9)
"""Position of the question in the fake microphone's sound; it begins with 0.7 s of room noise."""

LOUD = 0.005


@pytest.fixture(scope="module")
def spoken() -> np.ndarray[Any, np.dtype[np.float32]]:
    """The microphone input: silence, a question, silence."""
    question = recording("rhasspy3_what-time-is-it")
    question[int((SPOKEN_S[1] - SPOKEN_S[0]) * 16_000) :] = 0
    before = np.zeros(int(SPOKEN_S[0] * 16_000), np.float32)
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
    sound = recording("Montreal-Forced-Al_mfa-internalsil")
    begin = int(np.flatnonzero(np.abs(sound) > 0.03)[0])
    return Reply(text, to_wire(sound[begin : begin + int(16_000 * seconds)]))


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(Script([reply(1.5)])) as server:
        yield server


@pytest.fixture
def page(browser: Browser, server: Server) -> Iterator[Page]:
    """Opens the page; console messages fail the test."""
    context = browser.new_context(reduced_motion="no-preference")
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(server.url)
    yield page
    context.close()
    assert [line for line in said if "WebSocket connection to" not in line] == []


def start(page: Page) -> None:
    page.click("#start")
    page.wait_for_selector("body[data-phase=listening]")
    begin_tape(page)


def reach(page: Page, phase: str) -> None:
    """Waits for a phase. It may be half a second old then, because the browser polls less often after a while."""
    page.wait_for_selector(f"body[data-phase={phase}]", timeout=20_000)


def loud_frames(sound: np.ndarray[Any, np.dtype[np.float32]]) -> np.ndarray[Any, np.dtype[np.intp]]:
    return np.flatnonzero(np.abs(sound) > LOUD)


def rendered_as(tape: Tape, pcm: np.ndarray[Any, np.dtype[np.int16]]) -> float:
    """Returns the correlation of the rendered and the sent audio."""
    wanted = soxr.resample(pcm.astype(np.float32) / 32768, 24_000, tape.rate_hz)
    return likeness(tape.player, wanted)[0]


def test_turn_is_sent_rendered_and_timed(
    page: Page, server: Server, spoken: np.ndarray[Any, np.dtype[np.float32]]
) -> None:
    lit: list[int] = []
    page.click("#settings-open")
    for wish in ("echoCancellation", "noiseSuppression", "autoGainControl"):
        page.uncheck(f"#{wish}")
    start(page)
    until(page, lambda: page.inner_text("#granted") == "The browser does: none of these.", "what was granted")
    reach(page, "hearing")
    page.wait_for_selector(".item.user.partial .text >> text=what")
    until(page, lambda: page.get_attribute("body", "data-phase") == "speaking", "a reply")  # at once, see `reach`
    while page.get_attribute("body", "data-phase") == "speaking":
        lit.append(page.locator(".word.heard").count())
        page.wait_for_timeout(30)
    until(page, lambda: page.locator(".row").count() > 5, "the turn's record")
    tape = read_tape(page)

    question = to_wire(spoken[int(SPOKEN_S[0] * 16_000) : int(SPOKEN_S[1] * 16_000)]).astype(np.float32)
    assert likeness(server.heard().astype(np.float32), question)[0] > 0.99
    assert rendered_as(tape, server.script.replies[0].pcm) > 0.999

    assert lit == sorted(lit)
    assert len(set(lit)) >= 4  # words light up one after the other
    assert page.locator(".word.heard").count() == 5
    check_latency(page, server, tape)


def check_latency(page: Page, server: Server, tape: Tape) -> None:
    """Compares the latency with the gap on the tape, which uses the context's clock."""
    (turn,) = page.evaluate("window.repartee.turns.all")
    delay_ms = page.evaluate("window.repartee.talk.sound.output.deviceDelayMs")
    first = tape.frame + loud_frames(tape.player)[0]
    # The scripted server dates the end of speech by whole chunks, so its time is the reference.
    end_ms = turn["speech_end_ms"]
    sent = soxr.resample(server.heard().astype(np.float32) / 32768, 24_000, tape.rate_hz)[
        : int(end_ms / 1000 * tape.rate_hz)
    ]
    spoken = sent[-tape.rate_hz :]
    end = tape.frame + likeness(tape.microphone, spoken)[1] + len(spoken)
    gap_ms = (first - end) * 1000 / tape.rate_hz + delay_ms
    assert turn["latency_ms"] == pytest.approx(gap_ms, abs=20)
    assert 300 < turn["latency_ms"] < 600  # the script waits 300 ms; the rest is for a busy machine
    assert 5 < turn["device_ms"] < 200

    reports = server.of("repartee.playout")
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
    reach(page, "speaking")
    page.wait_for_timeout(700)
    page.evaluate("addEventListener('keydown', () => (window.pressed = now()), true)")
    page.keyboard.press("Escape")
    reach(page, "listening")
    page.wait_for_timeout(300)
    tape = read_tape(page)
    pressed = page.evaluate("window.pressed") * tape.rate_hz - tape.frame
    last = np.flatnonzero(np.abs(tape.player) > 1e-4)[-1]
    assert (last - pressed) / tape.rate_hz < 0.05
    assert server.of("response.cancel") or server.of("output_audio_buffer.clear")
    assert page.locator(".item.assistant.cut").count() == 1
    assert not server.of("repartee.playout")[-1]["finished"]


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
    tell(
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
    assert loud_frames(read_tape(page).player).size == 0
    assert page.locator(".item.assistant.cut").count() == 1
    assert page.locator(".notice[data-trouble=overflow]").count() == 0
    assert server.of("repartee.playout")[-1]["played_ms"] == 0
    tell(
        page,
        {"type": "response.created", "response": {"id": "resp_10_1", "status": "in_progress"}},
        late | {"response_id": "resp_10_1"},
    )
    until(page, lambda: loud_frames(read_tape(page).player).size > 0, "the next reply")


def test_network_stall_is_bridged(page: Page, server: Server) -> None:
    server.script.pauses = {600: 0.9}
    start(page)
    reach(page, "speaking")
    reach(page, "listening")
    tape = read_tape(page)
    pcm = server.script.replies[0].pcm
    wanted = soxr.resample(pcm.astype(np.float32) / 32768, 24_000, tape.rate_hz)
    part = int(0.55 * tape.rate_hz)
    before, at = likeness(tape.player, wanted[:part])
    after, again = likeness(tape.player, wanted[-part:])
    assert before > 0.999
    assert after > 0.999
    late_s = (again - at) / tape.rate_hz - (1.5 - 0.55)
    assert 0.2 < late_s < 0.6  # 0.9 s stalled, 0.6 s were buffered
    assert server.of("repartee.playout")[-1]["played_ms"] == pytest.approx(1500, abs=1)


def test_reconnect_within_reply_loses_no_sample(page: Page, server: Server) -> None:
    server.script.replies = [reply(3)]
    server.script.drop_after_ms = 1000
    start(page)
    page.evaluate("""new MutationObserver(() => {
        window.said ??= document.querySelector('[data-trouble=lost]')?.innerText;
    }).observe(document.getElementById('notices'), { childList: true })""")
    until(page, lambda: server.connections == 2, "a second connection")
    page.wait_for_selector(".notice[data-trouble=lost]", state="detached")
    reach(page, "listening")
    assert "The connection was lost." in page.evaluate("window.said")
    query = server.queries[1]
    assert query["resume"] in server.kept
    assert (query["response_id"], query["received_ms"]) == ("resp_1_1", "1000")
    # It reconnected before the received audio was played: no sample is missing.
    assert rendered_as(read_tape(page), server.script.replies[0].pcm) > 0.999
    assert page.locator(".item").count() == 2


def hasten(page: Page) -> None:
    """Shortens the times until a quiet server is asked and given up; `page/talk.js` tests the real ones."""
    source = (STATIC / "talk" / "link.js").read_text(encoding="utf-8")
    hurried = source.replace("QUIET_MS = 5000", "QUIET_MS = 1500").replace("WITHIN_MS = 5000", "WITHIN_MS = 1500")
    assert hurried.count("_MS = 1500;") == 2
    page.route("**/talk/link.js", lambda route: route.fulfill(body=hurried, content_type="text/javascript"))
    page.reload()


def test_stopped_server_counts_as_lost(page: Page, server: Server) -> None:
    hasten(page)
    start(page)
    reach(page, "speaking")
    server.script.frozen = True
    reach(page, "reconnecting")
    assert "The connection was lost." in page.inner_text(".notice[data-trouble=lost]")
    server.script.frozen = False
    reach(page, "listening")
    assert server.queries[-1]["resume"] in server.kept
    page.wait_for_selector(".notice", state="detached")


def test_quiet_server_is_asked_and_kept(page: Page, server: Server) -> None:
    hasten(page)
    page.evaluate("window.quiet = 0")
    start(page)
    reach(page, "speaking")
    reach(page, "listening")
    page.evaluate("repartee.talk.wire.addEventListener('quiet', () => quiet++)")
    until(page, lambda: page.evaluate("quiet") == 2, "two questions")
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
    shown = page.wait_for_selector(".notice[data-trouble=slow]")
    assert shown is not None
    assert "too slow for your voice" in shown.inner_text()
    page.evaluate("window.waiting = 0")
    page.wait_for_selector(".notice[data-trouble=slow]", state="detached")
    assert server.connections == 1


def test_escape_while_disconnected_stops_the_reply(page: Page, server: Server) -> None:
    server.script.replies = [reply(6)]
    server.script.drop_after_ms = 1000
    page.click("#start")
    until(page, lambda: server.connections == 1, "a connection")
    server.script.farewell = ("server_full", 1013)  # new connections are refused for now
    reach(page, "reconnecting")
    until(page, lambda: page.evaluate("window.repartee.talk.mouth.playing"), "sound")
    page.keyboard.press("Escape")
    server.script.farewell = None
    reach(page, "listening")
    until(page, lambda: server.of("response.cancel"), "the end of the reply")
    (cancel,) = server.of("response.cancel")
    assert cancel["response_id"] == "resp_1_1"
    assert page.locator(".item.assistant.cut").count() == 1


def test_reply_has_full_volume_after_reconnect(page: Page, server: Server) -> None:
    server.script.replies = [reply(4.2)]
    start(page)
    reach(page, "speaking")
    tell(page, {"type": "repartee.duck", "response_id": "resp_1_1"})
    page.wait_for_timeout(400)
    page.evaluate("window.repartee.talk.wire.connect()")
    until(page, lambda: server.connections == 2, "a second connection")
    reach(page, "listening")
    sound = read_tape(page)
    begins, a_second = loud_frames(sound.player)[0], sound.rate_hz
    wanted = soxr.resample(server.script.replies[0].pcm.astype(np.float32) / 32768, 24_000, sound.rate_hz)
    late = slice(a_second * 11 // 5, a_second * 21 // 5)
    assert rms(sound.player[begins:][late]) == pytest.approx(rms(wanted[late]), rel=0.1)


def rms(sound: np.ndarray[Any, np.dtype[np.float32]]) -> float:
    return float(np.sqrt(np.mean(np.square(sound))))


def tell(page: Page, *events: dict[str, Any]) -> None:
    """Passes events to the page as if the server had sent them together."""
    page.evaluate(
        "(events) => events.forEach((detail) => "
        "window.repartee.talk.wire.dispatchEvent(new CustomEvent('event', { detail })))",
        events,
    )


def test_new_conversation_replaces_lost_one(page: Page, server: Server) -> None:
    server.script.replies = [reply(6)]
    start(page)
    reach(page, "speaking")
    server.kept.clear()
    page.evaluate("window.repartee.talk.wire.connect()")
    page.wait_for_selector(".notice[data-trouble=not-kept]")
    page.fill("#say", "who are you")
    page.press("#say", "Enter")
    said = ["what time is it", "It is ten past four.", "who are you", "It is ten past four."]
    until(page, lambda: page.locator(".item .text").all_inner_texts() == said, "the lines of both conversations")
    assert page.locator(".item.assistant.cut").count() == 1
    assert server.connections == 2


def test_mute_sends_no_audio(page: Page, server: Server) -> None:
    start(page)
    page.keyboard.press("m")
    page.wait_for_timeout(100)
    before = len(server.sound)
    assert page.inner_text("#phase") == "Muted"
    assert page.get_attribute("#mute", "aria-pressed") == "true"
    page.wait_for_timeout(400)
    assert len(server.sound) == before
    page.keyboard.press("m")
    until(page, lambda: len(server.sound) > before + 10, "sound after the mute")


def start_with_a_key(page: Page) -> None:
    page.click("#settings-open")
    page.check("#push-to-talk")
    page.keyboard.press("Escape")
    start(page)


def test_push_to_talk_sends_a_turn(page: Page, server: Server) -> None:
    start_with_a_key(page)
    page.wait_for_timeout(300)
    assert server.sound == []
    assert server.of("session.update")[-1]["session"]["audio"]["input"]["turn_detection"] is None
    page.keyboard.down("Space")
    reach(page, "hearing")
    until(page, lambda: len(server.sound) > 100, "two seconds of sound")
    page.keyboard.up("Space")
    reach(page, "speaking")
    sent = len(server.sound)
    kinds = [event["type"] for event in server.events]
    assert kinds.index("input_audio_buffer.commit") + 1 == kinds.index("response.create")
    until(page, lambda: server.of("repartee.playout"), "a report")
    assert "latency_ms" in server.of("repartee.playout")[0]
    page.wait_for_timeout(200)
    assert len(server.sound) == sent


def test_push_to_talk_works_by_click_and_not_while_muted(page: Page, server: Server) -> None:
    start_with_a_key(page)
    page.keyboard.press("m")
    page.keyboard.press("Space")
    page.wait_for_selector(".notice >> text=The microphone is muted")
    assert page.get_attribute("#hold", "aria-pressed") == "false"
    assert page.inner_text("#state") == "Muted"
    page.keyboard.press("m")
    page.focus("#hold")
    page.keyboard.press("Enter")
    reach(page, "hearing")
    assert page.get_attribute("#hold", "aria-pressed") == "true"
    until(page, lambda: len(server.sound) > 20, "sound")
    page.evaluate("hold.click()")  # as from a screen reader
    reach(page, "speaking")
    page.click("#hold", delay=300)  # a mouse holds it, and the click does not start it again
    until(page, lambda: len(server.of("response.create")) == 2, "another turn")
    assert page.get_attribute("#hold", "aria-pressed") == "false"


def test_reply_beginning_while_key_is_down_is_cancelled(page: Page, server: Server) -> None:
    server.script.thinks_s = 0.5
    start_with_a_key(page)
    page.keyboard.down("Space")
    until(page, lambda: len(server.sound) > 20, "sound")
    page.keyboard.up("Space")
    until(page, lambda: server.of("response.create"), "a turn")
    page.keyboard.down("Space")
    until(page, lambda: server.of("response.cancel"), "the end of its reply")
    assert server.of("response.cancel")[0]["response_id"] == "resp_1_1"
    page.wait_for_timeout(300)
    assert page.get_attribute("body", "data-phase") == "hearing"
    assert loud_frames(read_tape(page).player).size == 0
    page.keyboard.up("Space")
    reach(page, "speaking")


def test_silence_with_key_down_is_not_answered(page: Page, server: Server) -> None:
    server.script.replies = [replace(server.script.replies[0], heard=""), *server.script.replies]
    start_with_a_key(page)
    page.keyboard.down("Space")
    until(page, lambda: len(server.sound) > 20, "sound")
    page.keyboard.up("Space")
    until(page, lambda: server.of("response.cancel"), "the end of its reply")
    assert "No words were heard." in page.inner_text("#notices")
    page.keyboard.down("Space")
    until(page, lambda: len(server.sound) > 60, "sound")
    page.keyboard.up("Space")
    reach(page, "speaking")


def test_reply_after_empty_turn_is_played(page: Page, server: Server) -> None:
    server.script.replies = [replace(reply(0.1), text="", heard=""), reply(1.5)]
    start_with_a_key(page)
    page.keyboard.down("Space")
    until(page, lambda: len(server.sound) > 20, "sound")
    page.keyboard.up("Space")
    page.wait_for_selector(".notice >> text=No words were heard.")
    until(page, lambda: page.get_attribute("body", "data-phase") == "listening", "an end of it")
    assert page.locator(".notice").count() == 1
    page.keyboard.down("Space")
    until(page, lambda: len(server.sound) > 60, "sound")
    page.keyboard.up("Space")
    reach(page, "speaking")
    assert [event["response_id"] for event in server.of("response.cancel")] == ["resp_1_1"], "of the first one only"


def types(page: Page, *texts: str) -> None:
    """Types texts directly one after the other."""
    for text in texts:
        page.fill("#say", text)
        page.press("#say", "Enter")


def begin_phases(page: Page) -> None:
    """Records the phases from now on."""
    page.evaluate("""() => {
        window.phases = [document.body.dataset.phase];
        new MutationObserver(() => {
            const { phase } = document.body.dataset;
            if (phases.at(-1) !== phase) phases.push(phase);
        }).observe(document.body, { attributeFilter: ["data-phase"] });
    }""")


def test_texts_typed_before_reply_are_answered_together(page: Page, server: Server) -> None:
    server.script.thinks_s = 2.0
    server.script.pauses = {600: 0.2}  # shorter than the sound before it: the page does not run dry
    page.evaluate("delete MediaDevices.prototype.getUserMedia")  # no microphone
    start(page)
    begin_phases(page)
    types(page, "first", "second", "third")
    reach(page, "speaking")
    assert page.evaluate("phases") == ["listening", "thinking", "speaking"]
    assert [event["response_id"] for event in server.of("response.cancel")] == ["resp_1_1"]
    assert len(server.of("response.create")) == 2
    assert page.locator(".item.user .text").all_inner_texts() == ["first", "second", "third"]
    assert page.locator(".notice.note").count() == 0
    reach(page, "listening")
    assert rendered_as(read_tape(page), server.script.replies[0].pcm) > 0.999


def test_text_typed_as_reply_begins_is_requested_again(page: Page, server: Server) -> None:
    server.script.pauses = {600: 0.2}  # shorter than the sound before it: the page does not run dry
    page.evaluate("delete MediaDevices.prototype.getUserMedia")  # no microphone
    start(page)
    begin_phases(page)
    page.evaluate("void (repartee.talk._ask = () => delete repartee.talk._ask)")  # as if it were on its way
    types(page, "hello")
    refused = {"code": "conversation_already_has_active_response", "message": "another response is under way"}
    tell(
        page,
        {"type": "response.created", "response": {"id": "resp_9_1", "status": "in_progress"}},
        {"type": "error", "error": refused},
        {"type": "response.done", "response": {"id": "resp_9_1", "status": "cancelled"}},
    )
    reach(page, "speaking")
    assert page.evaluate("phases") == ["listening", "thinking", "speaking"]
    assert [event["response_id"] for event in server.of("response.cancel")] == ["resp_9_1"]
    assert len(server.of("response.create")) == 1
    assert page.locator(".notice.note").count() == 0


def test_unsent_request_is_not_awaited(page: Page, server: Server) -> None:
    page.evaluate("delete MediaDevices.prototype.getUserMedia")  # no microphone
    start(page)
    page.evaluate("""() => {
        const { wire } = repartee.talk, { send } = wire;
        wire.send = (event) => (event.type === "response.create" ? !delete wire.send : send.call(wire, event));
    }""")
    types(page, "first")
    page.wait_for_selector(".item.user")
    assert page.get_attribute("body", "data-phase") == "listening"
    types(page, "second")
    reach(page, "speaking")
    assert server.of("response.cancel") == []


def test_requested_reply_is_not_awaited_after_reconnect(page: Page, server: Server) -> None:
    server.script.thinks_s = 60
    page.evaluate("delete MediaDevices.prototype.getUserMedia")  # no microphone
    start(page)
    types(page, "first", "second")
    until(page, lambda: len(server.of("conversation.item.create")) == 2, "both")
    tell(page, {"type": "error", "error": {"code": "input_audio_buffer_commit_empty", "message": "no words"}})
    server.script.thinks_s = 0
    page.evaluate("repartee.talk.wire.connect()")
    until(page, lambda: server.connections == 2, "a second connection")
    reach(page, "listening")
    types(page, "third")
    reach(page, "speaking")
    assert server.of("response.cancel") == []


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
    reach(page, "hearing")
    page.focus("#push-to-talk")
    page.keyboard.up("Space")  # ends the press and operates no switch
    until(page, lambda: page.evaluate("!window.repartee.talk.held.down"), "the key is up")
    assert page.is_checked("#push-to-talk")
    page.keyboard.press("Space")
    assert not page.is_checked("#push-to-talk")


def test_page_can_be_used_by_keyboard_only(page: Page, server: Server) -> None:
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "start":
            break
    page.keyboard.press("Enter")
    reach(page, "listening")
    page.keyboard.press("m")
    page.focus("#say")
    page.keyboard.type("hello mom")  # its letters are not shortcuts
    page.keyboard.press("Enter")
    reach(page, "speaking")
    assert server.of("conversation.item.create")[0]["item"]["content"][0]["text"] == "hello mom"
    assert page.inner_text(".item.user .text") == "hello mom"
    until(page, lambda: "Repartee: It is ten past four." in page.inner_text("#aloud"), "the reply, for a screen reader")
    assert page.inner_text("#phase") == "Speaking"
    page.keyboard.press("Escape")
    until(page, lambda: page.get_attribute("body", "data-phase") == "listening", "an end of the reply")


def test_transcript_is_marked_with_its_language(page: Page, server: Server) -> None:
    server.script.language = "de"
    server.script.replies = [replace(reply(0.5), text="Zehn nach vier.")]
    page.evaluate("delete MediaDevices.prototype.getUserMedia")  # no microphone
    start(page)
    types(page, "wie spät ist es")
    until(page, lambda: page.inner_text("#aloud") == "Repartee: Zehn nach vier.", "the reply, for a screen reader")
    assert page.locator("#aloud [lang=de]").all_inner_texts() == ["Zehn nach vier."]
    assert page.locator("#say[lang=de]").count() == 1
    in_force = "(of) => [...document.querySelectorAll(of)].map((one) => one.closest('[lang]').lang)"
    assert page.evaluate(in_force, "#aloud, .item .who, .item .note") == ["en"] * 5
    assert page.evaluate(in_force, ".item .text, .item .word") == ["de"] * 5


def test_page_fits_the_width_of_a_phone(page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    start(page)
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    for name in ("start", "mute", "settings-open", "say"):
        box = page.locator(f"#{name}").bounding_box()
        assert box is not None
        assert 0 <= box["x"] <= box["x"] + box["width"] <= 360
