"""A wake word that is said to the real server, with the real detector."""

import asyncio
from pathlib import Path

import numpy as np
import pytest
from support.servers.session_server import connected_client, scripted_server
from support.sound.speech import sound_of, spoken

from audio.tts.espeak.voice import EspeakVoice
from audio.units import ms_of_reply_samples

pytest.importorskip("pymicro_wakeword", reason="the extra wake is not installed")
pytestmark = [pytest.mark.slow, pytest.mark.real_time]

BLOCK = 480


def test_server_hears_the_wake_word_and_only_then_speech(tmp_path: Path) -> None:
    called = sound_of(spoken(EspeakVoice(), "Okay Nabu"))
    quiet = np.random.default_rng(1).normal(0, 20, 24_000).astype(np.int16)
    sound = np.concatenate([quiet, called, quiet])

    async def converse() -> None:
        async with scripted_server(tmp_path) as (server, _), connected_client(server) as client:
            assert "okay_nabu" in client.events[0]["session"]["repartee"]["wake_words"]
            await client.send("session.update", session={"type": "realtime", "repartee": {"wake_word": "okay_nabu"}})
            await client.until("session.updated")
            await asyncio.sleep(1.0)  # the detector is loaded in a thread
            for start in range(0, len(sound), BLOCK):
                await client.send_audio(sound[start : start + BLOCK])
                await asyncio.sleep(0.02)
            heard = await client.until("repartee.wake_word")
            assert heard["word"] == "okay_nabu"
            end_ms = 1000 + ms_of_reply_samples(int(np.flatnonzero(np.abs(called) > 500)[-1]))
            # Silence that the server has inserted before the sound counts, too.
            assert end_ms - 150 <= heard["at_ms"] <= end_ms + 3000
            assert client.events_of("input_audio_buffer.speech_started") == []

    asyncio.run(converse())
