"""Bad input, slow clients, many clients and the end of the Wyoming server."""

import asyncio
import json
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from support.servers.session_server import SessionServer, eventually
from support.servers.wyoming_client import speech, wyoming_client, wyoming_server
from wyoming.asr import Transcribe, Transcript
from wyoming.audio import AudioChunk, AudioStart, AudioStop
from wyoming.error import Error
from wyoming.ping import Ping
from wyoming.tts import Synthesize, SynthesizeChunk, SynthesizeStart, SynthesizeStop

from audio.units import MIC_RATE_HZ
from web import serve
from web.wyoming import connection, events
from web.wyoming import server as wyoming_room
from web.wyoming.transcription import TranscriptionWish


@asynccontextmanager
async def raw_client(server: SessionServer) -> AsyncGenerator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    assert server.wyoming is not None
    host, port = server.wyoming.sockets[0].getsockname()[:2]
    reader, writer = await asyncio.open_connection(host, port)
    try:
        yield reader, writer
    finally:
        writer.close()


async def answer_to(server: SessionServer, sent: bytes) -> list[dict[str, object]]:
    """Sends bytes; returns the data of the events until the server ends the connection."""
    async with raw_client(server) as (reader, writer):
        writer.write(sent)
        async with asyncio.timeout(10):
            received = await reader.read()
    answers = []
    while received:
        line, _, received = received.partition(b"\n")
        length = json.loads(line).get("data_length", 0)
        answers.append(json.loads(received[:length] or b"{}"))
        received = received[length:]
    return answers


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "a line is not JSON"),
        (b"\xff\xfe\n", "a line is not JSON"),
        (b"[1]\n", "not a JSON object"),
        (b"{}\n", "has no type"),
        (b'{"type": 5}\n', "has no type"),
        (b'{"type": "ping", "data": 3}\n', "must be an object"),
        (b'{"type": "ping", "data_length": -1}\n', "must be a number of bytes"),
        (b'{"type": "ping", "data_length": true}\n', "must be a number of bytes"),
        (b'{"type": "ping", "data_length": 9999999999}\n', "at most 262144 bytes"),
        (b'{"type": "audio-chunk", "payload_length": 9999999999}\n', "at most 1048576 bytes"),
        (b'{"type": "ping", "data_length": 2}\n[]', "not a JSON object"),
        (b"[" * 40_000 + b"\n", "too many values"),
        (b"x" * 100_000, "more than 65536 bytes"),
        (b'{"type": "transcript"}\n', "fields of transcript are missing or wrong"),
        (b'{"type": "transcript", "data": {"text": 5}}\n', "must be texts"),
        (b'{"type": "recognize", "data": {"text": "a", "context": 5}}\n', "must be texts"),
        (b'{"type": "synthesize", "data": {"text": ["a"]}}\n', "must be a text"),
        (b'{"type": "synthesize", "data": {"text": "a", "voice": 7}}\n', "fields of synthesize are missing or wrong"),
        (b'{"type": "transcribe", "data": {"language": 5}}\n', "must be texts"),
        (b'{"type": "transcribe", "data": {"name": ["x"]}}\n', "must be texts"),
        (b'{"type": "synthesize", "data": {"text": "a", "text_format": []}}\n', "must be a text"),
        (b'{"type": "transcribe", "data": {"transcript_names": 5}}\n', "lists of texts"),
        (b'{"type": "transcribe"}\n{"type": "audio-chunk", "data": {"rate": "x"}}\n', "must be numbers"),
        (b'{"type": "transcribe"}\n{"type": "audio-start", "data": {"rate": 1e99}}\n', "must be numbers"),
    ],
)
async def test_bad_input_ends_the_connection_in_words(tmp_path: Path, sent: bytes, told: str) -> None:
    async with wyoming_server(tmp_path) as server:
        answers = await answer_to(server, sent)
        assert told in str(answers[-1]["text"])
        assert server.limits.current == 0
        assert server.connections.engine_pool.choices is not None
        async with wyoming_client(server) as client:  # others are served
            await client.send(Ping())
            await client.until("pong")


async def test_silent_client_in_a_request_frees_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "SOUND_TIMEOUT_S", 0.2)
    async with wyoming_server(tmp_path) as server, wyoming_client(server) as client:
        await client.send(Transcribe(), AudioStart(MIC_RATE_HZ, 2, 1))
        assert "nothing came for 0.2 s" in Error.from_event(await client.until("error")).text
        assert server.limits.current == 0


async def test_language_model_may_pause_in_a_streamed_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "SOUND_TIMEOUT_S", 0.1)
    monkeypatch.setattr(connection, "TEXT_TIMEOUT_S", 0.8)
    async with wyoming_server(tmp_path) as server, wyoming_client(server) as client:
        await client.send(SynthesizeStart(), SynthesizeChunk("Let me look. "))
        await asyncio.sleep(0.4)
        await client.send(SynthesizeChunk("It is ten. "), SynthesizeStop())
        await client.until("synthesize-stopped")
        await client.send(SynthesizeStart())
        assert "nothing came for 0.8 s" in Error.from_event(await client.until("error")).text


async def test_unexpected_failure_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_arguments: object) -> None:
        raise RuntimeError("a fault of the program")

    async with wyoming_server(tmp_path) as server, wyoming_client(server) as client:
        monkeypatch.setattr(TranscriptionWish, "of", fails)
        await client.send(Transcribe())
        assert Error.from_event(await client.until("error")).code == "internal_error"
        assert await client.receive() is None


async def test_rest_of_an_event_must_come_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "REST_TIMEOUT_S", 0.2)
    async with wyoming_server(tmp_path) as server:
        (answer,) = await answer_to(server, b'{"type": "audio-chunk", "payload_length": 100}\nabc')
        assert "did not arrive" in str(answer["text"])


async def test_idle_client_is_disconnected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "IDLE_TIMEOUT_S", 0.2)
    async with wyoming_server(tmp_path) as server, wyoming_client(server) as client:
        assert await client.receive() is None


async def test_flood_of_events_holds_up_nobody(tmp_path: Path) -> None:
    async with wyoming_server(tmp_path) as server, raw_client(server) as (reader, writer):
        writer.write(b'{"type": "describe"}\n' * 5000)
        await reader.readline()
        now_s = asyncio.get_running_loop().time
        async with wyoming_client(server) as client:
            for _ in range(10):
                asked_s = now_s()
                await client.send(Ping())
                await client.until("pong")
                assert now_s() - asked_s < 0.5


async def test_client_that_does_not_read_stops_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "SEND_TIMEOUT_S", 0.5)
    text = "This sentence is long enough to make some sound. " * 400
    async with wyoming_server(tmp_path) as server, raw_client(server) as (_reader, writer):
        writer.write(json.dumps({"type": "synthesize", "data": {"text": text[:19_000]}}).encode() + b"\n")
        async with wyoming_client(server) as client:
            await client.send(Synthesize("Hello there."))
            await client.until("audio-stop")
        await eventually(lambda: server.limits.current == 0)


async def test_newest_client_takes_the_place_of_an_idle_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wyoming_room, "MAX_CONNECTIONS", 2)
    async with (
        wyoming_server(tmp_path) as server,
        wyoming_client(server) as busy,
        wyoming_client(server) as idle,
    ):
        await busy.send(Transcribe(), Ping())
        await busy.until("pong")
        async with wyoming_client(server) as newest:
            assert await idle.receive() is None
            await newest.send(Transcribe(), Ping())
            await newest.until("pong")
            async with wyoming_client(server) as refused:
                assert Error.from_event(await refused.until("error")).code == "server_full"


async def test_vanished_client_frees_its_place(tmp_path: Path) -> None:
    async with wyoming_server(tmp_path) as server:
        for request in (Transcribe(), SynthesizeStart()):
            async with raw_client(server) as (_reader, writer):
                writer.write(json.dumps({"type": request.event().type}).encode() + b"\n")
                await eventually(lambda: server.limits.current == 1)
                writer.transport.abort()
                await eventually(lambda: server.limits.current == 0)


async def test_server_that_ends_finishes_requests_and_refuses_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serve, "_exit_after", lambda _end, _seconds: None)  # the process is the test's own
    async with wyoming_server(tmp_path) as server, wyoming_client(server) as client, wyoming_client(server) as late:
        await client.send(Transcribe(), AudioStart(MIC_RATE_HZ, 2, 1))
        await client.send(AudioChunk(MIC_RATE_HZ, 2, 1, speech().tobytes()), Ping())
        await client.until("pong")
        server.server.handle_exit(signal.SIGTERM, None)
        await late.send(Transcribe())
        assert Error.from_event(await late.until("error")).code == "server_draining"
        await client.send(AudioStop())
        assert Transcript.from_event(await client.until("transcript")).text == "what time is it"
        assert await client.receive() is not None  # transcript-stop
        assert await client.receive() is None
