"""The recordings of `repartee bench engines` without a manifest: five requests, free and read speech, and noise.

The requests are measured in real time. The others, of several speakers, only count word errors and are fed faster
than real time: once as they are, and once with real noise (a fireplace, a room) `SNR_DB` below the voice. The noise is
mixed here, in the same way each time.
"""

import json
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

from assistant.commands.engine_bench.clips import Label, Noise, read_labels

CONVERSATION = "recordings/conversation"
MANIFEST = "recordings/engines.jsonl"

SNR_DB = 10.0
"""Level of the voice above the noise in dB, both as root mean square, during the labelled speech."""

NOISES = ("tests/recordings/blanket_fireplace.wav", "tests/recordings/koala_noise.wav")
"""Recordings of noise; the recordings of speech use them alternately."""


def labels_of(manifest: Path | None) -> list[Label]:
    """Returns the labels of a manifest; None: of the default set. Raises AudioFileError."""
    return list(default_labels()) if manifest is None else read_labels(manifest)


def default_labels() -> Iterator[Label]:
    """Yields the labels. Raises OSError if the installation is incomplete."""
    package = Path(str(files("assistant")))
    turns = json.loads((package / f"{CONVERSATION}.json").read_text(encoding="utf-8"))
    for number, turn in enumerate(turns, start=1):
        yield Label(f"turn {number}", package / f"{CONVERSATION}.wav", turn["start_s"], turn["end_s"], turn["words"])
    lines = (package / MANIFEST).read_text(encoding="utf-8").splitlines()
    speech = [json.loads(line) for line in lines if line.strip()]
    for noisy in (False, True):
        for place, one in enumerate(speech):
            noise = Noise(recording(package, NOISES[place % len(NOISES)]), SNR_DB) if noisy else None
            yield Label(
                f"{one['id']}{', in noise' * noisy}",
                recording(package, one["file"]),
                one["speech_start_s"],
                one["speech_end_s"],
                one["transcript"],
                noise,
                timed=False,
            )


def recording(package: Path, name: str) -> Path:
    """Returns the path of a recording: in an installed package, or among the tests' in a checkout."""
    installed = package / "recordings" / "engines" / Path(name).name
    return installed if installed.exists() else package.parent / name
