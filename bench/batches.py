"""Shows whether batching final decodes lowers the wait for transcripts: several segments in one call of CTranslate2.

    python -m bench.batches [--model tiny.en] [--threads 2] [--rounds 5]

Measures how long one call takes for 1, 2, 4 and 8 segments, on the clips that come with the benches. Then simulates
requests that come at random times: the scheduler takes up to so many waiting requests at once, oldest first, and starts
as soon as it is free. A batch is decoded in the window of its longest segment, until its longest transcript has ended.
"""

import argparse
import json
import random
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from assistant.models.catalogue import MODELS
from assistant.models.needs import installed
from assistant.trace.waterfall import nearest_rank
from audio.stt.whisper.encoder_window import encoder_frames
from audio.stt.whisper.model import LoadedWhisper, WhisperSettings
from audio.units import Pcm
from bench.recordings import kind_of, read_pcm

MANIFEST = Path("bench/clips/manifest.jsonl")
SIZES = (1, 2, 4, 8)
LOADS = (0.3, 0.5, 0.7, 0.9)
"""Share of the time in which the model decodes, without batches."""
REQUESTS = 20_000
_SEED = 11


def waits_s(call_s: Mapping[int, float], most: int, requests_per_s: float, count: int) -> list[float]:
    """Returns the time from each request to its transcript, in seconds, for requests at random times. Pure.

    Args:
        call_s: Duration of a call by the number of its segments; numbers in between are interpolated.
        most: Maximum number of segments in a call.
        requests_per_s: Mean rate of the requests.
        count: Number of requests.
    """
    random_times, at_s = random.Random(_SEED), 0.0
    asked_s = [at_s := at_s + random_times.expovariate(requests_per_s) for _ in range(count)]
    sizes, durations = list(call_s), list(call_s.values())
    waits: list[float] = []
    free_s = 0.0
    while len(waits) < count:
        first = len(waits)
        start_s = max(free_s, asked_s[first])
        size = 1
        while size < most and first + size < count and asked_s[first + size] <= start_s:
            size += 1
        free_s = start_s + float(np.interp(size, sizes, durations))
        waits += [free_s - one for one in asked_s[first : first + size]]
    return waits


def call_durations_s(whisper: LoadedWhisper, clips: Sequence[Pcm], rounds: int) -> dict[int, float]:
    """Returns the median duration of a call by the number of its segments, which alternate round by round."""
    found: dict[int, list[float]] = {size: [] for size in SIZES}
    for number in range(rounds):
        for size in SIZES:
            for first in range(0, len(clips), size):
                batch = [clips[(first + number + offset) % len(clips)] for offset in range(size)]
                began_s = time.perf_counter()
                decode_together(whisper, batch)
                found[size].append(time.perf_counter() - began_s)
    return {size: float(np.median(durations_s)) for size, durations_s in found.items()}


def decode_together(whisper: LoadedWhisper, batch: Sequence[Pcm]) -> list[str]:
    """Decodes several segments by one call of the encoder and one of the decoder. Returns their texts."""
    longest = max(len(pcm) for pcm in batch)
    frames = encoder_frames(longest, "adaptive")
    features = [whisper.features(pcm) for pcm in batch]
    padded = np.full((len(batch), features[0].shape[0], frames), -1.5, np.float32)
    for row, one in zip(padded, features, strict=True):
        taken = min(frames, one.shape[1])
        row.fill(max(-1.5, float(one.max()) - 2.0))
        row[:, :taken] = one[:, :taken]
    engine, tokenizer = whisper._model.model, whisper._tokenizer("en")
    prompt = whisper._prompt(tokenizer)
    results = engine.generate(
        engine.encode(whisper._storage(padded)),
        [prompt] * len(batch),
        beam_size=1,
        max_length=2 * (len(prompt) + 60),
        return_scores=True,
        return_no_speech_prob=True,
    )
    return [tokenizer.decode(list(result.sequences_ids[0])).strip() for result in results]


def speech(manifest: Path = MANIFEST) -> list[Pcm]:
    """Returns the clips with speech, int16 (n,) at 16 kHz."""
    rows = [json.loads(line) for line in manifest.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [read_pcm(manifest.parent / row["file"]) for row in rows if kind_of(row) in {"plain", "paused"}]


def main() -> None:
    """Measures, simulates and prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="tiny.en")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    folder = installed(MODELS[options.model])
    if folder is None:
        raise SystemExit(f"bench.batches: run `repartee models pull {options.model}` first")
    whisper = LoadedWhisper(WhisperSettings(folder, device="cpu", cpu_threads=options.threads))
    durations_s = call_durations_s(whisper, speech(), options.rounds)
    print("| segments in a call | call, ms | a segment, ms |\n|---|---|---|")
    for size, duration_s in durations_s.items():
        print(f"| {size} | {duration_s * 1000:.0f} | {duration_s / size * 1000:.0f} |")
    print("\n| load | requests a second | " + " | ".join(f"up to {most}: p50 / p95 ms" for most in SIZES) + " |")
    print("|---" * (len(SIZES) + 2) + "|")
    for load in LOADS:
        rate = load / durations_s[1]
        cells = []
        for most in SIZES:
            waits_ms = [wait_s * 1000 for wait_s in waits_s(durations_s, most, rate, REQUESTS)]
            cells.append(f"{nearest_rank(waits_ms, 50):.0f} / {nearest_rank(waits_ms, 95):.0f}")
        print(f"| {load:.0%} | {rate:.1f} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
