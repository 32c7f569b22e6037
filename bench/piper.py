"""Measures a Piper voice: load, first chunk, whole unit, real-time factor, spare time, cancel, event loop lag.

    python -m bench.piper [VOICE.onnx] [--rounds 5] [--threads N] [--provider NAME] [--whole] [--brief]

Without a voice, takes the downloaded default voice of English; if there is none, creates one with random weights in the
shapes of a medium-quality voice. Its cost is that of a trained voice without its duration predictor; its sound is
meaningless.

The spare time is how much earlier than its turn the latest chunk of a unit is ready, if the first one is played at
once: below 0, there is a gap. --whole synthesizes every sentence in one piece. --brief measures the units only.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from contextlib import aclosing, nullcontext
from pathlib import Path
from typing import get_args
from unittest.mock import patch

import numpy as np

from assistant.models.needs import installed
from audio.execution_provider import Provider, ProviderRequest
from audio.tts.piper.catalogue import JOE
from audio.tts.piper.cut import NotUnderstoodError, VoiceParts
from audio.tts.piper.model import PiperModel
from audio.tts.piper.voice import PiperTts
from audio.units import s_of_reply_samples

UNITS = (
    "Yes.",
    "The lamp is on right now.",
    "Okay, I've set a timer for ten minutes.",
    "I have set a timer for ten minutes, and I will let you know.",
    "The lamp in the living room is on.",
    "That would be seven euros and twenty cents, which is less than you paid for it a week ago.",
    "It is half past four, the bus leaves in ten minutes, and if you walk to the station now you will catch the "
    "train that arrives before noon.",
)


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("voice", nargs="?")
    parser.add_argument("--language", default="en")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--provider", choices=get_args(Provider), default="auto")
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--brief", action="store_true")
    given = parser.parse_args()
    sys.setswitchinterval(0.0005)  # same value as in the program
    with tempfile.TemporaryDirectory() as folder:
        path = given.voice or installed(JOE) or _random_voice(Path(folder))
        voice = PiperTts(
            path, language=given.language, threads=given.threads, provider=ProviderRequest("--provider", given.provider)
        )
        with patch("audio.tts.piper.sessions.cut", _uncut) if given.whole else nullcontext():
            await _load(voice)
        await (measure_units if given.brief else measure)(voice, given.rounds)
        await voice.aclose()


async def _load(voice: PiperTts) -> None:
    began, used = time.perf_counter(), time.process_time()
    await voice.load()
    used_ms = (time.process_time() - used) * 1000
    print(f"{voice.detail}: loaded and measured in {_ms(began):.0f} ms ({used_ms:.0f} ms of processor)")


def _uncut(_model: bytes, _durations: str | None) -> VoiceParts:
    raise NotUnderstoodError("--whole")


async def measure(voice: PiperTts, rounds: int) -> None:
    """Prints all measurements."""
    lags: list[float] = []
    async with asyncio.TaskGroup() as tasks:
        watch = tasks.create_task(_watch(lags))
        await asyncio.sleep(1)
        idle, lags[:] = sorted(lags), []
        await measure_units(voice, rounds)
        busy, lags[:] = sorted(lags), []
        await _cancels(voice, rounds)
        watch.cancel()
    for name, times_ms in (("idle", idle), ("speaking without a pause", busy)):
        print(
            f"lag of the loop, {name}: p50 {_quantile(times_ms, 0.5):.2f}, p95 {_quantile(times_ms, 0.95):.2f}, ",
            end="",
        )
        print(f"p99 {_quantile(times_ms, 0.99):.2f}, worst {times_ms[-1]:.2f} ms")


async def measure_units(voice: PiperTts, rounds: int) -> None:
    """Prints one line for each unit."""
    print("letters  sound s  first chunk ms: p50    p95  unit ms  processor ms  real-time factor  least spare ms")
    for text in UNITS:
        await _unit(voice, text, rounds)


async def _unit(voice: PiperTts, text: str, rounds: int) -> None:
    firsts, wholes, spares, used, seconds = [], [], [], [], 0.0
    for _ in range(rounds):
        began, used_s, first, samples = time.perf_counter(), time.process_time(), 0.0, 0
        spare = float("inf")
        async with aclosing(voice.speak(text)) as sound:
            async for chunk in sound:
                time_ms = _ms(began)
                first = first or time_ms
                spare = min(spare, first + s_of_reply_samples(samples) * 1000 - time_ms) if samples else spare
                samples += chunk.pcm.size
        firsts.append(first)
        wholes.append(_ms(began))
        spares.append(spare)
        used.append((time.process_time() - used_s) * 1000)
        seconds = s_of_reply_samples(samples)
    whole, firsts = float(np.median(wholes)), sorted(firsts)
    print(f"{len(text):>7} {seconds:>8.2f} {_quantile(firsts, 0.5):>20.0f} {_quantile(firsts, 0.95):>6.0f}", end="")
    print(f" {whole:>8.0f} {np.median(used):>13.0f} {whole / 1000 / seconds:>17.3f} {min(spares):>15.0f}")


async def _cancels(voice: PiperTts, rounds: int) -> None:
    """Measures cancellation during synthesis: from the listener's departure until the model is free."""
    free = []
    for index in range(rounds * 8):
        unit = voice.speak(UNITS[-1])
        try:
            async with asyncio.timeout(0.02 + 0.02 * (index % 8)):
                await anext(unit)
        except TimeoutError:
            pass
        began = time.perf_counter()
        await unit.aclose()
        await _idle(voice)
        free.append(_ms(began))
    free.sort()
    print(
        f"cancelled -> model free: p50 {_quantile(free, 0.5):.1f}, p95 {_quantile(free, 0.95):.1f}, "
        f"worst {free[-1]:.1f} ms"
    )


async def _idle(voice: PiperTts) -> None:
    """Waits until the model's thread starts a job submitted now."""
    loop, done = asyncio.get_running_loop(), asyncio.Event()
    thread = voice._thread
    assert thread is not None

    def tell(_model: PiperModel) -> None:
        loop.call_soon_threadsafe(done.set)

    thread.submit(tell)
    async with asyncio.timeout(10):
        await done.wait()


async def _watch(lags: list[float]) -> None:
    while True:
        began = time.perf_counter()
        await asyncio.sleep(0.005)
        lags.append(max(0.0, _ms(began) - 5))


def _random_voice(folder: Path) -> str:
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from support.models.synthetic_piper import medium_voice  # noqa: PLC0415 - only where no voice is given

    return str(medium_voice(folder))


def _ms(began: float) -> float:
    return (time.perf_counter() - began) * 1000


def _quantile(times_ms: list[float], share: float) -> float:
    return times_ms[min(len(times_ms) - 1, int(len(times_ms) * share))]


if __name__ == "__main__":
    asyncio.run(main())
