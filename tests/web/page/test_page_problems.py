"""The page shows each problem with a remedy."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page
from support.pages.page_browser import wait_until
from support.pages.page_conversation import dispatch_events
from support.servers.scripted_server import SETTINGS, Reply, Script, Server, serving

pytestmark = [pytest.mark.slow, pytest.mark.real_time, pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def script() -> Script:
    return Script([Reply("as you wish", (np.sin(np.arange(36_000) / 9) * 8000).astype(np.int16))])


def notice(page: Page, name: str) -> str:
    shown = page.wait_for_selector(f".notice[data-problem={name}]")
    assert shown is not None
    return shown.inner_text()


def open_and_start(page: Page, server: Server) -> None:
    page.goto(server.url)
    page.click("#start")


def open_and_wait(page: Page, server: Server) -> None:
    """Starts a conversation and waits until it listens."""
    open_and_start(page, server)
    page.wait_for_selector("body[data-phase=listening]")


def write(page: Page, text: str) -> None:
    page.fill("#text-input", text)
    page.press("#text-input", "Enter")


def test_typing_works_if_microphone_is_denied(page: Page, server: Server) -> None:
    open_and_start(page, server)
    words = notice(page, "denied")
    wait_until(page, lambda: page.inner_text("#phase") == "No microphone: you can type", "the phase")
    assert "does not let this page use the microphone" in words
    assert "Allow it in the site settings" in words
    write(page, "are you there")
    page.wait_for_selector("body[data-phase=speaking]")
    wait_until(
        page,
        lambda: server.events_of("repartee.playout") and server.events_of("repartee.playout")[-1]["finished"],
        "a reply",
    )
    assert 20 < page.evaluate("repartee.turns.all[0].typed_ms") < 5000
    assert re.fullmatch(r"\d+ ms from Enter to the first sound", page.inner_text("#strip-latency"))
    assert server.audio_chunks == []


def test_failed_reply_shows_its_cause_once(page: Page, server: Server) -> None:
    cause = "llm endpoint 'home' ended its answer without any text (finish_reason stop), its model stopped at once"
    server.script.replies = [replace(server.script.replies[0], error=cause)]
    open_and_start(page, server)
    notice(page, "denied")
    wait_until(page, lambda: page.inner_text("#phase") == "No microphone: you can type", "the phase")
    write(page, "are you there")
    page.wait_for_selector(".item.failed")
    assert page.inner_text(".item.failed .note") == f"failed: {cause}"
    assert page.locator(".notice:not([data-problem=denied])").count() == 0


def test_failed_reply_without_words_is_a_notice_until_the_next_reply(page: Page, server: Server) -> None:
    open_and_wait(page, server)
    failed = {"id": "resp_7_1", "status": "failed", "status_details": {"error": {"message": "the voice failed"}}}
    dispatch_events(
        page,
        {"type": "response.created", "response": {"id": "resp_7_1"}},
        {"type": "repartee.notice", "text": "the voice failed"},
        {"type": "response.done", "response": failed},
    )
    words = notice(page, "reply-failed")
    assert page.locator(".notice.note").count() == 0
    assert "Say or type it again" in words
    assert "the voice failed" in words
    assert page.evaluate("repartee.turns.summary") is None
    write(page, "are you there")
    page.wait_for_selector(".notice[data-problem=reply-failed]", state="detached")


@pytest.mark.parametrize(
    ("hidden", "name", "words"),
    [
        ("Object.defineProperty(window, 'isSecureContext', {value: false})", "insecure", "http://localhost"),
        ("delete window.AudioWorkletNode", "no-worklet", "no AudioWorklet"),
    ],
)
def test_obstacle_is_shown_before_start(page: Page, server: Server, hidden: str, name: str, words: str) -> None:
    page.add_init_script(hidden)
    open_and_start(page, server)
    assert words in notice(page, name)
    assert server.connections == 0


COUNT_CONTEXTS = """
    window.made = [];
    window.AudioContext = class extends AudioContext { constructor() { super(...arguments); made.push(this); } };
    """


def test_start_without_server_shows_notice_and_cleans_up(page: Page) -> None:
    page.add_init_script(COUNT_CONTEXTS)
    script = Script([Reply("as you wish", np.zeros(240, np.int16))])
    with serving(script) as server:
        page.goto(server.url)
    for attempt in (1, 2):
        page.click("#start")
        words = notice(page, "unreachable")
        assert "could not be reached" in words
        assert "then try again." in words
        assert "worklet" not in words
        wait_until(page, lambda: page.get_attribute("body", "data-phase") == "idle", "an end of the start")
        assert page.evaluate("made.map((context) => context.state)") == ["closed"] * attempt
    assert page.locator(".notice").count() == 1
    with serving(script, server.port):
        page.click(".notice[data-problem=unreachable] button.small >> nth=0")
        page.wait_for_selector("body[data-phase=listening]")
    assert page.locator(".notice[data-problem=unreachable]").count() == 0


def answered_by(model: str) -> dict[str, Any]:
    """Returns settings of a server with this model."""
    return {**SETTINGS, "answers": {**SETTINGS["answers"], "name": model, "kind": "model"}}


def test_conversation_stays_while_the_server_loads_and_the_wait_is_no_latency(page: Page, server: Server) -> None:
    server.script.settings = answered_by("first")
    open_and_wait(page, server)
    write(page, "are you there")
    page.wait_for_selector("body[data-phase=speaking]")
    wait_until(page, lambda: "as you wish" in page.inner_text("#transcript"), "the reply")
    server.script.close_with = ("server_loading", 1013)
    server.script.settings = answered_by("second")
    page.reload()
    wait_until(page, lambda: page.inner_text("#start-label") == "Continue conversation", "the conversation")
    before = page.inner_text("#transcript")
    assert "are you there" in before
    write(page, "and now")
    notice(page, "loading")
    assert page.inner_text("#transcript") == before
    server.script.settings = answered_by("third")
    server.script.close_with = None
    wait_until(page, lambda: "and now" in page.inner_text("#transcript"), "the message")
    wait_until(page, lambda: page.evaluate("repartee.turns.all.at(-1)?.leaves_s > 0"), "a reply")
    assert page.evaluate("repartee.turns.all.at(-1).typed_ms") is None
    wait_until(page, lambda: "third" in page.inner_text("#answers .name"), "the new settings")


def test_missing_audio_support_is_shown_until_next_start(page: Page, server: Server) -> None:
    page.add_init_script(
        "window.own = AudioContext; window.AudioContext = class { constructor() { throw Error('no card'); } }"
    )
    open_and_start(page, server)
    assert "no card" in notice(page, "no-sound")
    page.evaluate("void (window.AudioContext = own)")
    page.click("#start")
    page.wait_for_selector("body[data-phase=listening]")
    assert page.locator(".notice[data-problem=no-sound]").count() == 0


@pytest.mark.parametrize(("failure", "name"), [("NotFoundError", "no-microphone"), ("NotReadableError", "busy")])
def test_failed_microphone_can_be_retried(page: Page, server: Server, failure: str, name: str) -> None:
    page.add_init_script(
        "navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException('', window.failure ?? "
        f"'{failure}'))"
    )
    open_and_start(page, server)
    assert "type" in notice(page, name) or "choose another" in notice(page, name)
    page.evaluate("window.failure = 'NotAllowedError'")
    page.click(f".notice[data-problem={name}] button.small >> nth=0")
    notice(page, "denied")


def test_removed_microphone_is_opened_again(page: Page, server: Server) -> None:
    page.add_init_script("""
        navigator.mediaDevices.getUserMedia = async () => {
            const context = window.bench ??= new AudioContext();
            window.given = new MediaStreamAudioDestinationNode(context).stream;
            return window.given;
        }""")
    open_and_start(page, server)
    wait_until(page, lambda: len(server.audio_chunks) > 5, "sound")
    page.evaluate("given.getTracks()[0].dispatchEvent(new Event('ended'))")
    assert "no longer available" in notice(page, "unplugged")
    page.wait_for_timeout(100)
    before = len(server.audio_chunks)
    page.evaluate("navigator.mediaDevices.dispatchEvent(new Event('devicechange'))")
    page.wait_for_selector(".notice[data-problem=unplugged]", state="detached")
    wait_until(page, lambda: len(server.audio_chunks) > before + 5, "sound again")


GRANTED_LATER = """
    window.requests = [], window.given = [];
    navigator.mediaDevices.getUserMedia = ({ audio }) => new Promise((resolve) => {
        requests.push({ ...audio, alone: given.every((stream) => stream.getTracks()[0].readyState === "ended") });
        window.grant = () => {
            given.push(new MediaStreamAudioDestinationNode(window.bench ??= new AudioContext()).stream);
            window.grant = null;
            resolve(given.at(-1));
        };
    });"""
"""The microphone is requested, and granted by `grant`."""


def test_only_the_latest_microphone_settings_are_requested(page: Page, server: Server) -> None:
    page.add_init_script(GRANTED_LATER)
    open_and_start(page, server)
    wait_until(page, lambda: page.evaluate("requests.length") == 1, "a microphone is requested")
    page.evaluate("grant()")
    page.wait_for_selector("body[data-phase=listening]")
    page.click("#settings-open")
    page.click("#noiseSuppression")
    wait_until(page, lambda: page.evaluate("requests.length") == 2, "it is requested again")
    page.click("#autoGainControl")
    page.keyboard.press("Escape")
    page.click("#theme")
    page.evaluate("grant()")
    wait_until(page, lambda: page.evaluate("requests.length") == 3, "it is requested with the latest settings")
    page.evaluate("grant()")
    page.wait_for_timeout(200)
    processing = [[one["noiseSuppression"], one["autoGainControl"], one["alone"]] for one in page.evaluate("requests")]
    assert processing == [[True, True, True], [False, True, True], [False, False, True]]
    assert "theme" not in page.evaluate("requests[2]")


@pytest.mark.parametrize("running", [False, True])
def test_microphone_granted_after_stop_is_closed(page: Page, server: Server, *, running: bool) -> None:
    page.add_init_script(GRANTED_LATER)
    open_and_start(page, server)
    wait_until(page, lambda: page.evaluate("Boolean(window.grant)"), "a microphone is requested")
    if running:
        page.evaluate("grant()")
        page.wait_for_selector("body[data-phase=listening]")
        page.click("#settings-open")
        page.click("#noiseSuppression")
        wait_until(page, lambda: page.evaluate("Boolean(window.grant)"), "a microphone is requested")
    page.click("#start")
    page.wait_for_selector("body[data-phase=idle]")
    page.evaluate("grant()")
    wait_until(
        page,
        lambda: page.evaluate("given.every((stream) => stream.getTracks()[0].readyState === 'ended')"),
        "it is closed",
    )
    page.wait_for_timeout(200)
    assert page.get_attribute("body", "data-phase") == "idle"
    assert page.locator(".notice").count() == 0
    assert server.connections == int(running)


@pytest.mark.parametrize(
    ("close_with", "name", "words", "again"),
    [
        (("server_busy", 1013), "overloaded", "The server is busy", True),
        (("session_expired", 1001), "too-long", "the maximum length that the server allows", False),
    ],
)
def test_server_close_reason_is_shown(
    page: Page, server: Server, close_with: tuple[str, int], name: str, words: str, *, again: bool
) -> None:
    server.script.close_with = close_with
    open_and_start(page, server)
    text = notice(page, name)
    assert words in text
    assert f"message for {close_with[0]}" in text
    assert page.locator(".notice").count() == 1 + again  # while it retries, the notice about the microphone, too
    server.script.close_with = None
    if again:
        wait_until(page, lambda: server.connections == 1, "another attempt")
        page.wait_for_selector(f".notice[data-problem={name}]", state="detached")
    else:
        page.wait_for_selector("body[data-phase=idle]")


FOCUS = "document.activeElement.id"
ENDED = """
    repartee.session.connection.dispatchEvent(new CustomEvent("ended", { detail: { problem: "idle", message: "" } }))
    """


def test_disabled_control_keeps_the_focus(page: Page, server: Server) -> None:
    open_and_wait(page, server)
    write(page, "are you there")
    page.wait_for_selector("body[data-phase=speaking]")
    page.focus("#interrupt")
    page.wait_for_selector("body[data-phase=listening]")
    assert page.get_attribute("#interrupt", "aria-disabled") == "true"
    page.keyboard.press("Enter")
    page.wait_for_timeout(200)
    assert page.evaluate(FOCUS) == "interrupt"
    assert server.events_of("response.cancel") == server.events_of("output_audio_buffer.clear") == []
    page.focus("#text-input")
    page.keyboard.type("half a thou")
    page.evaluate(ENDED)
    page.wait_for_selector("body[data-phase=idle]")
    page.keyboard.type("ght, my friend")  # otherwise the space would press a button and the m would mute
    page.wait_for_timeout(200)
    assert page.evaluate(FOCUS) == "text-input"
    assert page.input_value("#text-input") == "half a thought, my friend"
    assert page.get_attribute("body", "data-phase") == "idle"
    assert page.get_attribute("#mute", "aria-disabled") == "true"


def test_removed_key_button_passes_on_the_focus(page: Page, server: Server) -> None:
    page.goto(server.url)
    page.click("#settings-open")
    page.check("#push-to-talk")
    page.keyboard.press("Escape")
    page.click("#start")
    page.wait_for_selector("body[data-phase=listening]")
    page.focus("#hold")
    page.evaluate(ENDED)
    page.wait_for_selector("body[data-phase=idle]")
    assert page.evaluate(FOCUS) == "start"


def test_wrong_token_is_reported_at_the_input_and_requested_again(page: Page, server: Server) -> None:
    server.script.token = "open-sesame"
    open_and_start(page, server)
    page.wait_for_selector("#token-dialog[open]")
    assert not page.is_visible("#token-refused")
    for wrong, words in (("open-barley", "this server requires its token"),
                         ("REPARTEE_TOKEN=open-sesame", "Paste the token alone")):  # fmt: skip
        page.fill("#token", wrong)
        page.keyboard.press("Enter")
        page.wait_for_selector(f"#token-dialog[open] >> text={words}")
    page.wait_for_selector(".notice[data-problem=token] >> text=Paste the token alone")
    assert not page.is_visible(".notice[data-problem=no-sound]")
    page.fill("#token", "open-sesame")
    page.keyboard.press("Enter")
    page.wait_for_selector("body[data-phase=listening]")
    assert server.connections == 1
    assert not page.is_visible("#token-dialog")


def test_page_works_without_storage(page: Page, server: Server) -> None:
    page.add_init_script("""
        for (const name of ["localStorage", "sessionStorage"]) {
            Object.defineProperty(window, name, { get() { throw new DOMException("denied", "SecurityError"); } });
        }""")
    server.script.token = "open-sesame"
    page.goto(server.url)
    page.click("#settings-open")
    page.check("#push-to-talk")
    page.keyboard.press("Escape")
    page.click("#start")
    page.wait_for_selector("#token-dialog[open]")
    page.fill("#token", "open-sesame")
    page.keyboard.press("Enter")
    page.wait_for_selector("body[data-phase=listening]")
    assert page.evaluate("repartee.session.pushToTalk.enabled")
    assert page.is_visible("#hold")


def test_text_typed_while_disconnected_stays_in_the_box(page: Page, server: Server) -> None:
    server.script.close_with = ("server_full", 1013)
    open_and_start(page, server)
    notice(page, "full")
    write(page, "are you there")
    page.wait_for_selector(".notice >> text=Not sent")
    assert page.input_value("#text-input") == "are you there"
    assert server.events_of("conversation.item.create") == []


def test_repeated_notice_is_shown_once(page: Page, server: Server) -> None:
    open_and_wait(page, server)
    server.script.close_with = ("server_full", 1013)
    page.evaluate("repartee.session.connection.connect()")
    notice(page, "full")
    page.focus(".notice[data-problem=full] button.small >> nth=0")
    page.evaluate("""window.changes = 0;
        new MutationObserver(() => changes++).observe(notices, { childList: true, subtree: true })""")
    page.evaluate(
        "repartee.session.connection.addEventListener('lost', () => (window.losses = (window.losses ?? 0) + 1))"
    )
    wait_until(page, lambda: page.evaluate("window.losses >= 2"), "two more attempts")
    assert page.evaluate("document.activeElement.textContent") == "Try now"
    assert page.evaluate("changes") == 0
    server.script.close_with = None
    page.wait_for_selector(".notice[data-problem=full]", state="detached")
    assert page.evaluate("document.activeElement.id") == "start"


def test_restarting_server_shows_one_notice_at_a_time(page: Page) -> None:
    def shown() -> list[str | None]:
        notices = page.locator(".notice:not([data-problem=denied])")
        return [one.get_attribute("data-problem") for one in notices.all()]

    script = Script([Reply("as you wish", np.zeros(240, np.int16))])
    with serving(script) as server:
        open_and_start(page, server)
        page.wait_for_selector("body[data-phase=listening]")
        page.evaluate("""window.problems = [];
            repartee.session.connection.addEventListener("lost", ({ detail }) => problems.push(detail.problem));""")
        script.close_with = ("server_draining", 1012)
        page.evaluate("repartee.session.connection.connect()")
        notice(page, "restarting")
    wait_until(page, lambda: page.evaluate("problems.includes('lost')"), "a failed attempt")
    assert shown() == ["restarting"]
    script.close_with = ("server_loading", 1013)
    with serving(script, server.port):
        assert notice(page, "loading").count("still loading its engines") == 1
        assert shown() == ["loading"]
        script.close_with = None
        page.wait_for_selector("body[data-phase=listening]")
        assert shown() == ["not-kept"]
        page.click("#start")
        page.wait_for_selector("body[data-phase=idle]")
        assert shown() == []


def test_repeated_note_restarts_its_time(page: Page) -> None:
    page.clock.install()
    with serving(Script([Reply("as you wish", np.zeros(240, np.int16))])) as server:
        page.goto(server.url)
        page.evaluate("""import('/static/view/notices.js').then(({ Notices }) => {
            window.shown = new Notices(() => {});
            shown.note('hello');
        })""")
        page.clock.run_for(7000)
        page.evaluate("shown.note('hello')")
        page.clock.run_for(7000)
        assert page.locator(".notice").count() == 1
        page.clock.run_for(2000)
        assert page.locator(".notice").count() == 0


def test_suspended_context_is_resumed_at_once(page: Page, server: Server) -> None:
    open_and_wait(page, server)
    page.evaluate("window.repartee.tap.context.suspend()")
    wait_until(page, lambda: page.evaluate("window.repartee.tap.context.state") == "running", "the sound runs")
    page.wait_for_selector(".notice[data-problem=suspended]", state="detached")


def test_context_that_stays_suspended_can_be_resumed(page: Page, server: Server) -> None:
    open_and_wait(page, server)
    refuse = """() => {
        const { context } = window.repartee.tap;
        const resume = context.resume.bind(context);
        let refused = true;
        context.resume = () => (refused ? Promise.reject(new Error("a phone call")) : resume());
        window.endCall = () => { refused = false; };
        return context.suspend();
    }"""
    page.evaluate(refuse)
    assert "paused the sound" in notice(page, "suspended")
    page.evaluate("window.endCall()")
    page.click(".notice[data-problem=suspended] button.small >> nth=0")
    page.wait_for_selector(".notice[data-problem=suspended]", state="detached")


def test_server_errors_are_shown(page: Page, server: Server) -> None:
    open_and_wait(page, server)
    dispatch_events(page, {"type": "error", "error": {"code": "x", "message": "the item is not there"}})
    page.wait_for_selector(".notice >> text=the item is not there")


def test_late_event_of_forgotten_reply_is_ignored(page: Page, server: Server) -> None:
    open_and_wait(page, server)
    handle = """(type) => {
        const { output } = repartee.session.audio;
        output._handlePlayerEvent({ type, reply: "resp_1_1", frame: 0, sample: 9, level: -20 });
        return [output.hasUnplayedAudio("resp_1_1"), repartee.session.phase];
    }"""
    for type_ in ("run", "progress", "audible", "finished"):
        assert page.evaluate(handle, type_) == [False, "listening"]


def speak(page: Page, text: str) -> None:
    """Shows speech in progress with this interim text."""
    dispatch_events(page, {"type": "input_audio_buffer.speech_started", "audio_start_ms": 0, "item_id": "item_9"})
    if text:
        dispatch_events(page, {"type": "repartee.partial", "item_id": "item_9", "text": text, "rough": False})
    page.wait_for_selector(".item.user.in-progress")


def lines(page: Page) -> list[str]:
    """Returns the lines of the conversation, without the buttons of a message."""
    return [" ".join(text.split()).removesuffix(" Copy") for text in page.locator(".item").all_inner_texts()]


@pytest.mark.parametrize(
    ("text", "left"), [("", []), ("what is the", ["You what is the not finished"])], ids=["no words", "words"]
)
def test_stop_finishes_the_current_line(page: Page, server: Server, text: str, left: list[str]) -> None:
    open_and_wait(page, server)
    speak(page, text)
    page.click("#mute")
    page.click("#start")
    page.wait_for_selector("body[data-phase=idle]")
    assert page.locator(".item.in-progress").count() == 0
    assert lines(page) == left
    assert page.locator("#empty").is_hidden() is bool(left)


def test_reconnect_and_reload_remove_the_current_line(page: Page, server: Server) -> None:
    open_and_wait(page, server)
    speak(page, "what is the")
    page.evaluate("window.repartee.session.connection.connect()")
    wait_until(page, lambda: server.connections == 2, "a second connection")
    page.wait_for_selector("body[data-phase=listening]")
    wait_until(page, lambda: lines(page) == [], "no line")
    speak(page, "what is the")
    page.reload()
    assert lines(page) == []
    assert page.get_attribute("body", "data-phase") == "idle"
