"""Plays the sound of `repartee demo`: the user and the assistant, mixed to one channel."""

import asyncio
from pathlib import Path

import numpy as np
from rich.console import Console

from audio.card.speaker import CardSpeaker
from audio.devices import list_devices, pick
from audio.errors import DeviceError
from audio.recording import open_recording
from audio.sound_id import NamedSound
from audio.units import REPLY_RATE_HZ, Pcm

BLOCK_SAMPLES = REPLY_RATE_HZ // 2
"""Half a second: the first is played at once."""

EXTRA_S = 10.0
"""Longest time beyond the length of the sound, after which a loudspeaker counts as stuck."""


async def play_tape(path: Path, device: str, console: Console) -> None:
    """Plays a stereo file at 24 kHz on a loudspeaker, or says why not. `device`: its name; "": the system's default."""
    try:
        pick(list_devices(), device, "output")
    except DeviceError as error:
        console.print(f"not played: {error}", soft_wrap=True, markup=False)
        return
    recording = open_recording(path)
    speaker = CardSpeaker(device, report=lambda what: console.print(what, soft_wrap=True, markup=False))
    ended, sound = asyncio.Event(), NamedSound("tape")

    def played(_sound: object, _total: int, _leaves_at_s: float, finished: bool) -> None:
        if finished:
            ended.set()

    speaker.on_played = played
    console.print("playing it; Ctrl-C stops", soft_wrap=True)
    async with asyncio.TaskGroup() as tasks:
        card = tasks.create_task(speaker.run(), name="speaker")
        try:
            async with asyncio.timeout(recording.duration_s + EXTRA_S):
                speaker.open(sound)
                for block in recording.blocks(BLOCK_SAMPLES):
                    if not await speaker.play(sound, _mixed(block)):
                        break
                speaker.end(sound)
                await ended.wait()
                await asyncio.sleep(speaker.latency_s)
        except TimeoutError:
            console.print("the loudspeaker did not play it in time", soft_wrap=True)
        card.cancel()


def _mixed(block: Pcm) -> Pcm:
    """Returns the sum of both channels, limited to full scale. One of them is silent most of the time."""
    mixed: Pcm = np.clip(block.astype(np.int32).sum(axis=1), -32768, 32767).astype(np.int16)
    return mixed
