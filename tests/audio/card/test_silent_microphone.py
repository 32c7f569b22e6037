"""A microphone that only yields silence."""

import asyncio
from contextlib import aclosing

import pytest
from support.clocks.virtual_time import run_virtual

from audio.silent_microphone import SilentMicrophone


def test_silence_follows_real_time_until_it_is_ended() -> None:
    async def main() -> tuple[int, float]:
        microphone, loop = SilentMicrophone(), asyncio.get_running_loop()
        began_s, frames = loop.time(), 0
        loop.call_later(1.0, microphone.end)
        async with aclosing(microphone.frames()) as source:
            async for frame in source:
                assert frame.is_inserted
                assert not frame.pcm.any()
                frames += 1
        return frames, loop.time() - began_s

    frames, took_s = run_virtual(main())
    assert took_s == pytest.approx(1.0, abs=0.01)
    assert 45 <= frames <= 50
