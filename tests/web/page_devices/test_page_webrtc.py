"""Tests the page over WebRTC in Chromium with the real server. Recordings are the microphone input."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from support.pages.open_page import OpenPage, gap_ms, opened_page
from support.pages.page_browser import chromium, read_recording
from support.protocol.webrtc_caller import has_network
from support.servers.page_server import page_server, speech, write_microphone_wav

from web.webrtc import calls as webrtc_calls

pytestmark = [
    pytest.mark.slow,
    pytest.mark.real_time,
    pytest.mark.timeout(300),
    pytest.mark.skipif(not has_network(), reason="this machine has no network"),
]

TOLERANCE_MS = 80
"""Accepted difference between page and recording: the browser tells what it sent in packets of 20 ms."""

WHAT_TIME = speech("rhasspy3_what-time-is-it")
SET_TIMER = speech("rhasspy3_set-timer")
LONG = "There are many things to be said about bridges, and most of them are about rivers. " * 4


@pytest.fixture
def closing() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def opened(closing: ExitStack, folder: Path, *room: Any, answers: tuple[str, ...] = ()) -> OpenPage:
    texts = [one.words for one in room if not isinstance(one, float)]
    wav = write_microphone_wav(folder / "room.wav", *room, 1.0)
    server = closing.enter_context(page_server(folder / "traces", answers=answers, transcripts=texts))
    client = closing.enter_context(opened_page(closing.enter_context(chromium(wav)), server))
    client.page.click("#settings-open")
    client.page.select_option("#transport", "webrtc")
    client.page.keyboard.press("Escape")
    return client


@pytest.mark.alone
def test_spoken_turn_over_webrtc_is_measured_as_in_the_recording(closing: ExitStack, tmp_path: Path) -> None:
    client = opened(closing, tmp_path, 4.0, WHAT_TIME, 6.0)
    client.start()
    assert client.page.evaluate("window.repartee.session.connection.constructor.name") == "WebRtcConnection"
    (turn,) = client.wait_for_traces(1)
    assert [item["text"] for item in client.items("user")] == [WHAT_TIME.words]
    recorded = read_recording(client.page)
    assert turn["latency_ms"] == pytest.approx(gap_ms(recorded, WHAT_TIME, client.delay_ms), abs=TOLERANCE_MS)
    assert client.server.records()[0]["response_latency_ms"] == pytest.approx(turn["latency_ms"], abs=TOLERANCE_MS)
    (reply,) = client.items("assistant")
    assert reply["played"] == len(reply["words"])


@pytest.mark.thorough
def test_interruption_over_webrtc_stops_the_reply(closing: ExitStack, tmp_path: Path) -> None:
    client = opened(closing, tmp_path, 4.0, WHAT_TIME, 4.0, SET_TIMER, 6.0, answers=(LONG, "Done."))
    client.start()
    first = client.wait_for_traces(2)[0]
    assert first["trace"]["outcome"] == "interrupted"
    reply = client.items("assistant")[0]
    assert reply["interrupted"]
    assert 0 < reply["played"] < len(LONG.split())


def test_page_without_webrtc_on_the_server_says_so_and_uses_a_websocket(
    closing: ExitStack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webrtc_calls, "_make_call", lambda: None)
    client = opened(closing, tmp_path, 1.0)
    client.page.click("#start")
    client.wait_for_phase("listening")
    assert client.page.evaluate("window.repartee.session.connection.constructor.name") == "RealtimeConnection"
    assert "[webrtc]" in client.page.inner_text("#notices")
