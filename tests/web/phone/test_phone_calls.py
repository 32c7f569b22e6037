"""Telephone calls to the real server, in real time, with scripted engines or a recording."""

import asyncio
import logging
from pathlib import Path

import pytest
from support.protocol.phone_caller import CALL, CONNECTED, NUMBER, PhoneCaller, calling, close_code, start_message
from support.servers.call_server import LONG, TOKEN, loader, over, run, voice
from support.servers.session_server import WHAT_TIME, eventually, real_engines, recording, session_server
from websockets.exceptions import InvalidStatus

pytestmark = pytest.mark.real_time


def logged(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name.startswith("web.phone")]


@pytest.mark.slow
def test_recorded_question_is_answered_over_the_telephone(tmp_path: Path) -> None:
    async def main() -> None:
        async with session_server(real_engines(tmp_path)) as server, calling(server.port) as caller:
            caller.say(recording(WHAT_TIME))
            await caller.until(lambda: caller.count("media") > 0)
            await caller.until(lambda: caller.heard_ms > 500 and caller.unplayed_ms == 0)
            await eventually(lambda: bool(server.records()))
            await caller.stop()
            await over(server)
            (record,) = server.records()
            assert record["outcome"] == "answered"
            total_ms = sum(stage["ms"] for stage in record["stages"].values())
            assert record["response_latency_ms"] == pytest.approx(total_ms, abs=20)
            assert caller.count("clear") == 0

    run(main)


def test_greeting_is_spoken_first_and_heard_to_its_end(tmp_path: Path) -> None:
    async def main() -> None:
        greeting = "assistant.greeting=Hello this is Repartee"
        async with session_server(loader(tmp_path, greeting)) as server, calling(server.port) as caller:
            await caller.until(lambda: caller.heard_ms == pytest.approx(800, abs=1))
            await eventually(lambda: bool(server.records()))
            await caller.stop()
            await over(server)
            assert server.records()[0]["outcome"] == "answered"
            assert server.records()[0]["no_latency_reason"] == "greeting"

    run(main)


def test_interruption_clears_at_once_and_history_ends_at_the_word_heard(tmp_path: Path) -> None:
    async def main() -> None:
        engines = loader(tmp_path, answers=(LONG, "Fine."))
        async with session_server(engines) as server, calling(server.port) as caller:
            caller.say(voice(800))
            await caller.until(lambda: caller.heard_ms > 1500)
            spoke_s = asyncio.get_running_loop().time()
            caller.say(voice(800))
            await caller.until(lambda: caller.count("clear") > 0)
            heard_ms, unplayed_ms = caller.heard_ms, caller.unplayed_ms
            cleared = next(
                at_s for one, at_s in zip(caller.events, caller.at_s, strict=True) if one["event"] == "clear"
            )
            assert cleared - spoke_s < 0.35
            assert unplayed_ms == 0
            await caller.until(lambda: len(engines.models[0].asked) > 1)
            reply = engines.models[0].asked[1][-2].content or ""
            assert len(str(reply).split()) == pytest.approx(heard_ms / 200, abs=1.5)
            await caller.until(lambda: caller.heard_ms > heard_ms)  # the answer to the interruption
            assert server.records()[0]["outcome"] == "interrupted"
            await caller.stop()
            await over(server)

    run(main)


def test_keys_are_answered_as_a_typed_turn(tmp_path: Path) -> None:
    async def main() -> None:
        engines = loader(tmp_path, "assistant.greeting=" + LONG.removesuffix("."))
        async with session_server(engines) as server, calling(server.port) as caller:
            await caller.until(lambda: caller.heard_ms > 300)
            await caller.press("12")
            await caller.until(lambda: caller.count("clear") == 1)  # a key stops the greeting
            await caller.press("3#")
            await caller.until(lambda: bool(engines.models[0].asked))
            assert engines.models[0].asked[0][-1].content == "Keypad: 1 2 3"
            await caller.until(lambda: len(server.records()) > 1)
            await caller.stop()
            await over(server)

    run(main)


def test_dropped_call_ends_the_conversation_and_keeps_finished_turns(tmp_path: Path) -> None:
    async def main() -> None:
        async with session_server(loader(tmp_path)) as server:
            async with calling(server.port) as caller:
                caller.say(voice(600))
                await caller.until(lambda: bool(server.records()))
                caller.socket.transport.abort()
                await over(server)
            assert [record["outcome"] for record in server.records()] == ["answered"]

    run(main)


def test_two_calls_at_once_are_separate(tmp_path: Path) -> None:
    async def main() -> None:
        greeting = "assistant.greeting=Hello this is Repartee"
        async with (
            session_server(loader(tmp_path, greeting, "server.max_sessions=2")) as server,
            calling(server.port, stream="MZ1", call="CA1") as one,
            calling(server.port, stream="MZ2", call="CA2") as other,
        ):
            await one.until(lambda: one.heard_ms > 700 and other.heard_ms > 700)
            one.say(voice(600))
            await one.until(lambda: one.heard_ms > 1000)
            assert other.heard_ms == pytest.approx(800, abs=1)
            await one.stop()
            await other.stop()
            await over(server)

    run(main)


def test_call_is_refused_while_the_server_is_full(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with session_server(loader(tmp_path, "server.max_sessions=1")) as server, calling(server.port):
            await eventually(lambda: server.limits.current == 1)
            async with calling(server.port, call="CA2") as other:
                assert await _closed(other) == 1013

    run(main)
    assert [line for line in logged(caplog) if line.startswith("call CA2: its session was ended (server_full")]


async def _closed(caller: PhoneCaller) -> int:
    await asyncio.wait_for(caller.socket.wait_closed(), 20)
    return caller.socket.close_code or 0


# ---- token and malformed streams ----


def test_call_needs_the_token(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with session_server(loader(tmp_path), TOKEN) as server:
            for wrong in (None, "", "wrong", TOKEN[:-1], TOKEN + "x", "\ud800", 5):
                assert await close_code(server.port, CONNECTED, start_message(wrong)) == 1008
            assert server.limits.current == 0
            assert await close_code(server.port, CONNECTED, start_message(TOKEN)) == 0
            assert await close_code(server.port, CONNECTED, start_message(), query=f"?token={TOKEN}") == 0
            assert await close_code(server.port, CONNECTED, start_message(), token=TOKEN) == 0
            with pytest.raises(InvalidStatus):  # a wrong header is refused at once
                await close_code(server.port, CONNECTED, start_message(TOKEN), token="wrong")
            await over(server)

    caplog.set_level(logging.INFO, "web.phone")
    run(main)
    lines = logged(caplog)
    assert sum("the token is missing or wrong" in line for line in lines) == 7
    assert not [line for line in lines if TOKEN in line or NUMBER in line]
    assert sum(line.startswith(f"call {CALL} began: conversation 20") for line in lines) == 3


def test_malformed_stream_is_closed_with_a_reason(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    start = start_message()
    streams: dict[tuple[str, ...], str] = {
        (CONNECTED, "nonsense"): "a message is not JSON",
        (CONNECTED, '{"event":"stop"}'): "does not begin with connected and start",
        (CONNECTED, start, '{"event":"media","media":{"payload":"?"}}'): "media.payload is not base64",
        (CONNECTED, start, '{"event":"dtmf","dtmf":{"digit":9}}'): "dtmf.digit is missing",
        (CONNECTED, start, '{"event":"x' + "x" * 20_000 + '"}'): "at most 16384 are allowed",
        (CONNECTED, start, *['{"event":"mark","mark":{"name":"?"}}'] * 3000): "more than 150 messages a second",
    }

    async def main() -> None:
        async with session_server(loader(tmp_path)) as server:
            for messages, why in streams.items():
                assert await close_code(server.port, *messages) == 1008, why
                await over(server)
                assert [line for line in logged(caplog) if why in line], why
            for first in ((), (CONNECTED, start)):
                assert await close_code(server.port, *first, "x" * 1_000_000) == 1009
                await over(server)

    run(main)
    assert sum("a message has more than 32768 bytes" in line for line in logged(caplog)) == 2
    assert not [record for record in caplog.records if record.exc_info]


def test_stream_without_start_is_closed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("web.phone.endpoint.START_TIMEOUT_S", 0.1)

    async def main() -> None:
        async with session_server(loader(tmp_path)) as server:
            assert await close_code(server.port, CONNECTED) == 1008
            assert server.limits.current == 0

    run(main)
    assert "a telephone call was refused: no start within 0.1 s" in logged(caplog)


def test_unknown_events_and_messages_out_of_order_do_not_close_the_call(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with session_server(loader(tmp_path)) as server:
            early, pause = '{"event":"media","media":{"payload":"////"}}', '{"event":"dtmf","dtmf":{"digit":"w"}}'
            news, start = '{"event":"news"}', start_message()
            assert (
                await close_code(server.port, early, CONNECTED, early, start, CONNECTED, start, pause, news, news) == 0
            )
            await over(server)

    run(main)
    assert [line for line in logged(caplog) if "news" in line] == [f"call {CALL}: a message is ignored: news"]
