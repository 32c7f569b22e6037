"""Measures how much earlier decoding can begin at dips of the speech probability; prints a table of docs/lab/stt.md.

    python -m bench.dips [--manifest FILE]

The manifest is as in bench/recordings.py. Every recording has a second of room noise before and after the speech.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import soxr

from assistant.pipeline.audio_input import DIP_PROBABILITIES
from audio.frame import Frame
from audio.stt.whisper.stream import LACKING_EARLY_SAMPLES
from audio.units import MIC_RATE_HZ, REPLY_RATE_HZ, Pcm, ms_of_samples, s_of_samples, samples_of_ms, samples_of_s
from audio.vad import VadResult
from audio.vad.silero.detector import SileroVad
from audio.vad.silero.network import SileroNetwork
from bench.recordings import Recording, read_recordings, room_of
from bench.turn_end_clips import vad_results

LEVELS: tuple[tuple[float, ...], ...] = ((0.5,), (0.6,), (0.7,), (0.8,), (0.9,), DIP_PROBABILITIES)

DECODE_SAMPLES = samples_of_ms(120)
"""Decoding time of Whisper's tiny shape, in samples. Decodes do not overlap."""

LATEST_SAMPLES = samples_of_ms(400)
"""Maximum delay of a transcript request after the end of speech, in samples. Later requests belong to another pause."""

Heard = Sequence[tuple[Frame, VadResult]]


@dataclass(frozen=True, slots=True)
class Ending:
    """Result of one recording for one choice of probability levels.

    Attributes:
        sooner_ms: Lead of a decode that contains all of the speech over the transcript request; 0 if there was none.
        dips: Number of dips in the speech.
    """

    sooner_ms: float
    dips: int


def dips_in(heard: Heard, levels: Sequence[float]) -> Iterator[int]:
    """Yields the ends of frames where the probability falls below one of the levels and a decode starts."""
    begun = -DECODE_SAMPLES
    for (_, before), (frame, now) in pairwise(heard):
        falls = any(now.probability < level <= before.probability for level in levels)
        if falls and frame.end - begun >= DECODE_SAMPLES:
            begun = frame.end
            yield begun


def asked_at(heard: Heard, end: int) -> tuple[int, int] | None:
    """Returns when the transcript is requested after the speech, and the VAD's end of speech. None: not detected.

    That end is the last point where the probability begins to fall, at most 100 ms before the labelled end.
    """
    found = None
    for (_, before), (frame, now) in pairwise(heard):
        fades = before.speaking and before.possible_end is None and (now.possible_end is not None or not now.speaking)
        if fades and -samples_of_ms(100) < frame.end - end <= LATEST_SAMPLES:
            found = frame.end, now.boundary if now.possible_end is None else now.possible_end
    return found


def ending(heard: Heard, start: int, end: int, levels: Sequence[float]) -> Ending | None:
    """`start` and `end` are the labelled bounds of the speech. Returns None if the VAD found no end of speech there."""
    found = asked_at(heard, end)
    if found is None:
        return None
    asked, dated = found
    dips = [dip for dip in dips_in(heard, levels) if start < dip < asked]
    last = max(dips, default=0)
    whole = last >= max(end, dated - LACKING_EARLY_SAMPLES)
    return Ending(ms_of_samples(asked - last) if whole else 0.0, sum(dip <= end for dip in dips))


def placed(recording: Recording) -> tuple[Pcm, int, int]:
    """Returns the recording within its room noise at 16 kHz, and where the speech begins and ends."""
    room = np.resize(room_of(recording), REPLY_RATE_HZ)
    sound = soxr.resample(np.concatenate([room, recording.pcm, room]), REPLY_RATE_HZ, MIC_RATE_HZ)
    return sound, samples_of_s(1 + recording.start_s), samples_of_s(1 + recording.end_s)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--manifest", type=Path, default=Path(__file__).parent / "clips" / "manifest.jsonl")
    recordings = [one for one in read_recordings(parser.parse_args().manifest) if one.kind != "noise"]
    vad = SileroVad(SileroNetwork())
    heard = [(vad_results(vad, sound), start, end) for sound, start, end in map(placed, recordings)]
    speech_s = sum(s_of_samples(end - start) for _, start, end in heard)
    print("| decode where the probability falls below | whole | sooner by (mean) | decodes a second of speech |")
    print("|---|---|---|---|")
    for levels in LEVELS:
        endings = [found for one in heard if (found := ending(*one, levels)) is not None]
        whole, dips = sum(found.sooner_ms > 0 for found in endings), sum(found.dips for found in endings)
        sooner_ms = sum(found.sooner_ms for found in endings) / max(len(endings), 1)
        name = ", ".join(f"{level:g}" for level in levels)
        print(f"| {name} | {whole} of {len(endings)} | {sooner_ms:.0f} ms | {dips / speech_s:.1f} |")


if __name__ == "__main__":
    main()
