"""Each command of the memory by voice, in real time: real server, skills and voice; transcripts are scripted."""

import asyncio
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from support.servers.session_server import (
    WHAT_TIME,
    RecordingClient,
    connected_client,
    eventually,
    real_engines,
    recording,
    session_server,
)

from assistant.setup.answering.user_memory import user_memory
from assistant.storage.conversation_file import ConversationFile, owner_of_browser
from audio.units import REPLY_RATE_HZ

pytestmark = [pytest.mark.slow, pytest.mark.real_time, pytest.mark.timeout(180)]

BROWSER = "a" * 40
SAID = {
    "en": (
        ("Remember that my daughter is called Ada.", "I'll remember that."),
        ("What do you know about me?", "my daughter is called Ada"),
        ("Do you remember my daughter?", "my daughter is called Ada"),
        ("Forget that.", "I've forgotten: my daughter is called Ada"),
    ),
    "de": (
        ("Merk dir, dass meine Tochter Ada heißt.", "Das merke ich mir."),
        ("Was weißt du über mich?", "dass meine Tochter Ada heißt"),
        ("Erinnerst du dich an meine Tochter?", "dass meine Tochter Ada heißt"),
        ("Vergiss das.", "Vergessen: dass meine Tochter Ada heißt"),
    ),
    "fr": (
        ("Souviens-toi que ma fille s'appelle Ada.", "Je m'en souviendrai."),
        ("Que sais-tu de moi ?", "ma fille s'appelle Ada"),
        ("Te souviens-tu de ma fille ?", "ma fille s'appelle Ada"),
        ("Oublie ça.", "C'est oublié : ma fille s'appelle Ada"),
    ),
    "es": (
        ("Recuerda que mi hija se llama Ada.", "Lo recordaré."),
        ("¿Qué sabes de mí?", "mi hija se llama Ada"),
        ("¿Te acuerdas de mi hija?", "mi hija se llama Ada"),
        ("Olvida eso.", "He olvidado: mi hija se llama Ada"),
    ),
}
"""The sentences of the user in turn, each with words of the answer."""


async def speak(client: RecordingClient) -> None:
    """Sends a recorded question, and silence until it is cancelled, in real time."""
    loop = asyncio.get_running_loop()
    frame, silence = REPLY_RATE_HZ // 50, np.zeros(REPLY_RATE_HZ // 50, np.int16)
    question, began_s = recording(WHAT_TIME), loop.time()
    for number in range(100_000):
        pcm = question[number * frame : (number + 1) * frame]
        await client.send_audio(pcm if len(pcm) == frame else silence)
        await asyncio.sleep(max(0.0, began_s + (number + 1) * 0.02 - loop.time()))


@pytest.mark.parametrize("code", sorted(SAID))
async def test_memory_is_used_by_voice(code: str, tmp_path: Path) -> None:
    said = SAID[code]
    settings = (f"assistant.language={code}", "memory.enabled=true", "server.resume_s=0", "tts.speed=2")
    loader = real_engines(tmp_path / "traces", "", *settings, transcripts=[sentence for sentence, _ in said])
    environ = {"XDG_DATA_HOME": str(tmp_path)}
    loader.memory = memory = user_memory(loader.settings, environ, lambda: None, lambda _what: None)
    assert memory is not None
    memory.keeper.recall.embedder = None
    file, kept = ConversationFile(memory.keeper.file.path, time.time), memory.keeper.file
    owner = owner_of_browser(BROWSER)
    async with session_server(loader, None, conversations=file) as server, asyncio.TaskGroup() as tasks:
        running = tasks.create_task(memory.run())
        async with connected_client(server) as client:
            options = {"conversation": {"browser": BROWSER}, "playout": False}
            await client.send("session.update", session={"type": "realtime", "repartee": options})
            await client.until("repartee.conversation")
            heard_ms = 0.0
            for number, (_, answer) in enumerate(said, 1):
                speaking = tasks.create_task(speak(client))
                await client.until("response.done", number, within_s=60)
                speaking.cancel()
                with suppress(asyncio.CancelledError):
                    await speaking
                # Speech within a second of the reply's onset would belong to the question before.
                await asyncio.sleep((client.sound_ms - heard_ms) / 1000 + 0.5)
                heard_ms = client.sound_ms
                told = client.events_of("response.output_audio_transcript.done")[-1]["transcript"]
                assert answer in told
                if number == 1:
                    await eventually(lambda: len(kept.facts(owner)) == 1)
            await eventually(lambda: kept.facts(owner) == ())
        running.cancel()
