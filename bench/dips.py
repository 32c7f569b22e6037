"""How much sooner a decode may begin where the detector becomes less sure of speech; prints a table of docs/lab/stt.md.

    python -m bench.dips [--manifest FILE]

The manifest is as in bench/recordings.py. Every recording has a second of its own room before and after it.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import soxr

from assistant.pipeline.audio_input import DIPS
from audio.frame import Frame
from audio.stt.whisper.stream import LACKING_EARLY_SAMPLES
from audio.units import MIC_RATE_HZ, REPLY_RATE_HZ, Pcm, ms_of_samples, s_of_samples, samples_of_ms, samples_of_s
from audio.vad import VadResult
from audio.vad.silero import SileroNetwork, SileroVad
from bench.recordings import Recording, read_recordings, room_of
from bench.turn_end_clips import voicings

LEVELS: tuple[tuple[float, ...], ...] = ((0.5,), (0.6,), (0.7,), (0.8,), (0.9,), DIPS)

DECODE_SAMPLES = samples_of_ms(120)
"""What a decode of Whisper's tiny shape takes: none is begun before the last one has ended."""

LATEST_SAMPLES = samples_of_ms(400)
"""Words asked for later than this after the end are about something else."""

Heard = Sequence[tuple[Frame, VadResult]]


@dataclass(frozen=True, slots=True)
class Ending:
    """How a recording ended for one choice of levels.

    Attributes:
        sooner_ms: By how much a decode was begun that has all of the speech, before words were asked for; 0: by none.
        dips: In its speech.
    """

    sooner_ms: float
    dips: int


def dips_in(heard: Heard, levels: Sequence[float]) -> Iterator[int]:
    """Ends of the frames with which the probability falls below one of these, and a decode is begun."""
    begun = -DECODE_SAMPLES
    for (_, before), (frame, now) in pairwise(heard):
        falls = any(now.probability < level <= before.probability for level in levels)
        if falls and frame.end - begun >= DECODE_SAMPLES:
            begun = frame.end
            yield begun


def asked_at(heard: Heard, end: int) -> tuple[int, int] | None:
    """When words are asked for at the end of the speech, and where the detector has that end; None: not heard.

    That is where it begins to fade, 100 ms before the labelled end at the soonest, for the last time.
    """
    found = None
    for (_, before), (frame, now) in pairwise(heard):
        fades = before.speaking and before.possible_end is None and (now.possible_end is not None or not now.speaking)
        if fades and -samples_of_ms(100) < frame.end - end <= LATEST_SAMPLES:
            found = frame.end, now.boundary if now.possible_end is None else now.possible_end
    return found


def ending(heard: Heard, start: int, end: int, levels: Sequence[float]) -> Ending | None:
    """`start` and `end`: of the speech, by the labels; None where the detector heard none at the end."""
    found = asked_at(heard, end)
    if found is None:
        return None
    asked, dated = found
    dips = [dip for dip in dips_in(heard, levels) if start < dip < asked]
    last = max(dips, default=0)
    whole = last >= max(end, dated - LACKING_EARLY_SAMPLES)
    return Ending(ms_of_samples(asked - last) if whole else 0.0, sum(dip <= end for dip in dips))


def placed(recording: Recording) -> tuple[Pcm, int, int]:
    """Its sound at 16 kHz in its room, and where in it the speech begins and ends."""
    room = np.resize(room_of(recording), REPLY_RATE_HZ)
    sound = soxr.resample(np.concatenate([room, recording.pcm, room]), REPLY_RATE_HZ, MIC_RATE_HZ)
    return sound, samples_of_s(1 + recording.start_s), samples_of_s(1 + recording.end_s)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--manifest", type=Path, default=Path(__file__).parent / "clips" / "manifest.jsonl")
    recordings = [one for one in read_recordings(parser.parse_args().manifest) if one.kind != "noise"]
    vad = SileroVad(SileroNetwork())
    heard = [(voicings(vad, sound), start, end) for sound, start, end in map(placed, recordings)]
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
