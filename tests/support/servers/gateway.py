"""A running `repartee serve`, and a client that asks it one question after the other."""

import asyncio
import base64
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import soundfile
from websockets.asyncio.client import ClientConnection, connect

from audio.units import MIC_RATE_HZ, Pcm

REPARTEE = Path(sys.executable).with_name("repartee")
WHAT_TIME = Path(__file__).parents[2] / "recordings" / "rhasspy3_what-time-is-it.wav"

READY_WITHIN_S = 120.0
ANSWER_WITHIN_S = 120.0
CHUNK_S = 0.1


@dataclass(slots=True)
class Answer:
    """One turn.

    Attributes:
        question: The transcript.
        text: Of the reply.
        sound_bytes: Length of the reply's sound.
        is_complete: Whether the reply has ended.
    """

    question: str = ""
    text: str = ""
    sound_bytes: int = 0
    is_complete: bool = False


@dataclass(slots=True)
class Asker:
    """A conversation in which the client ends the turns."""

    socket: ClientConnection
    events: list[dict[str, Any]] = field(default_factory=list)

    async def ask(self, pcm: bytes) -> Answer:
        """Says the question and returns the answer. Fails on an error event."""
        answer = Answer()
        async with asyncio.timeout(ANSWER_WITHIN_S):
            await self.say(pcm)
            await self.send({"type": "input_audio_buffer.commit"})
            await self.send({"type": "response.create"})
            while not (answer.question and answer.is_complete):
                await self._next(answer)
        return answer

    async def say(self, pcm: bytes) -> None:
        """Sends sound in real time."""
        step = round(CHUNK_S * 24_000) * 2
        for start in range(0, len(pcm), step):
            sound = base64.b64encode(pcm[start : start + step]).decode()
            await self.send({"type": "input_audio_buffer.append", "audio": sound})
            await asyncio.sleep(CHUNK_S)

    async def send(self, event: dict[str, Any]) -> None:
        """Sends an event."""
        await self.socket.send(json.dumps(event))

    async def _next(self, answer: Answer) -> None:
        """Takes the next event."""
        event = json.loads(await self.socket.recv())
        self.events.append(event)
        kind = event["type"]
        assert kind != "error", event
        if kind == "conversation.item.input_audio_transcription.completed":
            answer.question = event["transcript"]
        elif kind == "response.output_audio_transcript.done":
            answer.text = event["transcript"]
        elif kind == "response.output_audio.delta":
            answer.sound_bytes += len(base64.b64decode(event["delta"]))
        elif kind == "response.done":
            answer.is_complete = True


@asynccontextmanager
async def asking(url: str) -> AsyncGenerator[Asker]:
    """Opens a conversation with the gateway at `url`."""
    async with connect(f"{url.replace('http', 'ws')}/v1/realtime", max_size=None) as socket:
        asker = Asker(socket)
        created = json.loads(await socket.recv())
        assert created["type"] == "session.created", created
        turns = {"type": "realtime", "audio": {"input": {"turn_detection": None}}}
        await asker.send({"type": "session.update", "session": turns})
        yield asker


def question() -> bytes:
    """Returns the recorded question for the time as the protocol wants it: int16 at 24 kHz."""
    pcm, rate_hz = soundfile.read(WHAT_TIME, dtype="int16")
    return resampled(pcm, rate_hz).tobytes()


def resampled(pcm: Pcm, rate_hz: int) -> Pcm:
    """Returns the sound at 24 kHz."""
    assert rate_hz == MIC_RATE_HZ
    positions = np.arange(len(pcm) * 3 // 2) / 1.5
    return np.interp(positions, np.arange(len(pcm)), pcm).astype(np.int16)


@contextmanager
def gateway(folder: Path, settings: Sequence[str]) -> Generator[tuple[str, "subprocess.Popen[str]"]]:
    """Runs `repartee serve` and yields its address, when it is ready, and its process."""
    flags = [word for setting in settings for word in ("--set", setting)]
    log = folder / "serve.log"
    with log.open("w") as out:
        process = subprocess.Popen(
            [REPARTEE, "serve", "--port", "0", *flags], cwd=folder, stdout=out, stderr=out, text=True, env=os.environ
        )
    try:
        yield _ready(process, log), process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _ready(process: "subprocess.Popen[str]", log: Path) -> str:
    deadline_s = time.monotonic() + READY_WITHIN_S
    while True:
        text = log.read_text(errors="replace")
        assert process.poll() is None, text
        assert time.monotonic() < deadline_s, text
        found = re.search(r"http://[0-9.]+:[0-9]+", text)
        if found and httpx.get(f"{found[0]}/readyz", timeout=10).status_code == 200:
            return found[0]
        time.sleep(0.1)
