"""Runs a Home Assistant of its own, with an owner, and drives it as its page does: over HTTP and a WebSocket."""

import itertools
import json
import os
import socket
import subprocess
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from websockets.sync.client import connect
from websockets.sync.connection import Connection

from audio.units import MIC_RATE_HZ, Pcm, samples_of_ms

START_WITHIN_S = 60.0
REQUEST_WITHIN_S = 30.0
ENDS_WITHIN_S = 15.0
BLOCK_MS = 20

_CONFIGURATION = """
homeassistant: {{name: Test, time_zone: UTC, internal_url: "{url}"}}
http: {{server_host: 127.0.0.1, server_port: {port}}}
api:
config:
ffmpeg: {{ffmpeg_bin: "{ffmpeg}"}}
media_source:
assist_pipeline:
"""

OWNER = {"name": "Owner", "username": "owner", "password": "a password of this test", "language": "en"}


@dataclass(frozen=True)
class HomeAssistant:
    """A running Home Assistant.

    Attributes:
        url: Its address.
        token: Access token of the owner.
        http: Client with the owner's token.
    """

    url: str
    token: str
    http: httpx.Client

    def post(self, path: str, fields: Mapping[str, object]) -> Any:
        """Sends a request and returns the answer."""
        return self.http.post(path, json=fields).raise_for_status().json()

    def set_up(self, integration: str, fields: Mapping[str, object]) -> Any:
        """Goes through the config flow of an integration and returns its last step."""
        flow = self.post("/api/config/config_entries/flow", {"handler": integration})
        assert flow["type"] == "form", flow
        return self.post(f"/api/config/config_entries/flow/{flow['flow_id']}", fields)

    def entity(self, domain: str) -> str:
        """Returns the id of the only entity of a domain; waits for it."""
        deadline_s = time.monotonic() + REQUEST_WITHIN_S
        while True:
            states = self.http.get("/api/states").raise_for_status().json()
            names = [state["entity_id"] for state in states if state["entity_id"].startswith(f"{domain}.")]
            if names:
                (name,) = names
                return str(name)
            assert time.monotonic() < deadline_s, [state["entity_id"] for state in states]
            time.sleep(0.1)

    def transcript(self, entity: str, wav: bytes) -> Any:
        """Returns the answer of a speech-to-text entity to a recording."""
        form = "format=wav; codec=pcm; sample_rate=16000; bit_rate=16; channel=1; language=en"
        answer = self.http.post(f"/api/stt/{entity}", content=wav, headers={"X-Speech-Content": form})
        return answer.raise_for_status().json()

    def speech(self, entity: str, text: str) -> bytes:
        """Returns the sound file of a text-to-speech entity for a text."""
        place = self.post("/api/tts_get_url", {"engine_id": entity, "message": text, "cache": False})
        return self.http.get(place["path"]).raise_for_status().content

    @contextmanager
    def socket(self) -> Generator["HomeAssistantSocket"]:
        """Opens the connection that the page uses."""
        with connect(f"{self.url.replace('http', 'ws', 1)}/api/websocket", max_size=None) as connection:
            opened = HomeAssistantSocket(connection)
            assert opened.message()["type"] == "auth_required"
            connection.send(json.dumps({"type": "auth", "access_token": self.token}))
            assert opened.message()["type"] == "auth_ok"
            yield opened


class HomeAssistantSocket:
    """A connection over which commands and sound go to Home Assistant."""

    def __init__(self, connection: Connection) -> None:
        """Uses an open connection."""
        self._connection = connection
        self._ids = itertools.count(1)

    def message(self, timeout_s: float = REQUEST_WITHIN_S) -> Any:
        """Returns the next message. Raises TimeoutError."""
        return json.loads(self._connection.recv(timeout_s))

    def command(self, kind: str, **fields: object) -> Any:
        """Returns the result of a command."""
        self._connection.send(json.dumps({"id": next(self._ids), "type": kind, **fields}))
        answer = self.message()
        assert answer["type"] == "result", answer
        assert answer["success"], answer
        return answer["result"]

    def run_pipeline(self, sound: Pcm, **fields: object) -> dict[str, Any]:
        """Runs an Assist pipeline on sound at 16 kHz, in real time. Returns the data of each kind of event.

        Silence follows until the pipeline has ended.
        """
        self.command("assist_pipeline/run", input={"sample_rate": MIC_RATE_HZ}, **fields)
        start = self.message()["event"]
        handler = bytes([start["data"]["runner_data"]["stt_binary_handler_id"]])
        events: dict[str, Any] = {start["type"]: start["data"]}
        began_s = time.monotonic()
        step = samples_of_ms(BLOCK_MS)
        for index in itertools.count():
            due_s = began_s + index * BLOCK_MS / 1000
            while (left_s := due_s - time.monotonic()) > 0:
                try:
                    event = self.message(left_s)["event"]
                except TimeoutError:
                    break
                events[event["type"]] = event["data"]
            if {"run-end", "error"} & events.keys():
                return events
            assert index * step < len(sound) + REQUEST_WITHIN_S * MIC_RATE_HZ, events
            block = sound[index * step : (index + 1) * step].tobytes()
            self._connection.send(handler + block.ljust(2 * step, b"\0"))
        raise AssertionError


@contextmanager
def home_assistant(python: Path, folder: Path) -> Generator[HomeAssistant]:
    """Runs Home Assistant with an empty configuration in a folder, with the packages of `python`."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    (folder / "configuration.yaml").write_text(_CONFIGURATION.format(url=url, port=port, ffmpeg=_ffmpeg(python)))
    output = folder / "output.txt"
    command = [str(python), "-m", "homeassistant", "--config", str(folder), "--skip-pip"]
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    with (
        output.open("wb") as out,
        subprocess.Popen(command, stdout=out, stderr=out, env=environ) as process,
        httpx.Client(base_url=url, timeout=REQUEST_WITHIN_S, trust_env=False) as http,
    ):
        try:
            token = _token(http, url, lambda: f"{process.poll()}: {output.read_text()[-3000:]}")
            http.headers["Authorization"] = f"Bearer {token}"
            yield HomeAssistant(url, token, http)
        finally:
            process.terminate()
            try:
                process.wait(ENDS_WITHIN_S)
            except subprocess.TimeoutExpired:
                process.kill()


def _ffmpeg(python: Path) -> str:
    """Returns the path of the program ffmpeg, which makes MP3 of speech for the page."""
    asked = "import imageio_ffmpeg; print(imageio_ffmpeg.get_ffmpeg_exe())"
    return subprocess.run([python, "-c", asked], check=True, capture_output=True, text=True).stdout.strip()


def _token(http: httpx.Client, url: str, state: Callable[[], str]) -> str:
    """Makes the owner and returns an access token; waits until Home Assistant answers."""
    deadline_s = time.monotonic() + START_WITHIN_S
    client = {"client_id": f"{url}/"}
    while True:
        try:
            made = http.post("/api/onboarding/users", json={**client, **OWNER})
            if made.status_code == httpx.codes.OK:
                break
        except httpx.TransportError:
            pass
        assert time.monotonic() < deadline_s, state()
        time.sleep(0.2)
    code = {**client, "grant_type": "authorization_code", "code": made.json()["auth_code"]}
    return str(http.post("/auth/token", data=code).raise_for_status().json()["access_token"])
