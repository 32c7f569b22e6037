"""Connections that break, close, flood, stall and reconnect; the real server with scripted engines."""

import asyncio
import base64
import gc
import json
import os
import shutil
import signal
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from support.clocks.stopwatch import Stopwatch
from support.conversations.simulation import ScriptedVoice
from support.servers.session_server import (
    RecordingClient,
    ScriptedEngineLoader,
    SessionServer,
    connected_client,
    eventually,
    session_server,
    settings_for,
)
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.protocol import State

from assistant.pipeline.engines import Engines
from assistant.pipeline.session import Session
from assistant.setup.engine_loader import EngineLoader
from audio.errors import EngineLoadError
from audio.units import Pcm
from web import serve
from web.client_audio import audio_backlog
from web.client_audio.audio_throttle import AudioPacer
from web.connections import client_socket, connection
from web.connections.running_conversation import RESUMED_ELSEWHERE
from web.process import garbage
from web.session.realtime_session import RealtimeSession
from web.wire.incoming.commands import Command

pytestmark = pytest.mark.leaves_no_tasks

TRACED = {"type": "realtime", "repartee": {"events": True}}

LACKING = "the Whisper model tiny.en is not downloaded; fetch it: repartee models pull tiny.en"

TEN = "One two three. Four five six. Seven eight nine. Ten."
"""2 s."""


def engine_loader(folder: Path, *assignments: str, **engines: Any) -> ScriptedEngineLoader:
    return ScriptedEngineLoader(settings_for(folder, "turn.hangover_ms=100", *assignments), os.environ, **engines)


async def gone(server: SessionServer) -> None:
    """Waits until all conversations are over and their slots free."""
    await eventually(lambda: server.limits.current == 0)


async def test_every_lost_trace_is_counted_and_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").touch()
    folder = tmp_path / "file" / "traces"
    async with session_server(engine_loader(folder)) as server:
        for _ in range(3):
            async with connected_client(server) as caller:
                await caller.ask()
            await gone(server)
        assert server.value("repartee_errors_total", where="trace") == 3
    losses = [record.getMessage() for record in caplog.records if record.name == "web.observation.trace_losses"]
    losses = [said for said in losses if "cannot be written (Not a directory); writing is retried" not in said]
    # One line at once, then one for the rest, instead of a line for each of a thousand conversations.
    where = f"check trace.dir ({folder}) and the free space there"
    assert losses == [
        f"1 turn is missing from the trace (Not a directory): {where}",
        f"2 turns are missing from the trace (Not a directory), 3 in total: {where}",
    ]


async def test_removed_trace_folder_is_created_again(tmp_path: Path) -> None:
    folder = tmp_path / "traces"
    async with session_server(engine_loader(folder)) as server, connected_client(server) as caller:
        await caller.ask()
        await eventually(lambda: len(server.records()) == 1)
        shutil.rmtree(folder)
        await caller.ask(count=2)
        await eventually(lambda: any(record["turn"] == 2 for record in server.records()))
        assert server.value("repartee_errors_total", where="trace") == 0


async def test_conversation_problems_are_logged_without_words(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    class Hoarse(ScriptedEngineLoader):
        async def engines(self) -> Engines:
            return replace(await super().engines(), voice=ScriptedVoice(fails=True))

    settings = engine_loader(tmp_path).settings
    async with session_server(Hoarse(settings, os.environ)) as server, connected_client(server) as caller:
        await caller.send("session.update", session=TRACED)
        await caller.ask(until="repartee.notice", count=2)
        said, private = [event["text"] for event in caller.events_of("repartee.notice")]
        assert said == "the voice has died"
        assert "ten o'clock" in private
    logged = [record.getMessage() for record in caplog.records if record.name == "web.connections.connection"]
    (trace,) = settings.trace.dir.glob("*.jsonl")
    assert logged == [f"conversation {trace.stem}: the voice has died"]


# ---- lost connections ----


@pytest.mark.slow
@pytest.mark.real_time
async def test_client_gets_rest_of_reply_after_lost_connection(tmp_path: Path) -> None:
    script = engine_loader(tmp_path, answers=(TEN, "Yes."))
    async with session_server(script) as server:
        async with connected_client(server) as first:
            await first.send("session.update", session=TRACED)
            await first.ask("count", until="response.output_audio.delta", count=3)
            response = first.events_of("response.created")[0]["response"]["id"]
            first.break_connection()
            await asyncio.sleep(0.3)
        query = {"resume": first.token, "received_ms": first.sound_ms, "response_id": response}
        async with connected_client(server, **query) as again:
            assert again.events[0]["session"]["repartee"]["resumed"] is True
            assert again.token == first.token
            done = await again.until("response.done")
            assert done["response"]["id"] == response
            assert done["response"]["status"] == "completed"
            assert first.sound_ms + again.sound_ms == 2000
            await again.until("repartee.trace")
            await again.ask("are you there?", count=2)
        await gone(server)
        assert [record["outcome"] for record in server.records()] == ["answered", "interrupted"]
        questions = [message.content for message in script.models[0].asked[1] if message.role == "user"]
        assert questions == ["count", "are you there?"]


async def test_resuming_while_old_connection_is_active_loses_nothing(tmp_path: Path) -> None:
    async def chatter(caller: RecordingClient) -> None:
        with suppress(ConnectionClosed):
            while True:
                await caller.send("conversation.item.retrieve", item_id="nope")
                await asyncio.sleep(0.002)

    async with (
        session_server(engine_loader(tmp_path)) as server,
        connected_client(server) as first,
        asyncio.TaskGroup() as tasks,
    ):
        await first.ask()
        tasks.create_task(chatter(first))
        async with connect(server.url(resume=first.token), compression=None, max_queue=None) as socket:
            back = RecordingClient(socket)
            await back.until("conversation.item.done", 2)
            assert back.events[0]["type"] == "session.created"
            assert back.events_of("error") == []


async def test_losers_of_a_race_for_a_resume_token_hold_nothing(tmp_path: Path) -> None:
    async def outcome(socket: ClientConnection) -> str:
        """Returns "held", or the reason for the close frame."""
        try:
            async with asyncio.timeout(40):
                async for text in socket:
                    if json.loads(text).get("type") == "response.done":
                        return "held"
        except ConnectionClosed:
            pass
        return socket.close_reason or ""

    loader = engine_loader(tmp_path, "server.max_sessions=1")
    async with session_server(loader) as server:
        async with connected_client(server) as first:
            made = len(loader.recognizers)
            first.break_connection()
        assert len(base64.urlsafe_b64decode(first.token)) * 8 == 192, "random bits"
        url = server.url(resume=first.token)
        sockets = await asyncio.gather(*(connect(url, compression=None, max_queue=None) for _ in range(12)))
        await eventually(lambda: sum(socket.state is State.OPEN for socket in sockets) == 1)
        assert server.limits.current == 1
        (winner,) = [socket for socket in sockets if socket.state is State.OPEN]
        await RecordingClient(winner).request_reply("hello")
        outcomes = await asyncio.gather(*(outcome(socket) for socket in sockets))
        assert sorted(outcomes) == ["held", *[RESUMED_ELSEWHERE] * 11]
        assert len(loader.recognizers) - made <= 1  # the one that is kept ready
        await winner.close()
        await gone(server)


async def test_conversation_ends_if_client_stays_away(tmp_path: Path) -> None:
    async with session_server(engine_loader(tmp_path, "server.resume_s=0.3")) as server:
        async with connected_client(server) as caller:
            await caller.ask(until="response.output_audio.delta")
            caller.break_connection()
            await eventually(lambda: server.limits.current == 0)
        assert not server.connections.resumable(caller.token)
        assert [record["outcome"] for record in server.records()] == ["interrupted"]
        async with connected_client(server, resume=caller.token) as again:
            assert again.events[0]["session"]["repartee"]["resumed"] is False


async def test_abandoned_conversation_cannot_be_resumed(tmp_path: Path) -> None:
    async with session_server(engine_loader(tmp_path, "server.max_sessions=1")) as server:
        async with connected_client(server) as caller:
            caller.break_connection()
            await eventually(lambda: len(server.connections.waiting) == 1)
        server.connections.make_room()
        assert not server.connections.resumable(caller.token)
        async with connected_client(server, resume=caller.token) as again:
            assert again.events[0]["session"]["repartee"]["resumed"] is False
            await again.ask()


async def test_new_client_gets_slot_of_longest_absent_client(tmp_path: Path) -> None:
    async with session_server(engine_loader(tmp_path, "server.max_sessions=2")) as server:
        async with connected_client(server) as first, connected_client(server) as second:
            second.break_connection()
            await eventually(lambda: len(server.connections.waiting) == 1)
            first.break_connection()
            await eventually(lambda: len(server.connections.waiting) == 2)
        watch = Stopwatch()
        async with connected_client(server) as third:
            assert watch.undisturbed_s < 2, "a minute is what a client may stay away"
            assert third.events[0]["type"] == "session.created"
            assert server.connections.resumable(first.token)
            assert not server.connections.resumable(second.token)


# ---- clients that leave ----


@pytest.mark.parametrize("code", [1000, None], ids=["normal close", "aborted"])
async def test_closed_client_ends_at_once_and_its_turn_is_traced(tmp_path: Path, code: int | None) -> None:
    script = engine_loader(tmp_path, "server.max_sessions=1", answers=(TEN,))
    async with session_server(script) as server:
        async with connected_client(server) as caller:
            await caller.ask("count", until="response.output_audio.delta")
            async with caller.socket.send_context():
                caller.socket.protocol.send_close(code)
            watch = Stopwatch()
            await eventually(lambda: server.limits.current == 0)
            assert watch.undisturbed_s < 1
        assert not server.connections.resumable(caller.token)
        assert [record["outcome"] for record in server.records()] == ["interrupted"]
        assert script.recognizers[0].closed
        async with connected_client(server):
            pass


async def test_shutdown_traces_turn_in_progress_and_tells_client(tmp_path: Path) -> None:
    script = engine_loader(tmp_path, answers=(TEN,))
    async with session_server(script) as server:
        async with connected_client(server) as caller:
            await caller.ask("count", until="response.output_audio.delta")
            server.server.should_exit = True
            assert (await caller.until("error"))["error"]["code"] == "server_draining"
            close = await caller.until_closed()
            assert close.code == 1012
        await gone(server)
        (record,) = server.records()
        assert record["outcome"] == "failed"


async def test_ended_sessions_leave_no_resources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "REFILL_AFTER_S", 0.02)

    async def visit(server: SessionServer) -> None:
        async with connected_client(server) as caller:
            await asyncio.sleep(0.05)
            await caller.ask(until="response.output_audio.delta")

    script = engine_loader(tmp_path)
    async with session_server(script) as server:
        await asyncio.sleep(0.1)
        before = len(asyncio.all_tasks())
        async with asyncio.TaskGroup() as visits:
            for _ in range(8):
                visits.create_task(visit(server))
        await gone(server)
        await eventually(lambda: len(asyncio.all_tasks()) <= before)
        assert [recognizer.closed for recognizer in script.recognizers].count(
            False
        ) <= 1  # kept ready for the next conversation
        assert len(server.records()) == 8
        assert server.value("repartee_session_seconds_count") == 8
    assert all(recognizer.closed for recognizer in script.recognizers)


async def test_ended_conversation_is_collected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gc, "get_freeze_count", lambda: 1)
    monkeypatch.setattr(garbage, "COLLECT_AFTER_S", 0.1)
    ran: list[object] = []

    class Slow(ThreadPoolExecutor):
        """An idle thread that keeps a reference to its last task, as on a busy machine."""

        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            ran.append(fn)
            return super().submit(fn, *args, **kwargs)

    asyncio.get_running_loop().set_default_executor(Slow())
    async with session_server(engine_loader(tmp_path)) as server:
        gc.disable()
        try:
            async with connected_client(server) as caller:
                await caller.ask()
            await gone(server)
            await eventually(lambda: not any(type(one) is Session for one in gc.get_objects()), within_s=20)
            assert ran
        finally:
            gc.enable()


async def test_failed_refill_does_not_affect_the_conversation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "REFILL_AFTER_S", 0.02)

    def fail() -> None:
        raise EngineLoadError("no memory is left")

    script = engine_loader(tmp_path)
    async with session_server(script) as server, connected_client(server) as caller:
        script.fails = fail
        await asyncio.sleep(0.1)
        await caller.ask()


async def test_dead_spare_recognizer_is_not_used(tmp_path: Path) -> None:
    script = engine_loader(tmp_path)
    async with session_server(script) as server:
        (waiting,) = script.recognizers
        waiting.works = False
        async with connected_client(server) as caller:
            await spoken_turn(caller)
        await gone(server)
        assert (waiting.closed, len(script.recognizers)) == (True, 2)
        assert server.value("repartee_errors_total", where="engine") == 1


@pytest.mark.slow
async def test_server_without_a_recognizer_says_so_and_answers_typed_text(tmp_path: Path) -> None:
    loader = EngineLoader(settings_for(tmp_path, "tts.engine=espeak-ng"), os.environ)
    async with session_server(loader) as server, httpx.AsyncClient() as http:
        ready = await http.get(f"http://127.0.0.1:{server.port}/readyz")
        assert (ready.status_code, ready.json()["missing"]) == (200, ["stt"])
        for _ in range(2):  # the second session gets the same stand-in
            async with connected_client(server) as caller:
                await caller.send("session.update", session=TRACED)
                updated = (await caller.until("session.updated"))["session"]
                (stt,) = [engine for engine in updated["repartee"]["engines"] if engine["stage"] == "stt"]
                assert (stt["name"], stt["fallback"]) == ("no recognizer", True)
                assert stt["why"] == f"only typed text is answered, because {LACKING}"
                await caller.request_reply("what is two plus three")
                assert (await caller.until("response.done"))["response"]["status"] == "completed"
                assert "5" in caller.events_of("response.output_audio_transcript.done")[0]["transcript"].lower()
            await gone(server)


# ---- several clients ----


async def spoken_turn(caller: RecordingClient) -> None:
    """Sends 300 ms of speech and waits for the answer."""
    for _ in range(15):
        await caller.send_audio(np.full(480, 8000, np.int16))
        await asyncio.sleep(0.02)
    await caller.until("response.done")


@pytest.mark.slow
@pytest.mark.real_time
async def test_two_sessions_are_independent(tmp_path: Path) -> None:
    script = engine_loader(tmp_path)
    async with session_server(script) as server, connected_client(server) as one, connected_client(server) as other:
        await one.send("session.update", session={"type": "realtime", "instructions": "Sing."})
        async with asyncio.TaskGroup() as turns:
            turns.create_task(spoken_turn(one))
            turns.create_task(spoken_turn(other))
        await one.ask("and now?", count=2)
        assert len(other.events_of("response.done")) == 1
        assert [caller.sound_ms for caller in (one, other)] == [1600, 800] or one.sound_ms >= 1600
        assert one.token != other.token
        assert [len(model.asked) for model in script.models[:2]] == [2, 1]
        assert script.models[0].asked[0][0].content == "Sing."
        assert script.models[1].asked[0][0].content != "Sing."


@pytest.mark.slow
@pytest.mark.real_time
async def test_client_that_does_not_read_is_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_socket, "SEND_TIMEOUT_S", 0.5)
    async with (
        session_server(engine_loader(tmp_path, "server.resume_s=0")) as server,
        connected_client(server) as other,
        connect(server.url(), compression=None, max_queue=1) as deaf,
    ):
        await eventually(lambda: server.limits.current == 2)
        await other.send("session.update", session=TRACED)
        content = [{"type": "input_text", "text": "x" * 500_000}]
        item = {"type": "message", "role": "user", "id": "big", "content": content}
        await deaf.send(json.dumps({"type": "conversation.item.create", "item": item}))
        for _ in range(60):
            await deaf.send('{"type":"conversation.item.retrieve","item_id":"big"}')
        for turn in range(3):
            watch = Stopwatch()
            await other.ask(until="response.created", count=turn + 1)
            assert watch.undisturbed_s < 1.5
            await other.until("repartee.trace", turn + 1)
        await eventually(lambda: server.limits.current == 1)
        deaf.transport.abort()


@pytest.mark.slow
@pytest.mark.real_time
async def test_dropped_client_gets_close_when_it_reads_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_socket, "SEND_TIMEOUT_S", 0.5)
    monkeypatch.setattr(client_socket, "CLOSE_TIMEOUT_S", 0.2)
    async with (
        session_server(engine_loader(tmp_path)) as server,
        connect(server.url(), compression=None, max_queue=1) as deaf,
    ):
        created = json.loads(await deaf.recv())
        content = [{"type": "input_text", "text": "x" * 500_000}]
        item = {"type": "message", "role": "user", "id": "big", "content": content}
        await deaf.send(json.dumps({"type": "conversation.item.create", "item": item}))
        for _ in range(60):
            await deaf.send('{"type":"conversation.item.retrieve","item_id":"big"}')
        await asyncio.sleep(2)
        with pytest.raises(ConnectionClosed) as closed:  # noqa: PT012
            async with asyncio.timeout(5):
                while True:
                    await deaf.recv()
        assert closed.value.rcvd is None or closed.value.rcvd.code == 1011
        async with connected_client(server, resume=created["session"]["repartee"]["resume_token"]) as again:
            assert again.events[0]["session"]["repartee"]["resumed"] is True


@pytest.mark.slow
@pytest.mark.real_time
async def test_client_that_requests_more_than_it_reads_is_paused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_socket, "SEND_TIMEOUT_S", 60)
    read = 0
    receive = RealtimeSession.receive

    async def counted(talk: RealtimeSession, text: str, pace: AudioPacer) -> None:
        nonlocal read
        read += 1
        await receive(talk, text, pace)

    monkeypatch.setattr(RealtimeSession, "receive", counted)
    async with (
        session_server(engine_loader(tmp_path)) as server,
        connect(server.url(), compression=None, max_queue=1) as greedy,
    ):
        content = [{"type": "input_text", "text": "x" * 500_000}]
        item = {"type": "message", "role": "user", "id": "big", "content": content}
        await greedy.send(json.dumps({"type": "conversation.item.create", "item": item}))
        for _ in range(200):
            await greedy.send('{"type":"conversation.item.retrieve","item_id":"big"}')
        await eventually(lambda: read > 5)
        await asyncio.sleep(0.5)
        assert read < 80
        shown = 0
        while shown < 200:
            shown += json.loads(await greedy.recv())["type"] == "conversation.item.retrieved"


@pytest.mark.slow
@pytest.mark.real_time
async def test_flood_of_small_messages_lets_other_tasks_run(tmp_path: Path) -> None:
    late_s: list[float] = []

    async def watch() -> None:
        while True:
            watch = Stopwatch()
            await asyncio.sleep(0.002)
            late_s.append(watch.undisturbed_s - 0.002)

    async with (
        session_server(engine_loader(tmp_path)) as server,
        connected_client(server) as caller,
        asyncio.TaskGroup() as tasks,
    ):
        watching = tasks.create_task(watch())
        caller.socket.transport.write(b"".join([b"\x81\x81\x00\x00\x00\x00{"] * 5000))
        await caller.until("error", 5000)
        watching.cancel()
    assert max(late_s) < 0.25


async def test_only_audio_faster_than_real_time_is_queued(tmp_path: Path) -> None:
    async with session_server(engine_loader(tmp_path)) as server, connected_client(server) as caller:
        watch = Stopwatch()
        for _ in range(5):
            await caller.send_audio(np.zeros(24_000, np.int16))
        await caller.ask(until="response.created")
        assert watch.duration.elapsed_s > 0.6
        assert watch.undisturbed_s < 3
        assert server.value("repartee_throttled_seconds_total") > 0.5
        assert caller.events_of("error") == []


async def test_client_is_not_idle_while_long_message_is_processed(tmp_path: Path) -> None:
    async with (
        session_server(engine_loader(tmp_path, "server.idle_timeout_s=1")) as server,
        connected_client(server) as caller,
    ):
        await caller.send_audio(np.zeros(24_000 * 7, np.int16))
        await caller.until("error")
        assert server.value("repartee_throttled_seconds_total") > 2
        assert caller.events_of("error")[0]["error"]["code"] == "session_idle"


async def test_resuming_within_long_message_starts_anew(tmp_path: Path) -> None:
    async with session_server(engine_loader(tmp_path)) as server, connected_client(server) as first:
        await first.send_audio(np.zeros(24_000 * 15, np.int16))
        async with connected_client(server, resume=first.token) as second:
            close = await first.until_closed()
            await second.ask(until="response.created")
            assert close.code == 1000
            assert close.reason.startswith("session_resumed: ")


async def test_disconnect_of_a_throttled_client_is_noticed(tmp_path: Path) -> None:
    async with session_server(engine_loader(tmp_path)) as server:
        async with connected_client(server) as caller:
            await caller.send_audio(np.zeros(24_000 * 60, np.int16))
        await gone(server)


def minute_of_sound(seconds: float = 60.0) -> Pcm:
    return np.zeros(round(24_000 * seconds), np.int16)


async def test_pings_and_control_events_are_answered_during_backlog(tmp_path: Path) -> None:
    async with session_server(engine_loader(tmp_path)) as server, connected_client(server) as caller:
        for _ in range(60):
            await caller.send_audio(minute_of_sound(1.0))
        await caller.send("session.update", session={"type": "realtime", "instructions": "Be brief."})
        await caller.send("conversation.item.retrieve", item_id="nope")
        await caller.until("session.updated", within_s=10)
        await caller.until("error", within_s=10)
        async with asyncio.timeout(10):
            await (await caller.socket.ping())
        assert server.value("repartee_throttled_seconds_total") < 20


async def test_commit_includes_all_queued_audio(tmp_path: Path) -> None:
    async with session_server(engine_loader(tmp_path)) as server, connected_client(server) as caller:
        await caller.send("session.update", session={**TRACED, "audio": {"input": {"turn_detection": None}}})
        for _ in range(6):
            await caller.send_audio(np.full(24_000, 8000, np.int16))
        await caller.send("input_audio_buffer.commit")
        await caller.send("response.create")
        await caller.until("response.done")
        kinds = [event["type"] for event in caller.events]
        assert kinds.index("input_audio_buffer.committed") < kinds.index("response.created")
        committed = caller.events_of("input_audio_buffer.committed")[0]["repartee"]
        assert committed["audio_end_ms"] - committed["inserted_ms"] == pytest.approx(6000, abs=200)
        assert caller.events_of("error") == []


async def test_clear_drops_queued_audio(tmp_path: Path) -> None:
    async with session_server(engine_loader(tmp_path)) as server, connected_client(server) as caller:
        for _ in range(60):
            await caller.send_audio(minute_of_sound(1.0))
        await caller.send("input_audio_buffer.clear")
        await caller.until("input_audio_buffer.cleared", within_s=15)
        await caller.request_reply("hello")
        await caller.until("response.created", within_s=15)


@pytest.mark.parametrize("closes", [True, False], ids=["close-frame", "broken-connection"])
@pytest.mark.parametrize("held_bytes", [8 << 20, 1 << 18], ids=["backlog", "full-backlog"])
async def test_disconnect_is_noticed_during_backlog(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held_bytes: int, closes: bool
) -> None:
    monkeypatch.setattr(audio_backlog, "MAX_BYTES", held_bytes)
    async with session_server(engine_loader(tmp_path, "server.resume_s=0")) as server:
        async with connected_client(server) as caller:
            for _ in range(30):
                await caller.send_audio(minute_of_sound(1.0))
            await eventually(lambda: server.value("repartee_throttled_seconds_total") > 0.2)
            if not closes:
                caller.break_connection()
            elif held_bytes < 1 << 20:
                caller.socket.transport.write_eof()  # without a close frame
        await eventually(lambda: server.limits.current == 0, within_s=3)


async def test_flooding_clients_that_vanish_free_their_slots(tmp_path: Path) -> None:
    async with session_server(engine_loader(tmp_path, "server.max_sessions=8")) as server:
        flooding = [await stack_caller(server) for _ in range(8)]
        for caller in flooding:
            for _ in range(8):
                await caller.send_audio(minute_of_sound(10.0))
        for caller in flooding:
            caller.break_connection()
        async with connected_client(server) as other:
            await other.request_reply("hello")
            await other.until("response.created", within_s=10)


async def stack_caller(server: SessionServer) -> RecordingClient:
    """Returns a client whose connection is not closed normally."""
    caller = RecordingClient(await connect(server.url(), compression=None, max_queue=None))
    await caller.until("session.created")
    return caller


async def test_flooding_clients_have_a_bounded_backlog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audio_backlog, "MAX_BYTES", 1 << 19)
    held: list[int] = []
    put = audio_backlog.AudioBacklog.append_command

    def counted(backlog: audio_backlog.AudioBacklog, command: Command) -> None:
        put(backlog, command)
        held.append(backlog._bytes)

    monkeypatch.setattr(audio_backlog.AudioBacklog, "append_command", counted)
    async with session_server(engine_loader(tmp_path, "server.resume_s=0")) as server:
        async with connected_client(server) as caller:
            for _ in range(40):
                await caller.send_audio(minute_of_sound(1.0))
            await asyncio.sleep(0.3)
            caller.break_connection()
        await gone(server)
        assert (1 << 19) <= max(held) < (1 << 19) + 24_000 * 2 * 2


@pytest.mark.slow
@pytest.mark.real_time
async def test_conversation_is_answered_beside_flooding_clients(tmp_path: Path) -> None:
    async with session_server(engine_loader(tmp_path)) as server, connected_client(server) as other:
        await other.send("session.update", session=TRACED)
        flooding = [await stack_caller(server) for _ in range(4)]
        for caller in flooding:
            for _ in range(10):
                await caller.send_audio(minute_of_sound(4.0))
        for turn in range(3):
            watch = Stopwatch()
            await other.request_reply("hello")
            await other.until("response.created", turn + 1)
            assert watch.undisturbed_s < 0.5
            await other.until("repartee.trace", turn + 1)
        for caller in flooding:
            caller.break_connection()


# ---- invalid messages and foreign pages ----


async def test_invalid_message_is_an_error_and_session_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("web.connections.connection", "web.serve"):
        monkeypatch.setattr(f"{module}.MAX_MESSAGE_BYTES", 65536)
    async with session_server(engine_loader(tmp_path)) as server, connected_client(server) as caller:
        await caller.socket.send(b"\x00\x01")
        await caller.socket.send("x" * 100_000)
        await caller.socket.send("語" * 30_000)
        await caller.socket.send("{")
        await caller.ask()
        errors = [event["error"] for event in caller.events_of("error")]
        assert [error["code"] for error in errors] == ["binary_message", *["message_too_large"] * 2, "invalid_json"]
        assert [error["message"].split()[-1] for error in errors[1:3]] == ["100000", "90000"]
        assert server.value("repartee_wire_errors_total", code="message_too_large") == 2
        await caller.socket.send("x" * 200_000)
        close = await caller.until_closed()
        assert close.code == 1009


# ---- shutdown ----


async def get(server: SessionServer, path: str) -> int:
    async with httpx.AsyncClient(trust_env=False) as client:
        return (await client.get(f"http://127.0.0.1:{server.port}{path}", timeout=20)).status_code


@pytest.fixture
def signalled(monkeypatch: pytest.MonkeyPatch) -> Callable[[SessionServer, signal.Signals], None]:
    """Sends a signal to the server. The process that it would end later is the test's own."""
    monkeypatch.setattr(serve, "_exit_after", lambda _end, _seconds: None)
    return lambda server, which: server.server.handle_exit(which, None)


Signalled = Callable[[SessionServer, signal.Signals], None]


async def told_and_closed(caller: RecordingClient) -> None:
    assert (await caller.until("error"))["error"]["code"] == "server_draining"
    close = await caller.until_closed()
    assert close.code == 1012


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
async def test_signal_lets_reply_finish_and_refuses_new_sessions(
    tmp_path: Path, signalled: Signalled, how: signal.Signals
) -> None:
    script = engine_loader(tmp_path, answers=(TEN,))
    async with session_server(script) as server:
        async with connected_client(server) as caller, connected_client(server) as idle:
            await caller.ask("count", until="response.output_audio.delta")
            signalled(server, how)
            assert [await get(server, path) for path in ("/readyz", "/healthz")] == [503, 200]
            await told_and_closed(idle)
            async with connect(server.url(), compression=None) as late:
                assert json.loads(await late.recv())["error"]["code"] == "server_draining"
            assert caller.events_of("response.done") == []
            done = await caller.until("response.done")
            assert done["response"]["status"] == "completed"
            await told_and_closed(caller)
            assert caller.sound_ms == 2000
        await gone(server)
    (record,) = server.records()
    assert record["outcome"] == "answered"


async def test_sigterm_lets_reply_of_resumed_client_finish(tmp_path: Path, signalled: Signalled) -> None:
    script = engine_loader(tmp_path, answers=(TEN,))
    async with session_server(script) as server, connected_client(server) as first:
        await first.ask("count", until="response.output_audio.delta")
        first.break_connection()
        async with connected_client(server, resume=first.token) as again:
            signalled(server, signal.SIGTERM)
            done = await again.until("response.done")
            assert done["response"]["status"] == "completed"
            await told_and_closed(again)
        await gone(server)
    (record,) = server.records()
    assert record["outcome"] == "answered"


@pytest.mark.parametrize("how", ["no time", "too little time", "ctrl-c", "second sigterm", "ctrl-c after sigterm"])
async def test_reply_is_cut_if_it_has_no_time_to_finish(tmp_path: Path, signalled: Signalled, how: str) -> None:
    drain_s = {"no time": 0.0, "too little time": 0.2}.get(how, 60.0)
    script = engine_loader(tmp_path, f"server.drain_s={drain_s}", answers=(" ".join([TEN] * 20),))  # 40 s
    async with session_server(script) as server:
        async with connected_client(server) as caller:
            await caller.ask("count", until="response.output_audio.delta")
            watch = Stopwatch()
            signalled(server, signal.SIGINT if how == "ctrl-c" else signal.SIGTERM)
            if how in {"second sigterm", "ctrl-c after sigterm"}:
                await asyncio.sleep(0.3)
                assert caller.events_of("error") == []
                signalled(server, signal.SIGINT if how == "ctrl-c after sigterm" else signal.SIGTERM)
            close = await caller.until_closed()
            assert close.code == 1012
            assert watch.undisturbed_s < 3
        await gone(server)
    if server.server.force_exit:  # the process would end without waiting for the engines
        await server.server.lifespan.shutdown()
