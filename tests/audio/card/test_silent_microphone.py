"""A microphone that only yields silence."""

import asyncio
from contextlib import aclosing

import pytest

from audio.silent_microphone import SilentMicrophone


@pytest.mark.virtual_time
async def test_silence_follows_real_time_until_it_is_ended() -> None:
    microphone, loop = SilentMicrophone(), asyncio.get_running_loop()
    began_s, frames = loop.time(), 0
    loop.call_later(1.0, microphone.end)
    async with aclosing(microphone.frames()) as source:
        async for frame in source:
            assert frame.is_inserted
            assert not frame.pcm.any()
            frames += 1
    assert loop.time() - began_s == pytest.approx(1.0, abs=0.01)
    assert 45 <= frames <= 50
