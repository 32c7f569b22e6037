"""Servers of telephone and WebRTC calls with scripted engines, and the voice of their callers."""

import asyncio
import os
from collections.abc import Callable, Coroutine
from pathlib import Path

import numpy as np
from support.servers.session_server import ScriptedEngineLoader, SessionServer, eventually, settings_for

from audio.units import REPLY_RATE_HZ, Pcm

LONG = " ".join(["word"] * 40) + "."
"""An answer of 8 s."""
TOKEN = "a-token-of-the-test-server"


def loader(folder: Path, *assignments: str, answers: tuple[str, ...] = ("It is ten o'clock.",)) -> ScriptedEngineLoader:
    """Returns engines that hear three requests one after the other."""
    said = ("tell me a story", "stop it", "what time is it")
    settings = settings_for(folder, "turn.hangover_ms=200", *assignments)
    return ScriptedEngineLoader(settings, os.environ, answers=answers, transcripts=said)


def voice(ms: int) -> Pcm:
    """Returns a sound that the detector of these engines takes for speech."""
    at = np.arange(REPLY_RATE_HZ * ms // 1000)
    wave: Pcm = (8000 * np.sin(at * 2 * np.pi * 310 / REPLY_RATE_HZ) + 9000).astype(np.int16)
    return wave


def run(main: Callable[[], Coroutine[None, None, None]]) -> None:
    """Runs a test for at most a minute."""

    async def within() -> None:
        async with asyncio.timeout(60):
            await main()

    asyncio.run(within())


async def over(server: SessionServer, within_s: float = 5.0) -> None:
    """Waits until the server holds no session."""
    await eventually(lambda: server.limits.current == 0, within_s=within_s)
