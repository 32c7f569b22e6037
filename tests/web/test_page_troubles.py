"""What goes wrong around the page is said in the page, in words, with what to do."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from page_browser import chromium, until
from playwright.sync_api import Browser, Page
from scripted_server import Reply, Script, Server, serving

pytestmark = [pytest.mark.slow, pytest.mark.real_time, pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def deaf() -> Iterator[Browser]:
    """A browser that gives no page its microphone."""
    with chromium(allowed=False) as browser:
        yield browser


@pytest.fixture
def server() -> Iterator[Server]:
    sound = np.sin(np.arange(36_000) / 9) * 8000
    with serving(Script([Reply("as you wish", sound.astype(np.int16))])) as server:
        yield server


@pytest.fixture
def page(deaf: Browser, server: Server) -> Iterator[Page]:
    context = deaf.new_context()
    yield context.new_page()
    context.close()


def notice(page: Page, name: str) -> str:
    shown = page.wait_for_selector(f".notice[data-trouble={name}]")
    assert shown is not None
    return shown.inner_text()


def open_and_start(page: Page, server: Server) -> None:
    page.goto(server.url)
    page.click("#start")


def test_a_denied_microphone_leaves_the_keyboard(page: Page, server: Server) -> None:
    open_and_start(page, server)
    words = notice(page, "denied")
    until(page, lambda: page.inner_text("#phase") == "No microphone: you can type", "the phase")
    assert "does not let this page use the microphone" in words
    assert "Allow it in the site settings" in words
    page.fill("#say", "are you there")
    page.press("#say", "Enter")
    page.wait_for_selector("body[data-phase=speaking]")
    until(page, lambda: server.of("repartee.playout") and server.of("repartee.playout")[-1]["finished"], "a reply")
    assert page.inner_text("#latency") == "typed"
    assert server.sound == []


def test_a_failed_reply_shows_its_cause_once(page: Page, server: Server) -> None:
    cause = "llm endpoint 'home' ended its answer without any text (finish_reason stop), its model stopped at once"
    server.script.replies = [replace(server.script.replies[0], error=cause)]
    open_and_start(page, server)
    notice(page, "denied")
    until(page, lambda: page.inner_text("#phase") == "No microphone: you can type", "the phase")
    page.fill("#say", "are you there")
    page.press("#say", "Enter")
    page.wait_for_selector(".notice.note")
    assert [shown.inner_text() for shown in page.query_selector_all(".notice.note p")] == [cause]


@pytest.mark.parametrize(
    ("hidden", "name", "words"),
    [
        ("Object.defineProperty(window, 'isSecureContext', {value: false})", "insecure", "http://localhost"),
        ("delete window.AudioWorkletNode", "no-worklet", "no AudioWorklet"),
    ],
)
def test_an_obstacle_is_told_before_anything_is_tried(
    page: Page, server: Server, hidden: str, name: str, words: str
) -> None:
    page.add_init_script(hidden)
    open_and_start(page, server)
    assert words in notice(page, name)
    assert server.connections == 0


COUNT_CONTEXTS = """
    window.made = [];
    window.AudioContext = class extends AudioContext { constructor() { super(...arguments); made.push(this); } };
    """


def test_a_start_while_the_server_is_away_says_so_and_leaves_nothing_behind(page: Page) -> None:
    page.add_init_script(COUNT_CONTEXTS)
    script = Script([Reply("as you wish", np.zeros(240, np.int16))])
    with serving(script) as server:
        page.goto(server.url)
    for attempt in (1, 2):
        page.click("#start")
        assert "could not be reached" in notice(page, "away")
        until(page, lambda: page.get_attribute("body", "data-phase") == "idle", "an end of the start")
        assert page.evaluate("made.map((context) => context.state)") == ["closed"] * attempt
    assert page.locator(".notice").count() == 1
    with serving(script, server.port):
        page.click(".notice[data-trouble=away] button.small >> nth=0")
        page.wait_for_selector("body[data-phase=listening]")
    assert page.locator(".notice[data-trouble=away]").count() == 0


def test_a_browser_without_sound_is_told_so_until_the_next_start(page: Page, server: Server) -> None:
    page.add_init_script(
        "window.own = AudioContext; window.AudioContext = class { constructor() { throw Error('no card'); } }"
    )
    open_and_start(page, server)
    assert "no card" in notice(page, "no-sound")
    page.evaluate("void (window.AudioContext = own)")
    page.click("#start")
    page.wait_for_selector("body[data-phase=listening]")
    assert page.locator(".notice[data-trouble=no-sound]").count() == 0


@pytest.mark.parametrize(
    ("failure", "name"),
    [("NotFoundError", "no-microphone"), ("NotReadableError", "busy")],
)
def test_a_microphone_that_fails_can_be_tried_again(page: Page, server: Server, failure: str, name: str) -> None:
    page.add_init_script(
        "navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException('', window.failure ?? "
        f"'{failure}'))"
    )
    open_and_start(page, server)
    assert "type" in notice(page, name) or "choose another" in notice(page, name)
    page.evaluate("window.failure = 'NotAllowedError'")
    page.click(f".notice[data-trouble={name}] button.small >> nth=0")
    notice(page, "denied")


def test_a_microphone_that_goes_away_is_taken_up_again(page: Page, server: Server) -> None:
    page.add_init_script("""
        navigator.mediaDevices.getUserMedia = async () => {
            const context = window.bench ??= new AudioContext();
            window.given = new MediaStreamAudioDestinationNode(context).stream;
            return window.given;
        }""")
    open_and_start(page, server)
    until(page, lambda: len(server.sound) > 5, "sound")
    page.evaluate("given.getTracks()[0].dispatchEvent(new Event('ended'))")
    assert "went away" in notice(page, "unplugged")
    page.wait_for_timeout(100)
    before = len(server.sound)
    page.evaluate("navigator.mediaDevices.dispatchEvent(new Event('devicechange'))")
    page.wait_for_selector(".notice[data-trouble=unplugged]", state="detached")
    until(page, lambda: len(server.sound) > before + 5, "sound again")


def test_what_is_wished_of_the_microphone_is_asked_for_last_and_alone(page: Page, server: Server) -> None:
    page.add_init_script("""
        window.asked = [], window.given = [];
        navigator.mediaDevices.getUserMedia = ({ audio }) => new Promise((resolve) => {
            asked.push({ ...audio, alone: given.every((stream) => stream.getTracks()[0].readyState === 'ended') });
            window.grant = () => {
                given.push(new MediaStreamAudioDestinationNode(window.bench ??= new AudioContext()).stream);
                resolve(given.at(-1));
            };
        });""")
    open_and_start(page, server)
    until(page, lambda: page.evaluate("asked.length") == 1, "a microphone is asked for")
    page.evaluate("grant()")
    page.wait_for_selector("body[data-phase=listening]")
    page.click("#settings-open")
    page.click("#noiseSuppression")
    until(page, lambda: page.evaluate("asked.length") == 2, "it is asked for again")
    page.click("#autoGainControl")
    page.click("#theme")
    page.evaluate("grant()")
    until(page, lambda: page.evaluate("asked.length") == 3, "and as it is wished by now")
    page.evaluate("grant()")
    page.wait_for_timeout(200)
    processing = [[one["noiseSuppression"], one["autoGainControl"], one["alone"]] for one in page.evaluate("asked")]
    assert processing == [[True, True, True], [False, True, True], [False, False, True]]
    assert "theme" not in page.evaluate("asked[2]")


@pytest.mark.parametrize("running", [False, True])
def test_a_microphone_that_is_granted_after_stop_is_given_back(page: Page, server: Server, *, running: bool) -> None:
    page.add_init_script("""
        window.given = [];
        navigator.mediaDevices.getUserMedia = () => new Promise((resolve) => {
            window.grant = () => {
                given.push(new MediaStreamAudioDestinationNode(window.bench ??= new AudioContext()).stream);
                window.grant = null;
                resolve(given.at(-1));
            };
        });""")
    open_and_start(page, server)
    until(page, lambda: page.evaluate("Boolean(window.grant)"), "a microphone is asked for")
    if running:
        page.evaluate("grant()")
        page.wait_for_selector("body[data-phase=listening]")
        page.click("#settings-open")
        page.click("#noiseSuppression")
        until(page, lambda: page.evaluate("Boolean(window.grant)"), "a microphone is asked for")
    page.click("#start")
    page.wait_for_selector("body[data-phase=idle]")
    page.evaluate("grant()")
    until(
        page,
        lambda: page.evaluate("given.every((stream) => stream.getTracks()[0].readyState === 'ended')"),
        "it is given back",
    )
    page.wait_for_timeout(200)
    assert page.get_attribute("body", "data-phase") == "idle"
    assert page.locator(".notice").count() == 0
    assert server.connections == int(running)


@pytest.mark.parametrize(
    ("farewell", "name", "words", "again"),
    [
        (("server_full", 1013), "full", "The server is full", True),
        (("session_expired", 1001), "too-long", "the length the server allows", False),
    ],
)
def test_a_server_that_closes_says_why(
    page: Page, server: Server, farewell: tuple[str, int], name: str, words: str, *, again: bool
) -> None:
    server.script.farewell = farewell
    open_and_start(page, server)
    told = notice(page, name)
    assert words in told
    assert f"words of {farewell[0]}" in told
    assert page.locator(".notice").count() == 1 + again  # while it goes on: and that there is no microphone
    server.script.farewell = None
    if again:
        until(page, lambda: server.connections == 1, "another attempt")
        page.wait_for_selector(f".notice[data-trouble={name}]", state="detached")
    else:
        page.wait_for_selector("body[data-phase=idle]")


FOCUS = "document.activeElement.id"
ENDED = """
    repartee.talk.wire.dispatchEvent(new CustomEvent("ended", { detail: { trouble: "idle", said: "" } }))
    """


def test_what_cannot_be_worked_any_more_keeps_the_focus(page: Page, server: Server) -> None:
    open_and_start(page, server)
    page.wait_for_selector("body[data-phase=listening]")
    page.fill("#say", "are you there")
    page.press("#say", "Enter")
    page.wait_for_selector("body[data-phase=speaking]")
    page.focus("#interrupt")
    page.wait_for_selector("body[data-phase=listening]")
    assert page.get_attribute("#interrupt", "aria-disabled") == "true"
    page.keyboard.press("Enter")
    page.wait_for_timeout(200)
    assert page.evaluate(FOCUS) == "interrupt"
    assert server.of("response.cancel") == server.of("output_audio_buffer.clear") == []
    page.focus("#say")
    page.keyboard.type("half a thou")
    page.evaluate(ENDED)
    page.wait_for_selector("body[data-phase=idle]")
    page.keyboard.type("ght, my friend")  # a space that worked a button would begin anew, an m mute
    page.keyboard.press("Enter")
    page.wait_for_timeout(200)
    assert page.evaluate(FOCUS) == "say"
    assert page.input_value("#say") == "half a thou"
    assert page.get_attribute("body", "data-phase") == "idle"
    assert page.get_attribute("#mute", "aria-disabled") == "true"


def test_a_key_that_goes_away_hands_its_focus_on(page: Page, server: Server) -> None:
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


def test_a_token_is_asked_for_and_sent(page: Page, server: Server) -> None:
    server.script.token = "open-sesame"
    open_and_start(page, server)
    page.wait_for_selector("#token-dialog[open]")
    page.fill("#token", "open-sesame")
    page.keyboard.press("Enter")
    page.wait_for_selector("body[data-phase=listening]")
    assert server.connections == 1
    assert not page.is_visible("#token-dialog")


def test_what_can_be_no_token_is_asked_for_again(page: Page, server: Server) -> None:
    server.script.token = "open-sesame"
    open_and_start(page, server)
    page.wait_for_selector("#token-dialog[open]")
    page.fill("#token", "REPARTEE_TOKEN=open-sesame")
    page.keyboard.press("Enter")
    page.wait_for_selector(".notice[data-trouble=token] >> text=paste it alone")
    page.wait_for_selector("#token-dialog[open] >> text=paste it alone")
    assert not page.is_visible(".notice[data-trouble=no-sound]")
    assert page.evaluate("sessionStorage.length") == 0
    page.fill("#token", "open-sesame")
    page.keyboard.press("Enter")
    page.wait_for_selector("body[data-phase=listening]")
    assert server.connections == 1


def test_where_nothing_may_be_kept_the_page_works_until_it_is_closed(page: Page, server: Server) -> None:
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
    assert page.evaluate("repartee.talk.held.wanted")
    assert page.is_visible("#hold")


def test_a_wrong_token_is_told_where_it_is_asked_for(page: Page, server: Server) -> None:
    server.script.token = "open-sesame"
    open_and_start(page, server)
    page.wait_for_selector("#token-dialog[open]")
    assert not page.is_visible("#token-refused")
    page.fill("#token", "open-barley")
    page.keyboard.press("Enter")
    page.wait_for_selector("#token-dialog[open] >> text=this server wants its token")


def test_what_is_typed_without_a_connection_stays_in_the_box(page: Page, server: Server) -> None:
    server.script.farewell = ("server_full", 1013)
    open_and_start(page, server)
    notice(page, "full")
    page.fill("#say", "are you there")
    page.press("#say", "Enter")
    page.wait_for_selector(".notice >> text=Not sent")
    assert page.input_value("#say") == "are you there"
    assert server.of("conversation.item.create") == []


def test_a_notice_that_is_told_again_is_the_same_one(page: Page, server: Server) -> None:
    open_and_start(page, server)
    page.wait_for_selector("body[data-phase=listening]")
    server.script.farewell = ("server_full", 1013)
    page.evaluate("repartee.talk.wire.connect()")
    notice(page, "full")
    page.focus(".notice[data-trouble=full] button.small >> nth=0")
    page.evaluate("""window.changes = 0;
        new MutationObserver(() => changes++).observe(notices, { childList: true, subtree: true })""")
    page.evaluate("repartee.talk.wire.addEventListener('lost', () => (window.losses = (window.losses ?? 0) + 1))")
    until(page, lambda: page.evaluate("window.losses >= 2"), "two more attempts")
    assert page.evaluate("document.activeElement.textContent") == "Try now"
    assert page.evaluate("changes") == 0
    server.script.farewell = None
    page.wait_for_selector(".notice[data-trouble=full]", state="detached")
    assert page.evaluate("document.activeElement.id") == "start"


def test_a_server_that_restarts_says_one_thing_at_a_time(page: Page) -> None:
    def shown() -> list[str | None]:
        notices = page.locator(".notice:not([data-trouble=denied])")
        return [one.get_attribute("data-trouble") for one in notices.all()]

    script = Script([Reply("as you wish", np.zeros(240, np.int16))])
    with serving(script) as server:
        open_and_start(page, server)
        page.wait_for_selector("body[data-phase=listening]")
        page.evaluate("""window.told = [];
            repartee.talk.wire.addEventListener("lost", ({ detail }) => told.push(detail.trouble));""")
        script.farewell = ("server_draining", 1012)
        page.evaluate("repartee.talk.wire.connect()")
        notice(page, "restarting")
    until(page, lambda: page.evaluate("told.includes('lost')"), "an attempt in vain")
    assert shown() == ["restarting"]
    script.farewell = ("server_loading", 1013)
    with serving(script, server.port):
        notice(page, "loading")
        assert shown() == ["loading"]
        script.farewell = None
        page.wait_for_selector("body[data-phase=listening]")
        assert shown() == ["not-kept"]
        page.click("#start")
        page.wait_for_selector("body[data-phase=idle]")
        assert shown() == []


def test_a_note_that_is_told_again_stays_as_long_again(page: Page) -> None:
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


def test_a_suspended_context_can_be_woken(page: Page, server: Server) -> None:
    open_and_start(page, server)
    page.wait_for_selector("body[data-phase=listening]")
    page.evaluate("window.repartee.tap.context.suspend()")
    assert "paused the sound" in notice(page, "suspended")
    page.click(".notice[data-trouble=suspended] button.small >> nth=0")
    page.wait_for_selector(".notice[data-trouble=suspended]", state="detached")


def test_the_servers_errors_are_shown(page: Page, server: Server) -> None:
    open_and_start(page, server)
    page.wait_for_selector("body[data-phase=listening]")
    event: dict[str, Any] = {"type": "error", "error": {"code": "x", "message": "the item is not there"}}
    page.evaluate("(detail) => window.repartee.talk.wire.dispatchEvent(new CustomEvent('event', { detail }))", event)
    page.wait_for_selector(".notice >> text=the item is not there")


def test_what_is_told_late_of_a_forgotten_reply_changes_nothing(page: Page, server: Server) -> None:
    open_and_start(page, server)
    page.wait_for_selector("body[data-phase=listening]")
    told = """(type) => {
        const { output } = repartee.talk.sound;
        output._told({ type, reply: "resp_1_1", frame: 0, sample: 9, level: -20 });
        return [output.holds("resp_1_1"), repartee.talk.phase];
    }"""
    for type_ in ("run", "progress", "audible", "finished"):
        assert page.evaluate(told, type_) == [False, "listening"]


def tell(page: Page, *events: dict[str, Any]) -> None:
    """As if the server had sent them."""
    page.evaluate(
        "(events) => events.forEach((detail) => "
        "window.repartee.talk.wire.dispatchEvent(new CustomEvent('event', { detail })))",
        events,
    )


def speak(page: Page, text: str) -> None:
    """Somebody is in the midst of saying this."""
    tell(page, {"type": "input_audio_buffer.speech_started", "audio_start_ms": 0, "item_id": "item_9"})
    if text:
        tell(page, {"type": "repartee.partial", "item_id": "item_9", "text": text, "rough": False})
    page.wait_for_selector(".item.user.partial")


def lines(page: Page) -> list[str]:
    return [" ".join(text.split()) for text in page.locator(".item").all_inner_texts()]


@pytest.mark.parametrize(("text", "left"), [("", []), ("what is the", ["You what is the not finished"])])
def test_stop_settles_the_line_being_said(page: Page, server: Server, text: str, left: list[str]) -> None:
    open_and_start(page, server)
    page.wait_for_selector("body[data-phase=listening]")
    speak(page, text)
    page.click("#start")
    page.wait_for_selector("body[data-phase=idle]")
    assert page.locator(".item.partial").count() == 0
    assert lines(page) == left
    assert page.locator("#empty").is_hidden() is bool(left)


def test_mute_does_not_keep_a_line_after_stop(page: Page, server: Server) -> None:
    open_and_start(page, server)
    page.wait_for_selector("body[data-phase=listening]")
    speak(page, "what is the")
    page.click("#mute")
    page.click("#start")
    page.wait_for_selector("body[data-phase=idle]")
    assert lines(page) == ["You what is the not finished"]


def test_server_hanging_up_settles_the_line_being_said(page: Page, server: Server) -> None:
    open_and_start(page, server)
    page.wait_for_selector("body[data-phase=listening]")
    speak(page, "what is the")
    page.evaluate(ENDED)
    page.wait_for_selector("body[data-phase=idle]")
    assert lines(page) == ["You what is the not finished"]


def test_reconnect_leaves_no_line_of_which_nothing_more_comes(page: Page, server: Server) -> None:
    open_and_start(page, server)
    page.wait_for_selector("body[data-phase=listening]")
    speak(page, "what is the")
    page.evaluate("window.repartee.talk.wire.connect()")
    until(page, lambda: server.connections == 2, "a second connection")
    page.wait_for_selector("body[data-phase=listening]")
    until(page, lambda: lines(page) == [], "no line")


def test_reloaded_page_begins_without_lines(page: Page, server: Server) -> None:
    open_and_start(page, server)
    page.wait_for_selector("body[data-phase=listening]")
    speak(page, "what is the")
    page.reload()
    assert lines(page) == []
    assert page.get_attribute("body", "data-phase") == "idle"
