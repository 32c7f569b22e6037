"""Tests the page in Chromium with the real server. Recordings are the microphone input."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soxr
from support.pages.open_page import OpenPage, gap_ms, opened_page, start_in_recording
from support.pages.page_browser import best_correlation, chromium, read_recording, wait_until
from support.servers.page_server import Speech, page_server, speech, write_microphone_wav

from audio.level import audible_onset
from audio.resample import to_pcm

pytestmark = [pytest.mark.slow, pytest.mark.real_time, pytest.mark.timeout(300)]

TOLERANCE_MS = 60
"""Accepted difference between page, trace and recording."""

WHAT_TIME = speech("rhasspy3_what-time-is-it")
WHAT_DATE = speech("rhasspy3_whats-the-date-today")
SET_TIMER = replace(speech("rhasspy3_set-timer"), words="set a timer for ten minutes")
LAMP = speech("rhasspy3_turn-on-the-lamp")

LONG = "There are many things to be said about bridges, and most of them are about rivers. " * 4
"""About 20 s."""

REPLY = "The bridge was opened in the year nineteen hundred, and since then it was closed for one single day. "
REPLY += "On that day a ship had lost its way in the fog, and nobody could cross until the evening."

LOUD = 0.005


OpenPageFunction = Callable[..., OpenPage]


@pytest.fixture
def open_page(tmp_path: Path) -> Iterator[OpenPageFunction]:
    """Opens the page of a new server with these sounds as microphone input."""
    with ExitStack() as closing:

        def open_page(*room: Speech | float, answers: Sequence[str] = (), allowed: bool = True) -> OpenPage:
            texts = [one.words for one in room if isinstance(one, Speech)] or [""]
            wav = write_microphone_wav(tmp_path / "room.wav", *room, 1.0) if room else None
            server = closing.enter_context(page_server(tmp_path / "traces", answers=answers, transcripts=texts))
            browser = closing.enter_context(chromium(wav, allowed=allowed))
            return closing.enter_context(opened_page(browser, server))

        yield open_page


def check_agreement(client: OpenPage, spoken: Sequence[Speech], *, requested: Sequence[int] = ()) -> None:
    """Asserts that page, trace and recording agree on each latency. `requested`: turns that the page committed."""
    recorded, delay_ms, records = read_recording(client.page), client.delay_ms, client.server.records()
    turns = [turn for turn in client.turns() if turn["speech_end_ms"] is not None]
    assert len(turns) == len(spoken)
    for turn, one in zip(turns, spoken, strict=True):
        (record,) = [record for record in records if record["turn"] == turn["turn"]]
        assert record["response_latency_ms"] == turn["trace"]["response_latency_ms"]
        assert turn["latency_ms"] == pytest.approx(
            gap_ms(recorded, one, delay_ms, turn["released_s"]), abs=TOLERANCE_MS
        )
        if record["no_latency_reason"] == "requested" and turn["turn"] in requested:
            continue  # its transcript arrived before the page's request: the server counts another turn
        assert turn["latency_ms"] == pytest.approx(record["response_latency_ms"], abs=TOLERANCE_MS)
        stages = record["stages"].values()
        assert sum(share["ms"] for share in stages) == pytest.approx(record["response_latency_ms"], abs=0.02)


@pytest.mark.alone
def test_two_turns_have_correct_latencies(open_page: OpenPageFunction) -> None:
    client = open_page(2.5, WHAT_TIME, 5.0, WHAT_DATE, 5.5)
    client.start()
    client.wait_for_traces(2)
    check_agreement(client, [WHAT_TIME, WHAT_DATE])
    assert [item["text"] for item in client.items("user")] == [WHAT_TIME.words, WHAT_DATE.words]
    assert all(item["played"] == len(item["words"]) > 0 for item in client.items("assistant"))
    assert client.page.inner_text("#within").endswith(" of 2")


@pytest.mark.thorough
@pytest.mark.alone
def test_latency_is_correct_after_mute_and_with_push_to_talk(open_page: OpenPageFunction) -> None:
    client = open_page(2.5, WHAT_TIME, 5.5, WHAT_DATE, 10.0, SET_TIMER, 8.0)
    page = client.page
    client.start()
    page.keyboard.press("m")
    page.wait_for_timeout(700)
    page.keyboard.press("m")
    client.wait_for_traces(1)
    page.click("#settings-open")
    page.check("#push-to-talk")
    page.keyboard.press("Escape")
    page.wait_for_timeout(500)
    page.evaluate("""repartee.session.addEventListener('input-level', ({ detail: { level } }) => {
        window.loud = (window.loud ?? 0) + (level > -40 ? 1 : 0); // chunks of 20 ms
        window.quiet = level > -40 ? 0 : (window.quiet ?? 0) + 1;
    })""")
    page.focus("#start")  # the space bar is still the key
    page.keyboard.down("Space")
    client.wait_for_phase("hearing")
    wait_until(
        page, lambda: page.evaluate("window.loud > 10 && window.quiet > 20"), "the end of what is said", limit_s=20
    )
    page.keyboard.up("Space")
    client.wait_for_traces(2)
    page.click("#settings-open")
    page.uncheck("#push-to-talk")
    page.keyboard.press("Escape")
    client.wait_for_traces(3)
    check_agreement(client, [WHAT_TIME, WHAT_DATE, SET_TIMER], requested=[client.turns()[1]["turn"]])
    invented = [turn["inserted_ms"] for turn in client.turns()]
    assert 500 < invented[0] < invented[1] < invented[2]  # each after silence that was not sent


@pytest.mark.thorough
@pytest.mark.alone
def test_speech_stops_rendered_reply(open_page: OpenPageFunction) -> None:
    client = open_page(2.5, WHAT_TIME, 1.5, LAMP, 4.0, answers=[LONG, "No."])
    page = client.page
    client.start()
    page.evaluate("""repartee.session.connection.addEventListener('event', ({ detail: { type } }) => {
        if (type === 'input_audio_buffer.speech_started') (window.taken ??= []).push(now());
    })""")
    first, _second = client.wait_for_traces(2)
    recorded = read_recording(page)
    taken = round(page.evaluate("window.taken[1]") * recorded.rate_hz) - recorded.frame
    begins = round((start_in_recording(recorded, LAMP) + LAMP.begins_s) * recorded.rate_hz)
    before = recorded.player[begins - recorded.rate_hz // 2 : begins]
    assert np.max(np.abs(before)) > LOUD  # the reply was playing
    assert begins < taken < begins + 1.5 * recorded.rate_hz
    answered = round((start_in_recording(recorded, LAMP) + LAMP.ends_s) * recorded.rate_hz)
    assert np.max(np.abs(recorded.player[taken + recorded.rate_hz // 20 : answered])) < 1e-4
    assert first["trace"]["outcome"] == "interrupted"
    (cut,) = [item for item in client.items("assistant") if item["interrupted"]]
    assert 0 < cut["played"] < len(cut["words"])
    assert page.locator(".item.assistant.interrupted").count() == 1
    assert any(event["name"] == "duck" for event in first["trace"]["events"])


@pytest.mark.thorough
@pytest.mark.alone
def test_reply_continues_after_lost_connection(open_page: OpenPageFunction) -> None:
    client = open_page(2.5, WHAT_TIME, 14.0, WHAT_DATE, 5.0, answers=[REPLY, "It is Monday."])
    page = client.page
    client.start()
    page.evaluate("""(() => {
        window.pushed = [];
        const { output } = repartee.session.audio;
        const push = output.pushChunk.bind(output);
        output.pushChunk = (reply, pcm) => { pushed.push(...pcm); push(reply, pcm); };
        repartee.session.addEventListener('problem', ({ detail: { problem } }) => (window.problem ??= problem));
        repartee.session.addEventListener('session', ({ detail }) => (window.session = detail));
        output.addEventListener('finished', ({ detail }) => (window.finished ??= detail.played_ms));
    })()""")
    client.wait_for_phase("speaking")
    page.wait_for_timeout(1500)
    client.server.break_connections()
    wait_until(page, lambda: page.evaluate("window.session?.repartee.resumed"), "the same conversation again")
    assert page.evaluate("window.problem") == "lost"
    client.wait_for_traces(2)
    check_agreement(client, [WHAT_TIME, WHAT_DATE])
    first = client.turns()[0]
    assert first["trace"]["outcome"] == "answered"
    assert [record["outcome"] for record in client.server.records()] == ["answered", "answered"]
    spoken = client.items("assistant")[0]
    assert spoken["text"].split() == REPLY.split()
    assert spoken["played"] == len(spoken["words"])
    recorded = read_recording(page)
    sent = np.array(page.evaluate("window.pushed"), np.float32) / 32768
    reply = sent[: round(page.evaluate("window.finished") * 24)]
    wanted = soxr.resample(reply, 24_000, recorded.rate_hz)
    assert len(reply) > 24_000 * 4
    for part in (wanted[: 2 * recorded.rate_hz], wanted[-2 * recorded.rate_hz :]):
        assert best_correlation(recorded.player, part)[0] > 0.99


@pytest.mark.thorough
@pytest.mark.alone
def test_two_tabs_are_two_conversations(open_page: OpenPageFunction) -> None:
    first = open_page(7.0, WHAT_TIME, 6.0)  # both are started before the speech
    browser = first.page.context.browser
    assert browser is not None
    with opened_page(browser, first.server) as second:
        for client in (first, second):
            client.start()
        for client in (first, second):
            client.wait_for_traces(1)
        for client in (first, second):
            recorded, (turn,) = read_recording(client.page), client.turns()
            assert audible_onset(to_pcm(recorded.player), recorded.rate_hz) is not None
            assert "time" in client.items("user")[0]["text"]
            assert turn["latency_ms"] == pytest.approx(gap_ms(recorded, WHAT_TIME, client.delay_ms), abs=TOLERANCE_MS)
        assert len({record["conversation"] for record in first.server.records()}) == 2
