"""Sends sound and text as a satellite and a language model do: in real time, with the library's client."""

import asyncio
import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
from wyoming.asr import Transcribe, Transcript
from wyoming.audio import AudioChunk, AudioStart, AudioStop
from wyoming.client import AsyncTcpClient
from wyoming.error import Error
from wyoming.event import Event
from wyoming.tts import SynthesizeChunk, SynthesizeStart, SynthesizeStop, SynthesizeStopped

from assistant.commands.engine_bench.words import word_errors
from audio.units import MIC_RATE_HZ, Pcm, samples_of_ms
from bench.conversations.recordings import read_pcm
from bench.wyoming.measurement import Measurement

BLOCK_MS = 20
"""Sound of one chunk of a satellite."""
TRAILING_S = 0.5
"""Silence after a recording: as wyoming-bench. Home Assistant ends a command after 0.7 s of silence."""
TOKENS_PER_S = 50.0
"""Rate at which a language model sends words."""
ANSWER_WITHIN_S = 60.0


async def hear(port: int, server: str, corpus: Path, limit: int | None = None) -> list[Measurement]:
    """Lets a server recognize recordings in real time. Measures from the end of the sound to the transcript."""
    rows, pairs = [], []
    for name, words, recording in _recordings(corpus)[:limit]:
        sound = np.concatenate([recording, np.zeros(int(TRAILING_S * MIC_RATE_HZ), np.int16)])
        async with _connection(port) as client:
            await client.write_event(Transcribe(language="en").event())
            await client.write_event(AudioStart(MIC_RATE_HZ, 2, 1).event())
            step, loop = samples_of_ms(BLOCK_MS), asyncio.get_running_loop()
            began_s = loop.time()
            for start in range(0, len(sound), step):
                block = sound[start : start + step]
                await asyncio.sleep(began_s + (start + len(block)) / MIC_RATE_HZ - loop.time())
                await client.write_event(AudioChunk(MIC_RATE_HZ, 2, 1, block.tobytes()).event())
            await client.write_event(AudioStop().event())
            ended_s = loop.time()
            while not Transcript.is_type((event := await _next(client)).type):
                pass
            ms = (loop.time() - ended_s) * 1000
        pairs.append((words, Transcript.from_event(event).text))
        rows.append(Measurement(server, "stt live", "", name, ms, audio_s=len(sound) / MIC_RATE_HZ))
    errors = word_errors(pairs, "en")
    return [*rows, Measurement(server, "stt live", "", "words", errors=errors.errors, words=errors.reference_words)]


async def speak(port: int, server: str, texts: Sequence[str]) -> list[Measurement]:
    """Lets a server speak texts that arrive word by word. Measures from the first word to the first sound."""
    rows = []
    for text in texts:
        async with _connection(port) as client:
            loop = asyncio.get_running_loop()
            began_s = loop.time()
            writing = asyncio.create_task(_write(client, text))
            first_ms, sound_s = None, 0.0
            while not SynthesizeStopped.is_type((event := await _next(client)).type):
                if AudioChunk.is_type(event.type):
                    first_ms = first_ms or (loop.time() - began_s) * 1000
                    sound_s += AudioChunk.from_event(event).seconds
            ms = (loop.time() - await writing) * 1000
        rows.append(Measurement(server, "tts live", "", text[:20], ms, first_ms, sound_s))
    return rows


def _recordings(corpus: Path) -> list[tuple[str, str, Pcm]]:
    """Returns name, words and sound of each recording of a corpus."""
    files = sorted(corpus.glob("*.wav"))
    return [(file.stem, file.with_suffix(".txt").read_text(encoding="utf-8"), read_pcm(file)) for file in files]


async def _write(client: AsyncTcpClient, text: str) -> float:
    """Sends a text word by word. Returns the time of its end, on the loop's clock."""
    await client.write_event(SynthesizeStart().event())
    for token in re.findall(r"\S+\s*", text):
        await client.write_event(SynthesizeChunk(token).event())
        await asyncio.sleep(1 / TOKENS_PER_S)
    await client.write_event(SynthesizeStop().event())
    return asyncio.get_running_loop().time()


@asynccontextmanager
async def _connection(port: int) -> AsyncGenerator[AsyncTcpClient]:
    async with asyncio.timeout(ANSWER_WITHIN_S), AsyncTcpClient("127.0.0.1", port) as client:
        yield client


async def _next(client: AsyncTcpClient) -> Event:
    """Returns the next event. Raises SystemExit for an error and for the end of the connection."""
    event = await client.read_event()
    if event is None:
        raise SystemExit("the server closed the connection")
    if Error.is_type(event.type):
        raise SystemExit(f"the server sent an error: {Error.from_event(event).text}")
    return event
