"""Reads recordings with speakers, and mixes them."""

import json
import zlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import soundfile

from audio.units import MIC_RATE_HZ, Pcm

Use = Literal["train", "judge"]

SOURCES = ("wake-up-word/wuw-corpus-ii", "Sakshee5/alphanumeric-audio-dataset")
"""Repositories with several recordings of each speaker: telephone calls, and dictation."""

MIN_SPEECH_S = 1.2
MAX_SPEECH = 4 * MIC_RATE_HZ
"""Samples of a recording that are used: its first phrases."""

LEVEL = 1200.0
"""Root mean square of the speech of every recording, in steps of int16."""


@dataclass(frozen=True, slots=True)
class Clip:
    """A recording of one speaker.

    Attributes:
        speaker: Who speaks.
        call: The call, or the recording itself.
        band: "telephone" or "wideband".
        pcm: From 0.2 s before to 0.2 s after the speech, at `LEVEL`.
        speech: Only the speech.
    """

    speaker: str
    call: str
    band: str
    pcm: Pcm
    speech: Pcm


def read_clips(field: Path, use: Use, most: int) -> Mapping[str, list[Clip]]:
    """Returns at most so many recordings of each speaker with two or more, in random order that never changes."""
    clips: dict[str, list[Clip]] = defaultdict(list)
    rows = [json.loads(line) for line in (field / "manifest.jsonl").read_text(encoding="utf-8").splitlines()]
    rows = [row for row in rows if row["use"] == use and row["source_repo"] in SOURCES and row["kind"] == "command"]
    for row in sorted(rows, key=lambda row: zlib.crc32(row["id"].encode())):
        spans, known = row["speech"], clips[row["speaker"]]
        if len(known) < most and sum(end - begin for begin, end in spans) >= MIN_SPEECH_S:
            known.append(_clip(field, row))
    return {speaker: found for speaker, found in clips.items() if len(found) > 1}


def _clip(field: Path, row: Mapping[str, Any]) -> Clip:
    sound, _ = soundfile.read(field / row["file"], dtype="int16")
    spans = [(int(float(b) * MIC_RATE_HZ), int(float(e) * MIC_RATE_HZ)) for b, e in row["speech"]]
    spans = [span for span in spans if span[1] - spans[0][0] <= MAX_SPEECH] or [(spans[0][0], spans[0][0] + MAX_SPEECH)]
    margin = MIC_RATE_HZ // 5
    whole = sound[max(0, spans[0][0] - margin) : spans[-1][1] + margin]
    speech = np.concatenate([sound[begin:end] for begin, end in spans])
    gain = LEVEL / max(rms(speech), 1.0)
    band = "telephone" if row["source_repo"] == SOURCES[0] else "wideband"
    return Clip(row["speaker"], row.get("conversation") or row["id"], band, scaled(whole, gain), scaled(speech, gain))


def rms(pcm: Pcm) -> float:
    """Returns the root mean square."""
    return float(np.sqrt(np.mean(np.square(pcm.astype(np.float64))))) if len(pcm) else 0.0


def scaled(pcm: Pcm, gain: float) -> Pcm:
    """Returns louder or softer sound."""
    louder: Pcm = np.clip(pcm * gain, -32768, 32767).astype(np.int16)
    return louder


def at_db(pcm: Pcm, level_db: float) -> Pcm:
    """Returns sound at a level relative to its own."""
    return scaled(pcm, 10 ** (level_db / 20))


def mixed(one: Pcm, other: Pcm, offset: int = 0) -> Pcm:
    """Returns the sum of two sounds, the second from an offset on."""
    total = np.zeros(max(len(one), offset + len(other)), np.float64)
    total[: len(one)] += one
    total[offset : offset + len(other)] += other
    return np.clip(total, -32768, 32767).astype(np.int16)


def joined(pieces: Sequence[Pcm], gap_s: float) -> Pcm:
    """Returns sounds one after another with silence between them."""
    gap = np.zeros(int(gap_s * MIC_RATE_HZ), np.int16)
    return np.concatenate([part for piece in pieces for part in (piece, gap)])


def room_noise(samples: int, seed: int, level: float = 6.0) -> Pcm:
    """Returns soft noise."""
    return np.random.default_rng(seed).normal(0, level, samples).astype(np.int16)
