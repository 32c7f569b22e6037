"""The page in Chromium with the real server: recordings as microphone input; the rendered audio is recorded."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soxr
from page_browser import Tape, begin_tape, chromium, likeness, read_tape, until
from page_server import RATE_HZ, Running, Speech, page_server, speech, write_room
from playwright.sync_api import Browser, Page

from audio.level import audible_onset
from audio.resample import to_pcm

pytestmark = [pytest.mark.slow, pytest.mark.alone, pytest.mark.real_time, pytest.mark.timeout(300)]

AGREE_MS = 60
"""Accepted difference between page, trace and tape."""

WHAT_TIME = speech("rhasspy3_what-time-is-it")
WHAT_DATE = speech("rhasspy3_whats-the-date-today")
SET_TIMER = speech("rhasspy3_set-timer")
LAMP = speech("rhasspy3_turn-on-the-lamp")

LONG = "There are many things to be said about bridges, and most of them are about rivers. " * 4
"""About 20 s."""

REPLY = "The bridge was opened in the year nineteen hundred, and since then it was closed for one single day. "
REPLY += "On that day a ship had lost its way in the fog, and nobody could cross until the evening."

LOUD = 0.005


@dataclass(frozen=True)
class Visitor:
    """An open page and its measurements."""

    page: Page
    server: Running

    def start(self) -> None:
        self.page.click("#settings-open")
        for wish in ("echoCancellation", "noiseSuppression", "autoGainControl"):
            self.page.uncheck(f"#{wish}")
        self.page.keyboard.press("Escape")
        self.page.click("#start")
        self.reach("listening")
        begin_tape(self.page)

    def reach(self, phase: str) -> None:
        self.page.wait_for_selector(f"body[data-phase={phase}]", timeout=20_000)

    def turns(self) -> list[dict[str, Any]]:
        turns: list[dict[str, Any]] = self.page.evaluate("window.repartee.turns.all")
        return turns

    def until_traced(self, count: int) -> list[dict[str, Any]]:
        """Waits until this many turns have their record."""
        until(
            self.page,
            lambda: sum(turn["trace"] is not None for turn in self.turns()) >= count,
            f"records of {count} turns",
            limit_s=40,
        )
        return self.turns()

    def items(self, role: str) -> list[dict[str, Any]]:
        """Returns the items of one role that the page shows."""
        items: list[dict[str, Any]] = self.page.evaluate("window.repartee.talk.conversation.items")
        return [item for item in items if item["role"] == role]

    @property
    def delay_ms(self) -> float:
        """The page's estimate of the device delay."""
        return float(self.page.evaluate("window.repartee.talk.sound.output.deviceDelayMs"))


@contextmanager
def visiting(browser: Browser, server: Running) -> Iterator[Visitor]:
    """Opens a page in its own window; console messages fail the test."""
    context = browser.new_context()
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(server.url)
    yield Visitor(page, server)
    context.close()
    assert [line for line in said if "WebSocket connection to" not in line] == []


Visit = Callable[..., Visitor]


@pytest.fixture
def visit(tmp_path: Path) -> Iterator[Visit]:
    """Opens the page of a new server with these sounds as microphone input."""
    with ExitStack() as closing:

        def open_page(*room: Speech | float, answers: Sequence[str] = (), allowed: bool = True) -> Visitor:
            wav = write_room(tmp_path / "room.wav", *room, 1.0) if room else None
            server = closing.enter_context(page_server(tmp_path / "traces", answers=answers))
            browser = closing.enter_context(chromium(wav, allowed=allowed))
            return closing.enter_context(visiting(browser, server))

        yield open_page


def at_rate(sound: np.ndarray[Any, np.dtype[np.float32]], tape: Tape) -> np.ndarray[Any, np.dtype[np.float32]]:
    resampled: np.ndarray[Any, np.dtype[np.float32]] = soxr.resample(sound, RATE_HZ, tape.rate_hz)
    return resampled


def place(tape: Tape, said: Speech) -> float:
    """Returns where on the tape's microphone track a recording begins, in s."""
    alike, at = likeness(tape.microphone, at_rate(said.sound, tape))
    assert alike > 0.95
    return at / tape.rate_hz


def gap_ms(tape: Tape, said: Speech, delay_ms: float) -> float:
    """Measures the latency on the tape: labelled end of speech to the first audible sample of the reply."""
    end_s = place(tape, said) + said.ends_s
    after = round(end_s * tape.rate_hz)
    onset = audible_onset(to_pcm(tape.player[after:]), tape.rate_hz)
    assert onset is not None
    return onset * 1000 / tape.rate_hz + delay_ms


def check_agreement(visitor: Visitor, said: Sequence[Speech], *, asked_for: Sequence[int] = ()) -> None:
    """Asserts that page, trace and tape agree on each latency. `asked_for`: turns whose answers the page requested."""
    tape, delay_ms, records = read_tape(visitor.page), visitor.delay_ms, visitor.server.records()
    turns = [turn for turn in visitor.turns() if turn["speech_end_ms"] is not None]
    assert len(turns) == len(said)
    for turn, one in zip(turns, said, strict=True):
        (record,) = [record for record in records if record["turn"] == turn["turn"]]
        assert record["response_latency_ms"] == turn["trace"]["response_latency_ms"]
        assert turn["latency_ms"] == pytest.approx(gap_ms(tape, one, delay_ms), abs=AGREE_MS)
        if record["no_latency_reason"] == "requested" and turn["turn"] in asked_for:
            continue  # its transcript arrived before the page's request: the server counts another turn
        assert turn["latency_ms"] == pytest.approx(record["response_latency_ms"], abs=AGREE_MS)
        stages = record["stages"].values()
        assert sum(share["ms"] for share in stages) == pytest.approx(record["response_latency_ms"], abs=0.02)


def test_three_turns_have_correct_latencies(visit: Visit) -> None:
    visitor = visit(2.5, WHAT_TIME, 5.0, WHAT_DATE, 5.5, SET_TIMER, 6.0)
    visitor.start()
    visitor.until_traced(3)
    check_agreement(visitor, [WHAT_TIME, WHAT_DATE, SET_TIMER])
    told = [item["text"] for item in visitor.items("user")]
    assert ["time" in told[0], "date" in told[1], "timer" in told[2]] == [True] * 3
    assert all(item["heard"] == len(item["words"]) > 0 for item in visitor.items("assistant"))
    assert visitor.page.inner_text("#within").endswith(" of 3")


def test_latency_is_correct_after_mute_and_with_push_to_talk(visit: Visit) -> None:
    visitor = visit(2.5, WHAT_TIME, 5.5, WHAT_DATE, 10.0, SET_TIMER, 8.0)
    page = visitor.page
    visitor.start()
    page.keyboard.press("m")
    page.wait_for_timeout(700)
    page.keyboard.press("m")
    visitor.until_traced(1)
    page.click("#settings-open")
    page.check("#push-to-talk")
    page.keyboard.press("Escape")
    page.wait_for_timeout(500)
    page.evaluate("""repartee.talk.addEventListener('heard', ({ detail: { level } }) => {
        window.loud = (window.loud ?? 0) + (level > -40 ? 1 : 0); // chunks of 20 ms
        window.quiet = level > -40 ? 0 : (window.quiet ?? 0) + 1;
    })""")
    page.focus("#start")  # the space bar is still the key
    page.keyboard.down("Space")
    visitor.reach("hearing")
    until(page, lambda: page.evaluate("window.loud > 10 && window.quiet > 20"), "the end of what is said", limit_s=20)
    page.keyboard.up("Space")
    visitor.until_traced(2)
    page.click("#settings-open")
    page.uncheck("#push-to-talk")
    page.keyboard.press("Escape")
    visitor.until_traced(3)
    check_agreement(visitor, [WHAT_TIME, WHAT_DATE, SET_TIMER], asked_for=[visitor.turns()[1]["turn"]])
    invented = [turn["invented_ms"] for turn in visitor.turns()]
    assert 500 < invented[0] < invented[1] < invented[2]  # each after silence that was not sent


def test_speech_stops_rendered_reply(visit: Visit) -> None:
    visitor = visit(2.5, WHAT_TIME, 1.5, LAMP, 4.0, answers=[LONG, "No."])
    page = visitor.page
    visitor.start()
    page.evaluate("""repartee.talk.wire.addEventListener('event', ({ detail: { type } }) => {
        if (type === 'input_audio_buffer.speech_started') (window.taken ??= []).push(now());
    })""")
    first, _second = visitor.until_traced(2)
    tape = read_tape(page)
    taken = round(page.evaluate("window.taken[1]") * tape.rate_hz) - tape.frame
    begins = round((place(tape, LAMP) + LAMP.begins_s) * tape.rate_hz)
    before = tape.player[begins - tape.rate_hz // 2 : begins]
    assert np.max(np.abs(before)) > LOUD  # the reply was playing
    assert begins < taken < begins + 1.5 * tape.rate_hz
    answered = round((place(tape, LAMP) + LAMP.ends_s) * tape.rate_hz)
    assert np.max(np.abs(tape.player[taken + tape.rate_hz // 20 : answered])) < 1e-4
    assert first["trace"]["outcome"] == "interrupted"
    (cut,) = [item for item in visitor.items("assistant") if item["cut"]]
    assert 0 < cut["heard"] < len(cut["words"])
    assert page.locator(".item.assistant.cut").count() == 1
    assert any(event["name"] == "duck" for event in first["trace"]["events"])


def test_reply_continues_after_lost_connection(visit: Visit) -> None:
    visitor = visit(2.5, WHAT_TIME, 14.0, WHAT_DATE, 5.0, answers=[REPLY, "It is Monday."])
    page = visitor.page
    visitor.start()
    page.evaluate("""(() => {
        window.pushed = [];
        const { output } = repartee.talk.sound;
        const push = output.push.bind(output);
        output.push = (reply, pcm) => { pushed.push(...pcm); push(reply, pcm); };
        repartee.talk.addEventListener('trouble', ({ detail: { name } }) => (window.trouble ??= name));
        repartee.talk.addEventListener('session', ({ detail }) => (window.session = detail));
        output.addEventListener('finished', ({ detail }) => (window.finished ??= detail.played_ms));
    })()""")
    visitor.reach("speaking")
    page.wait_for_timeout(1500)
    visitor.server.break_connections()
    until(page, lambda: page.evaluate("window.session?.repartee.resumed"), "the same conversation again")
    assert page.evaluate("window.trouble") == "lost"
    visitor.until_traced(2)
    check_agreement(visitor, [WHAT_TIME, WHAT_DATE])
    first = visitor.turns()[0]
    assert first["trace"]["outcome"] == "answered"
    assert [record["outcome"] for record in visitor.server.records()] == ["answered", "answered"]
    spoken = visitor.items("assistant")[0]
    assert spoken["text"].split() == REPLY.split()
    assert spoken["heard"] == len(spoken["words"])
    tape = read_tape(page)
    sent = np.array(page.evaluate("window.pushed"), np.float32) / 32768
    reply = sent[: round(page.evaluate("window.finished") * 24)]
    wanted = soxr.resample(reply, 24_000, tape.rate_hz)
    assert len(reply) > 24_000 * 4
    for part in (wanted[: 2 * tape.rate_hz], wanted[-2 * tape.rate_hz :]):
        assert likeness(tape.player, part)[0] > 0.99


def test_typing_works_without_microphone(visit: Visit) -> None:
    visitor = visit(allowed=False)
    page = visitor.page
    page.click("#start")
    page.wait_for_selector(".notice[data-trouble=denied]")
    visitor.reach("listening")
    begin_tape(page)
    page.fill("#say", "what is two plus three")
    page.press("#say", "Enter")
    (turn,) = visitor.until_traced(1)
    assert "five" in visitor.items("assistant")[0]["text"].lower()
    assert audible_onset(to_pcm(read_tape(page).player), read_tape(page).rate_hz) is not None
    assert turn["latency_ms"] is turn["trace"]["response_latency_ms"] is None
    assert page.inner_text("#latency") == "typed"


def test_two_tabs_are_two_conversations(visit: Visit) -> None:
    first = visit(7.0, WHAT_TIME, 6.0)  # both are started before the speech
    browser = first.page.context.browser
    assert browser is not None
    with visiting(browser, first.server) as second:
        for visitor in (first, second):
            visitor.start()
        for visitor in (first, second):
            visitor.until_traced(1)
        for visitor in (first, second):
            tape, (turn,) = read_tape(visitor.page), visitor.turns()
            assert audible_onset(to_pcm(tape.player), tape.rate_hz) is not None
            assert "time" in visitor.items("user")[0]["text"]
            assert turn["latency_ms"] == pytest.approx(gap_ms(tape, WHAT_TIME, visitor.delay_ms), abs=AGREE_MS)
        assert len({record["conversation"] for record in first.server.records()}) == 2
