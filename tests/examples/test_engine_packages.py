"""The voice, recognizer, protocol and skill of examples/ are installed as packages and used by `repartee serve`."""

import asyncio
import importlib.util
import io
import json
import os
import re
import socketserver
import subprocess
import sys
import threading
import wave
from collections.abc import Generator
from contextlib import aclosing, contextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace

import httpx
import numpy as np
import pytest
from support.programs.program import REPARTEE
from support.programs.serve_program import serving

from audio.engines.voice import VoiceRequest
from audio.pronunciation import Pronunciations
from audio.tts import Chunk
from audio.units import REPLY_RATE_HZ
from llm.chat import ChatEvent, RequestSent, Token
from llm.errors import LlmBroken

pytestmark = [pytest.mark.slow, pytest.mark.calm, pytest.mark.timeout(200)]

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def environ(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Installs the packages into a folder, without a network. Returns the environment that has them."""
    folder = tmp_path_factory.mktemp("packages")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    packages = [ROOT / "examples" / name for name in ("voice", "recognizer", "protocol", "skill")]
    subprocess.run([*pip, f"--target={folder}", *packages], check=True, timeout=100)
    return {**os.environ, "PYTHONPATH": str(folder)}


def module_of(file: str) -> ModuleType:
    """Returns a module of examples/ that is not installed."""
    spec = importlib.util.spec_from_file_location(Path(file).stem, ROOT / "examples" / file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_beeps_follow_each_other_at_the_configured_speed() -> None:
    beeps = module_of("voice/repartee_beeps.py")
    asked = VoiceRequest(beeps.BeepSettings(300), "en", "", None, 2.0, -20.0, 1, None, Pronunciations())

    async def spoken() -> list[Chunk]:
        voice = beeps.make(asked)
        await voice.load()
        try:
            async with aclosing(voice.speak("One two.")) as chunks:
                return [chunk async for chunk in chunks]
        finally:
            await voice.aclose()

    chunks = asyncio.run(spoken())
    loud = np.flatnonzero(np.abs(np.concatenate([chunk.pcm for chunk in chunks])) > 500)
    (gap,) = np.flatnonzero(np.diff(loud) > 0.01 * REPLY_RATE_HZ)
    assert (loud[gap + 1] - loud[0]) / REPLY_RATE_HZ == pytest.approx(0.1, abs=0.005)
    assert [(mark.text_start, mark.text_end) for chunk in chunks for mark in chunk.marks] == [(0, 3), (4, 8)]


def test_installed_voice_and_recognizer_are_used_by_the_server(environ: dict[str, str], tmp_path: Path) -> None:
    settings = ("tts.engine=beeps", "tts.beeps.pitch_hz=300", "stt.engine=one-question")
    with serving(tmp_path, *settings, environ=environ) as address, httpx.Client(base_url=address, timeout=60) as client:
        text = {"model": "repartee", "voice": "repartee", "input": "One two three.", "response_format": "wav"}
        spoken = client.post("/v1/audio/speech", json=text)
        assert spoken.status_code == 200, spoken.text
        with wave.open(io.BytesIO(spoken.content)) as sound:
            pcm = np.frombuffer(sound.readframes(sound.getnframes()), np.int16)
            rate_hz = sound.getframerate()
        spectrum = np.abs(np.fft.rfft(pcm[: rate_hz // 8]))
        assert spectrum.argmax() * 8 == pytest.approx(300, abs=20)
        file = {"file": ("speech.wav", (ROOT / "tests/recordings/pocketsphinx_goforward.wav").read_bytes())}
        heard = client.post("/v1/audio/transcriptions", files=file, data={"model": "repartee"})
        assert heard.json()["text"].lower().startswith("what time is it"), heard.text


def asked(address: str, question: str, folder: Path) -> str:
    """Returns the words with which the server answers a typed question."""
    program = [sys.executable, str(ROOT / "examples" / "realtime_client.py"), question]
    environ = {**os.environ, "REPARTEE_URL": f"{address}/v1"}
    return subprocess.run(program, cwd=folder, env=environ, capture_output=True, text=True, check=True).stdout


ANSWERS = {
    "en": {
        "Draw 24 cards, please.": r"You have the [\w ]+ of \w+, the ",
        "What can you do?": r"roll dice, and draw playing cards\.",
    },
    "de": {"Zieh eine Karte.": r"Gezogen: (Kreuz|Karo|Herz|Pik) (8|9|10|Bube|Dame|König|Ass)\."},
}


@pytest.mark.parametrize("language", ["en", pytest.param("de", marks=pytest.mark.thorough)])
def test_installed_skill_answers_typed_text(environ: dict[str, str], tmp_path: Path, language: str) -> None:
    settings = (f"assistant.language={language}", "tts.engine=espeak-ng", "skills.cards.lowest=8")
    with serving(tmp_path, *settings, environ=environ) as address:
        for question, answer in ANSWERS[language].items():
            assert re.search(answer, asked(address, question, tmp_path))


def test_installed_engines_are_listed_and_checked(environ: dict[str, str], tmp_path: Path) -> None:
    def output(*words: str) -> str:
        found = subprocess.run(
            [REPARTEE, *words], env=environ, cwd=tmp_path, capture_output=True, text=True, check=False
        )
        return found.stdout

    listed = output("engines")
    assert "beeps" in listed
    assert "one-question" in listed
    assert "draws playing cards (en, de)" in listed
    report = json.loads(output("doctor", "--json", "--set", "tts.engine=beeps"))
    assert "tts beeps" in json.dumps(report)


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        (b"a\n\xff\n\n", "another encoding: set encoding"),
        (b"a\n" + b"x" * 70_000 + b"\n\n", "a line over 64 KiB"),
        (b"a\n", "ends without an empty line"),
        (b"a\nb", "ends without an empty line"),
    ],
    ids=["encoding", "long line", "no end", "cut line"],
)
def test_broken_lines_are_an_error_of_the_endpoint(sent: bytes, told: str) -> None:
    lines = module_of("protocol/repartee_lines.py")

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(sent)
        writer.close()

    async def scene() -> tuple[list[ChatEvent], LlmBroken]:
        events = []
        async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
            url = f"lines://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            endpoint = SimpleNamespace(name="near", url=url, own=lines.LineSettings())
            limits = {"connect_timeout_s": 9, "first_token_timeout_s": 9, "token_gap_timeout_s": 9}
            chat = lines.LineChat(SimpleNamespace(endpoint=endpoint, options=limits))
            try:
                async for event in chat.stream(()):
                    events.append(event)  # noqa: PERF401 - those before the error count
            except LlmBroken as error:
                return events, error
        raise AssertionError("it is no error")

    events, error = asyncio.run(scene())
    assert events == [RequestSent(None), Token("a")]
    assert told in str(error)


@contextmanager
def line_server() -> Generator[tuple[int, list[bytes]]]:
    """Answers each connection with two lines. Yields its port and the requests."""
    requests: list[bytes] = []

    class Answer(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            requests.append(self.rfile.readline())
            self.wfile.write("Shakespeare wrote \nit, né?\n\n".encode("latin-1"))

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_address[1], requests
        finally:
            server.shutdown()
            thread.join()


def test_installed_protocol_asks_the_language_model(environ: dict[str, str], tmp_path: Path) -> None:
    with line_server() as (port, requests):
        endpoint = (
            f'{{name = "near", kind = "lines", url = "lines://127.0.0.1:{port}", model = "any", encoding = "latin-1"}}'
        )
        settings = ("tts.engine=espeak-ng", f"llm.endpoints=[{endpoint}]")
        with serving(tmp_path, *settings, environ=environ) as address:
            assert "Shakespeare wrote it, né?" in asked(address, "Who wrote Hamlet?", tmp_path)
    assert json.loads(requests[-1])[-1]["content"] == "Who wrote Hamlet?"
