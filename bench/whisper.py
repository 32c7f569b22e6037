"""What faster-whisper costs by model shape and length of sound; the weights are random, so its words mean nothing.

    python -m bench.whisper [--shapes tiny base small] [--device cpu|cuda] [--compute-type TYPE] [--threads N]
                            [--window adaptive|full] [--runs N] [--tokens N] [--model FOLDER]

`final` is from the last frame handed in to the words, through `WhisperTranscriber`, with no partial in flight and no
decode begun in a pause: the plain cost of one decode. "in doubt" is the same where a gate fails, so that the full
window is decoded too. A decode says `--tokens` tokens a second of sound (4: a person's pace); random weights would go
on for ever.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import numpy as np

from audio.stt import SegmentId, whisper_model
from audio.stt.whisper import WhisperTranscriber
from audio.stt.whisper_model import LoadedWhisper, WhisperSettings
from audio.stt.whisper_window import encoder_frames
from audio.units import MIC_RATE_HZ, Pcm

sys.path.append(str(Path(__file__).parent.parent / "tests"))
from synthetic_whisper import SHAPES, random_whisper

_SECONDS = (1, 3, 5, 10, 25)


def noise(seconds: float) -> Pcm:
    """What is in the sound does not change the cost."""
    return np.random.default_rng(1).normal(0, 2000, round(seconds * MIC_RATE_HZ)).astype(np.int16)


def median_ms(runs: int, job: Callable[[], object]) -> float:
    """Of `runs` runs, after one that does not count."""
    took = []
    for _ in range(runs + 1):
        began = time.perf_counter()
        job()
        took.append((time.perf_counter() - began) * 1000)
    return statistics.median(took[1:])


async def final_ms(transcriber: WhisperTranscriber, sound: Pcm, runs: int, *, doubt: str) -> float:
    """From the last frame to the words."""
    took = []
    with patch.object(whisper_model, "doubt", return_value=doubt):
        for run in range(runs + 1):
            hearing = transcriber.open(SegmentId(run), lambda _: None)
            hearing.feed(sound)
            began = time.perf_counter()
            async with asyncio.timeout(120):
                await hearing.words()
            took.append((time.perf_counter() - began) * 1000)
            hearing.close()
    return statistics.median(took[1:])


async def measure(name: str, folder: Path, options: argparse.Namespace) -> None:
    """Print the rows of one model."""
    settings = WhisperSettings(
        str(folder), "en", options.device, options.compute_type, options.threads, options.window, "", ""
    )
    began = time.perf_counter()
    model = LoadedWhisper(settings)
    load_ms = (time.perf_counter() - began) * 1000
    transcriber = WhisperTranscriber(
        str(folder),
        device=options.device,
        compute_type=options.compute_type,
        cpu_threads=options.threads,
        encoder_window=options.window,
        partial_interval_s=1000,
    )
    await transcriber.load()
    for seconds in _SECONDS:
        sound = noise(seconds)
        frames = encoder_frames(len(sound), options.window)
        features = model.features(sound)
        encoded = model.encode(features, frames)
        cells = [
            median_ms(options.runs, lambda: model.features(sound)),  # noqa: B023 - called at once
            median_ms(options.runs, lambda: model.encode(features, frames).shape),  # noqa: B023
            median_ms(options.runs, lambda: model.generate(encoded, "en", len(sound))),  # noqa: B023
            await final_ms(transcriber, sound, options.runs, doubt=""),
        ]
        cells.append(await final_ms(transcriber, sound, max(1, options.runs // 2), doubt="no speech"))
        row = " | ".join(f"{cell:.0f}" for cell in cells)
        print(f"| {name} | {load_ms:.0f} | {seconds} | {frames / 100:g} | {row} | {cells[3] / 1000 / seconds:.3f} |")
    await transcriber.aclose()


def main() -> None:
    """Build the models, measure them, print a table."""
    parser = argparse.ArgumentParser(description="Times of faster-whisper by model shape and length of sound.")
    parser.add_argument("--shapes", nargs="+", choices=sorted(SHAPES), default=list(SHAPES))
    parser.add_argument("--model", type=Path, help="a real model instead")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--compute-type", default="auto")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--window", choices=["adaptive", "full"], default="adaptive")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=4)
    options = parser.parse_args()
    if not options.model:
        whisper_model._TOKENS_AT_LEAST, whisper_model._TOKENS_PER_S = 1, options.tokens
    print(
        "| model | load ms | sound s | window s | features ms | encode ms | decode ms | final ms | in doubt ms | RTF |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        models = [(options.model.name, options.model)] if options.model else []
        models = models or [(name, random_whisper(Path(folder, name), SHAPES[name])) for name in options.shapes]
        for name, path in models:
            asyncio.run(measure(name, path, options))


if __name__ == "__main__":
    main()
