"""Measures final transcript latency when conversations share one Whisper model: one decode at a time, or two.

    python -m bench.whisper_crowd [--shapes tiny base] [--conversations 1 4 8] [--workers 1 2] [--rounds 3]

In each conversation a user speaks for 1.5 to 4 s, listens for as long, and speaks again, in real time. The transcript
is requested after a silence of `--after` ms; the time until it arrives is measured. Weights are random in true shapes;
as in `bench.engines`, a decode has 4 tokens for each second and counts as confident. Settings alternate round by round,
so that other load on the machine affects all of them.
"""

import argparse
import asyncio
import os
import random
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from assistant.trace.waterfall import nearest_rank
from audio.errors import SttError
from audio.stt import SegmentId
from audio.stt.whisper.model import WhisperSettings
from audio.stt.whisper.shared_model import SharedWhisper, SharedWhisperRecognizer
from audio.units import FRAME_SAMPLES, MIC_RATE_HZ

sys.path.append(str(Path(__file__).parent.parent / "tests"))
from synthetic_whisper import SHAPES, as_trained, loud, quiet, random_whisper

DEADLINE_S = 3.0
"""Deadline in seconds, as `stt.timeout_s`: later transcripts are lost."""

FRAME_S = FRAME_SAMPLES / MIC_RATE_HZ


@dataclass(slots=True)
class Heard:
    """Results of one setting.

    Attributes:
        finals_ms: Times from the request to the final transcript.
        lost: Final transcripts that missed the deadline.
    """

    finals_ms: list[float] = field(default_factory=list)
    lost: int = 0


async def converse(
    seat: SharedWhisperRecognizer, heard: Heard, chance: random.Random, until_s: float, after_ms: int
) -> None:
    """Runs one conversation until `until_s` on the loop's clock."""
    loop = asyncio.get_running_loop()
    await asyncio.sleep(chance.uniform(0, 2.5))
    number = 0
    while loop.time() < until_s:
        number += 1
        sound = np.concatenate([quiet(0.3), loud(chance.uniform(1.5, 4)), quiet(after_ms / 1000)])
        hearing = seat.open(SegmentId(number), lambda _words: None)
        began_s = loop.time()
        for frame, at in enumerate(range(0, len(sound) - FRAME_SAMPLES + 1, FRAME_SAMPLES)):
            await asyncio.sleep(began_s + frame * FRAME_S - loop.time())
            hearing.feed(sound[at : at + FRAME_SAMPLES])
        asked_s = loop.time()
        try:
            async with asyncio.timeout(DEADLINE_S):
                await hearing.transcript()
        except (TimeoutError, SttError):
            heard.lost += 1
        heard.finals_ms.append((loop.time() - asked_s) * 1000)
        hearing.close()
        await asyncio.sleep(chance.uniform(1.5, 4))


async def crowd(model: Path, workers: int, conversations: int, heard: Heard, options: argparse.Namespace) -> None:
    """Runs simultaneous conversations on one model."""
    settings = WhisperSettings(model, device="cpu", cpu_threads=options.threads, workers=workers)
    shared = SharedWhisper(settings)
    await shared.load()
    until_s = asyncio.get_running_loop().time() + options.seconds
    async with asyncio.TaskGroup() as tasks:
        for number in range(conversations):
            chance = random.Random(number)  # the same users for each setting
            tasks.create_task(converse(shared.transcriber(), heard, chance, until_s, options.after))
    await shared.aclose()


def measure(options: argparse.Namespace, folder: Path) -> Iterator[tuple[str, int, int, Heard]]:
    """Yields shape, conversations, workers and all results so far, round by round."""
    heard: dict[tuple[str, int, int], Heard] = defaultdict(Heard)
    models = {shape: random_whisper(folder / shape, SHAPES[shape]) for shape in options.shapes}
    for _ in range(options.rounds):
        for shape, model in models.items():
            for conversations in options.conversations:
                for workers in options.workers:
                    one = heard[shape, conversations, workers]
                    asyncio.run(crowd(model, workers, conversations, one, options))
                    yield shape, conversations, workers, one


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shapes", nargs="+", choices=sorted(SHAPES), default=["tiny", "base"])
    parser.add_argument("--conversations", nargs="+", type=int, default=[1, 4, 8])
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--threads", type=int, default=2, help="threads of all workers together")
    parser.add_argument("--after", type=int, default=400, help="ms of silence after which the transcript is requested")
    parser.add_argument("--seconds", type=float, default=25, help="length of each round in s")
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    sys.setswitchinterval(0.0005)  # same value as in the program
    with tempfile.TemporaryDirectory() as folder, as_trained():
        for shape, conversations, workers, heard in measure(options, Path(folder)):
            p50_ms, p95_ms = (nearest_rank(heard.finals_ms, share) for share in (50, 95))
            print(
                f"{shape} | {conversations} | {workers} x {options.threads // workers} | {len(heard.finals_ms)} | "
                f"{p50_ms:.0f} / {p95_ms:.0f} | {heard.lost} | load {os.getloadavg()[0]:.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
