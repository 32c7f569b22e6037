"""HTTP endpoints and clients that may not use them, send too much, too slowly or too often, or leave."""

import asyncio
import io
import json
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
import soundfile
from starlette.requests import Request
from support.conversations.simulation import ScriptedVoice
from support.engines.scripted_engines import SequenceRecognizer
from support.servers.session_server import (
    ScriptedEngineLoader,
    SessionServer,
    connected_client,
    eventually,
    session_server,
    settings_for,
)

from audio.tts import Chunk
from web.access.body_limits import MAX_JSON_BYTES, MAX_UPLOAD_BYTES, SPEECH_PATH, TRANSCRIPTIONS_PATH
from web.http_api import bodies, transcriptions
from web.http_api.bodies import BodyReader
from web.http_api.errors import ApiError

TOKEN = "a-token-of-enough-characters"
SECRETS = "/v1/realtime/client_secrets"
POSTS = (SECRETS, "/v1/realtime/sessions", SPEECH_PATH, TRANSCRIPTIONS_PATH)


@dataclass(slots=True)
class EndlessVoice(ScriptedVoice):
    """Speaks without end."""

    speaking: int = 0

    async def speak(self, text: str, speed: float = 1.0, ahead_s: float = 0.0) -> AsyncGenerator[Chunk]:
        self.speaking += 1
        try:
            while True:
                await asyncio.sleep(0.005)
                yield Chunk(np.ones(2400, np.int16))
        finally:
            self.speaking -= 1


@dataclass(slots=True)
class Loader(ScriptedEngineLoader):
    """Counts the recognizers of recordings."""

    recognizers_made: list[SequenceRecognizer] = field(default_factory=list)
    slow_ms: float = 10.0

    async def background_recognizer(self) -> SequenceRecognizer:
        self.recognizers_made.append(SequenceRecognizer(self.transcripts, self.slow_ms))
        return self.recognizers_made[-1]


@asynccontextmanager
async def served(
    folder: Path, *assignments: str, token: str | None = None, **engines: Any
) -> AsyncGenerator[tuple[SessionServer, httpx.AsyncClient, Loader]]:
    """Runs a server, and a client of it, while the block runs."""
    loader = Loader(settings_for(folder, *assignments), {}, **engines)
    async with (
        session_server(loader, token) as server,
        httpx.AsyncClient(trust_env=False, base_url=f"http://127.0.0.1:{server.port}", timeout=30) as client,
    ):
        yield server, client, loader


def code_of(response: httpx.Response) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["code"]


def recording(seconds: float = 1.0) -> bytes:
    file = io.BytesIO()
    soundfile.write(file, 0.1 * np.sin(np.arange(round(16_000 * seconds)) / 10), 16_000, format="WAV")
    return file.getvalue()


async def test_access_is_checked_before_the_body_is_read(tmp_path: Path) -> None:
    async with served(tmp_path, token=TOKEN) as (_server, client, _loader):
        key = {"Authorization": f"Bearer {TOKEN}"}
        for path in (*POSTS, "/v1/models"):
            for headers, expected in (
                ({}, (401, "token_missing")),
                ({"Authorization": "Bearer another-token-of-chars"}, (401, "token_wrong")),
                ({**key, "Origin": "https://evil.example"}, (403, "foreign_origin")),
                ({**key, "Origin": "null"}, (403, "foreign_origin")),
                ({**key, "Host": "evil.example"}, (403, "foreign_host")),
            ):
                method = "GET" if path == "/v1/models" else "POST"
                body = b"x" * 100_000 if method == "POST" else b""
                response = await client.request(method, path, headers=headers, content=body)
                assert code_of(response) == expected


async def test_token_allows_all_endpoints(tmp_path: Path) -> None:
    async with served(tmp_path, token=TOKEN) as (_server, client, _loader):
        client.headers["Authorization"] = f"Bearer {TOKEN}"
        assert (await client.post(SECRETS)).status_code == 200
        assert (await client.get("/v1/models")).status_code == 200
        assert (await client.post(SPEECH_PATH, json={"input": "Hello."})).status_code == 200
        response = await client.post(TRANSCRIPTIONS_PATH, files={"file": ("a.wav", recording())})
        assert response.status_code == 200


@pytest.mark.parametrize("path", [SECRETS, SPEECH_PATH])
async def test_malformed_json_is_refused(tmp_path: Path, path: str) -> None:
    deep, many = b"[" * 100_000, b'{"input": [' + b"[]," * 100_000 + b"[]]}"
    async with served(tmp_path) as (_server, client, _loader):
        assert code_of(await client.post(path, content=b"[]")) == (400, "invalid_type")
        for body in (b"{", b'{"input": NaN}', b"\xff", b'{"input": "\\ud800"}', deep, many):
            assert code_of(await client.post(path, content=body)) == (400, "invalid_json"), body[:20]


async def test_malformed_forms_are_refused(tmp_path: Path) -> None:
    async with served(tmp_path) as (_server, client, _loader):
        form = {"Content-Type": "multipart/form-data; boundary=b"}
        for content, headers, expected in (
            (b"{}", {"Content-Type": "application/json"}, (415, "invalid_content_type")),
            (b"x", {}, (415, "invalid_content_type")),
            (b"x", {"Content-Type": "multipart/form-data"}, (400, "invalid_multipart")),
            (b"nothing", form, (400, "invalid_multipart")),
            (b"--b\r\nContent-Disposition: form-data\r\n\r\nx\r\n--b--\r\n", form, (400, "invalid_multipart")),
            (b"--b--\r\n", form, (400, "missing_required_parameter")),
        ):
            response = await client.post(TRANSCRIPTIONS_PATH, content=content, headers=headers)
            assert code_of(response) == expected, content
        two = [("file", ("a.wav", recording())), ("file", ("b.wav", recording()))]
        assert code_of(await client.post(TRANSCRIPTIONS_PATH, files=two)) == (400, "invalid_multipart")
        other = {"sound": ("a.wav", recording())}
        assert code_of(await client.post(TRANSCRIPTIONS_PATH, files=other)) == (400, "unknown_parameter")
        many = {f"field{number}": "x" for number in range(200)}
        response = await client.post(TRANSCRIPTIONS_PATH, data=many, files={"file": ("a.wav", recording())})
        assert code_of(response) == (400, "invalid_multipart")


async def test_bodies_beyond_the_limit_are_refused(tmp_path: Path) -> None:
    async with served(tmp_path) as (server, client, _loader):
        large = {"input": "x" * MAX_JSON_BYTES}
        assert code_of(await client.post(SPEECH_PATH, json=large)) == (413, "body_too_large")
        upload = {"file": ("a.wav", bytes(MAX_UPLOAD_BYTES + 100_000))}
        assert code_of(await client.post(TRANSCRIPTIONS_PATH, files=upload)) == (413, "body_too_large")
        # Far beyond it, the rest is not read.
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        head = f"POST {SPEECH_PATH} HTTP/1.1\r\nHost: localhost:{server.port}\r\n"
        writer.write(f"{head}Content-Length: 9000000000\r\n\r\n".encode())
        assert b" 413 " in await reader.readline()
        async with asyncio.timeout(5):
            await reader.read()
        writer.close()


async def test_slow_bodies_of_one_address_do_not_stop_the_others() -> None:
    reader = BodyReader()

    async def read(address: str, *parts: bytes) -> str:
        waiting = iter(parts)

        async def receive() -> dict[str, Any]:
            if (part := next(waiting, None)) is None:
                await asyncio.get_running_loop().create_future()
            return {"type": "http.request", "body": part, "more_body": False}

        scope = {"type": "http", "method": "POST", "path": SECRETS, "headers": [], "client": (address, 1)}
        return await reader.text(Request(scope, receive))

    slow = [asyncio.create_task(read("10.0.0.1")) for _ in range(reader.most_of_address)]
    await asyncio.sleep(0)
    with pytest.raises(ApiError, match="maximum number of bodies"):
        await read("10.0.0.1", b"{}")
    assert await read("10.0.0.2", b"{}") == "{}"
    for task in slow:
        task.cancel()
    await asyncio.wait(slow)
    assert await read("10.0.0.1", b"{}") == "{}"


async def test_slow_bodies_time_out_and_do_not_block_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "STALL_TIMEOUT_S", 0.6)
    monkeypatch.setattr(bodies, "BODY_TIMEOUT_S", 2.0)
    async with served(tmp_path) as (server, client, _loader):
        head = f"POST {TRANSCRIPTIONS_PATH} HTTP/1.1\r\nHost: localhost:{server.port}\r\nContent-Length: 1000\r\n"
        head += "Content-Type: multipart/form-data; boundary=b\r\n\r\n--b"
        slow = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(8)]
        for _reader, writer in slow:
            writer.write(head.encode())
        await asyncio.sleep(0.3)
        files = {"file": ("a.wav", recording())}
        refused = await client.post(TRANSCRIPTIONS_PATH, files=files)
        assert code_of(refused) == (429, "rate_limit_exceeded")
        assert refused.headers["retry-after"] == "1"
        assert (await client.post(SPEECH_PATH, json={"input": "Hello."})).status_code == 200
        for reader, writer in slow[:4]:
            assert b" 408 " in await reader.readline()
            writer.close()
        for _reader, writer in slow[4:]:
            writer.close()
        await asyncio.sleep(0.1)
        assert (await client.post(TRANSCRIPTIONS_PATH, files=files)).status_code == 200


async def test_body_that_trickles_times_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "BODY_TIMEOUT_S", 0.4)
    async with served(tmp_path) as (_server, client, _loader):

        async def trickle() -> AsyncGenerator[bytes]:
            for _ in range(20):
                yield b" "
                await asyncio.sleep(0.1)

        assert code_of(await client.post(SECRETS, content=trickle())) == (408, "body_timeout")


async def test_connection_is_kept_after_a_body_was_read(tmp_path: Path) -> None:
    async with served(tmp_path) as (server, _client, _loader):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        for part in (1, 2):
            head = f"POST {SECRETS} HTTP/1.1\r\nHost: localhost:{server.port}\r\nContent-Length: 2\r\n\r\n{{"
            writer.write(head.encode())
            await asyncio.sleep(0.05)
            writer.write(b"}")
            answer = await reader.readuntil(b"\r\n\r\n")
            assert b" 200 " in answer, part
            length = int(answer.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
            assert json.loads(await reader.readexactly(length))["value"].startswith("ek_")
        writer.close()


async def test_audio_requests_are_limited(tmp_path: Path) -> None:
    voice = EndlessVoice()
    async with served(tmp_path, speech=voice) as (server, client, _loader):
        body = {"input": "Hello.", "response_format": "pcm"}
        async with client.stream("POST", SPEECH_PATH, json=body), client.stream("POST", SPEECH_PATH, json=body):
            await eventually(lambda: voice.speaking == 2)
            refused = await client.post(SPEECH_PATH, json=body)
            assert code_of(refused) == (429, "rate_limit_exceeded")
            assert int(refused.headers["retry-after"]) > 0
            assert server.value("repartee_requests_refused_total", reason="rate_limit_exceeded") == 1
            files = {"file": ("a.wav", recording())}
            assert code_of(await client.post(TRANSCRIPTIONS_PATH, files=files)) == (429, "rate_limit_exceeded")
            async with connected_client(server) as talking:  # sessions have their own limit
                await talking.ask()
        await eventually(lambda: voice.speaking == 0)  # the clients have left


async def test_recording_of_a_client_that_left_is_not_transcribed_further(tmp_path: Path) -> None:
    async with served(tmp_path, slow_ms=30_000.0) as (_server, client, loader):
        files = {"file": ("a.wav", recording())}
        with pytest.raises(httpx.ReadTimeout):
            await client.post(TRANSCRIPTIONS_PATH, files=files, timeout=httpx.Timeout(30, read=1))
        await eventually(lambda: [one.closed for one in loader.recognizers_made] == [True])


async def test_recording_that_is_too_long_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcriptions, "MAX_AUDIO_S", 5)
    async with served(tmp_path) as (_server, client, _loader):
        files = {"file": ("a.wav", recording(6))}
        response = await client.post(TRANSCRIPTIONS_PATH, files=files)
        assert code_of(response) == (413, "audio_too_long")
        assert response.json()["error"]["param"] == "file"


async def test_audio_endpoints_can_be_switched_off(tmp_path: Path) -> None:
    async with served(tmp_path, "server.max_audio_requests=0") as (_server, client, _loader):
        assert code_of(await client.post(SPEECH_PATH, json={"input": "a"})) == (404, "unknown_url")


async def test_server_that_shuts_down_takes_no_requests(tmp_path: Path) -> None:
    async with served(tmp_path) as (server, client, _loader):
        server.limits.close()
        for path in POSTS:
            response = await client.post(path, json={"input": "a"})
            assert code_of(response) == (503, "server_draining")
            assert response.headers["retry-after"]


async def test_answers_end_when_the_server_ends(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    voice = EndlessVoice()
    async with (
        httpx.AsyncClient(trust_env=False, timeout=30) as client,
        served(tmp_path, speech=voice, slow_ms=60_000.0) as (server, _client, loader),
    ):
        url = f"http://127.0.0.1:{server.port}"
        async with asyncio.TaskGroup() as tasks:
            files = {"file": ("a.wav", recording())}
            waiting = tasks.create_task(client.post(url + TRANSCRIPTIONS_PATH, files=files))
            async with client.stream("POST", url + SPEECH_PATH, json={"input": "Hello."}) as speech:
                await eventually(lambda: len(loader.recognizers_made) == 1)
                server.server.should_exit = True
                with pytest.raises(httpx.RemoteProtocolError):
                    await speech.aread()
        assert code_of(waiting.result()) == (503, "server_draining")
    assert "Traceback" not in caplog.text


async def test_nothing_that_was_sent_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with served(tmp_path, token=TOKEN) as (server, client, _loader):
        client.headers["Authorization"] = f"Bearer {TOKEN}"
        made = (await client.post(SECRETS, json={"session": {"instructions": "sesame"}})).json()["value"]
        await client.post(SPEECH_PATH, json={"input": "sesame"})
        async with connected_client(server, {"Authorization": f"Bearer {made}"}):
            pass
    logged = "\n".join(
        record.getMessage()
        for record in caplog.records
        if not record.name.startswith(("httpx", "httpcore", "websockets.client"))
    )
    for one in (made, TOKEN, "sesame"):
        assert one not in logged
