"""Lets a voice introduce itself, and plays that on this machine."""

import asyncio
import contextlib
import math
import sys
import wave
from collections.abc import Callable
from contextlib import aclosing
from io import BytesIO

import numpy as np

from assistant.commands.first_run.sample_child import LIMIT_S
from assistant.first_run.voices import VoiceOption
from audio.card.microphone import CardMicrophone
from audio.card.speaker import CardSpeaker
from audio.devices import list_devices, pick
from audio.errors import AudioError, TtsError
from audio.sound_id import NamedSound
from audio.units import REPLY_RATE_HZ, Pcm, s_of_reply_samples

CHILD = "assistant.commands.first_run.sample_child"

_GRACE_S = 2.0
_PLAY_EXTRA_S = 5.0
_ERROR_CHARS = 300
_METER_EVERY_S = 0.1


async def sample_of(option: VoiceOption, language: str) -> bytes:
    """Returns a short WAV file in which the voice introduces itself.

    `option` is one of `installed_voices`. Raises TtsError with the reason.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        CHILD,
        language,
        option.engine,
        option.name,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(LIMIT_S + _GRACE_S):
            sound, stderr = await process.communicate()
    except TimeoutError as error:
        raise TtsError(f"the voice {option.name} did not speak within {LIMIT_S:g} s") from error
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    if process.returncode:
        lines = stderr.decode(errors="replace").strip().splitlines()
        raise TtsError((lines[-1] if lines else f"the voice {option.name} failed")[:_ERROR_CHARS])
    return sound


async def play_sample(wav: bytes, device: str) -> None:
    """Plays a WAV file of `sample_of`. Raises AudioError if there is no loudspeaker."""
    pick(list_devices(), device, "output")
    with wave.open(BytesIO(wav)) as file:
        pcm: Pcm = np.frombuffer(file.readframes(file.getnframes()), "<i2").astype(np.int16)
    troubles: list[str] = []
    speaker = CardSpeaker(device, report=troubles.append)
    ended, sound_id = asyncio.Event(), NamedSound("sample")

    def played(_sound: object, _total: int, _leaves_at_s: float, finished: bool) -> None:
        if finished:
            ended.set()

    speaker.on_played = played
    async with asyncio.TaskGroup() as tasks:
        card = tasks.create_task(speaker.run(), name="speaker")
        try:
            async with asyncio.timeout(s_of_reply_samples(pcm.size) + _PLAY_EXTRA_S):
                speaker.open(sound_id)
                for start in range(0, pcm.size, REPLY_RATE_HZ // 2):
                    await speaker.play_chunk(sound_id, pcm[start : start + REPLY_RATE_HZ // 2])
                speaker.end(sound_id)
                await ended.wait()
                await asyncio.sleep(speaker.latency_s)
        except TimeoutError:
            troubles.append("the loudspeaker did not play it in time")
        card.cancel()
    if troubles:
        raise AudioError(troubles[-1])


async def loudest_level(device: str, seconds: float, show: Callable[[float], None]) -> float:
    """Listens to the microphone and returns the loudest level in dBFS; -inf if no sound arrived.

    `show` receives the level ten times a second. Raises AudioError if there is no microphone.
    """
    pick(list_devices(), device, "input")
    microphone = CardMicrophone(device, report=lambda _what: None)
    loop = asyncio.get_running_loop()
    loudest_dbfs, until_s, shown_s = -math.inf, loop.time() + seconds, 0.0
    async with aclosing(microphone.frames()) as frames:
        async for _ in frames:
            now_s = loop.time()
            if now_s >= until_s:
                break
            if now_s - shown_s < _METER_EVERY_S:
                continue
            shown_s = now_s
            loudest_dbfs = max(loudest_dbfs, microphone.level_dbfs)
            show(microphone.level_dbfs)
    return loudest_dbfs
