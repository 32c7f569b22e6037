"""The end of a client's microphone leaves no gap in its frames."""

import asyncio
import time

import numpy as np

from web.client_audio.client_microphone import ClientMicrophone

RATE_HZ = 24_000


async def test_silence_is_not_inserted_after_queued_frames_were_dropped() -> None:
    starts: list[int] = []
    microphone = ClientMicrophone(RATE_HZ)

    async def listen() -> None:
        starts.extend([int(frame.start) async for frame in microphone.frames()])

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(listen())
        await microphone.deliver(np.zeros(RATE_HZ // 10, np.int16), RATE_HZ)
        microphone.on_disconnect()
        await asyncio.sleep(0.3)
        await microphone.deliver(np.zeros(RATE_HZ // 10, np.int16), RATE_HZ)
        time.sleep(1.5)  # noqa: ASYNC251 - silence is due when the conversation is woken
        microphone.end(at_once=True)
    assert starts == list(range(0, len(starts) * 320, 320))
