"""Measures the detectors on wide-band and telephone speech; prints the telephone tables of docs/lab/vad.md.

    python -m bench.sound.vad_telephone [--manifest FILE] [--field DIR] [--use judge|train] [--engines NAME ...]
        [--limit N]

The manifest is that of `bench.vad`. The field is a folder with `manifest.jsonl`: `file`, `kind`, `use`, `transcript`,
`speech_start_s`, `speech_end_s`, `human_end_s` if a person dated the end of the last word, `cut_at_end`.
Recordings that were not made by telephone are measured at full band and over simulated lines (`telephone_line.py`).

References, none of which is a detector:

- *loud voiced*: stretches that are loud and have a pitch (`loud_voice.py`), found in the recording before the line.
- *words*: a recording with a transcript. It is never heard if no stretch is reported.
- *marked word*: the last word of a recording whose end a person dated. It is missed if nothing is reported in the
  300 ms before that end.
- *end*: the end dated by a person, or the label of the manifest.
"""

import argparse
import json
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from audio.units import MIC_RATE_HZ, Pcm
from audio.vad import Vad
from audio.vad.cascade.detector import CascadeVad
from audio.vad.silero.detector import SileroVad
from audio.vad.silero.network import SileroNetwork
from audio.vad.webrtc.detector import WebrtcVad
from bench.conversations.recordings import SEVERAL_VOICES, read_pcm
from bench.sound.loud_voice import HOP_MS, Bools, kept, loud_voiced
from bench.sound.telephone_line import LINES, landline
from bench.vad import PAD_S, Stretch, listen, padded, percentiles

LONG_GAP_MS = 300
"""Loud voice within a silence of this length is lost speech; within a shorter one it only looks like a pause."""

WORD_REACH_MS = 300
"""Time before the dated end of a word at which speech must be reported."""

TELEPHONE = "(telephone)"
TELEPHONE_SOURCES = ("wuw-corpus-ii", "amazon-transcribe")
ONE_VOICE = ("command", "command (single word)", "monologue", "dialog channel")


@dataclass(frozen=True, slots=True)
class Recording:
    """A recording of one voice (or of none), padded; times in ms from its first sample.

    Attributes:
        group: The row of the table.
        pcm: The audio, 16 kHz.
        loud: Loud voiced hops, before the line.
        start_ms: Labelled beginning; None if unknown.
        end_ms: Labelled end; None if unknown or the recording is cut there.
        word_end_ms: End of the last word as a person dated it.
        has_words: Somebody says words in it.
    """

    group: str
    pcm: Pcm
    loud: Bools
    start_ms: float | None = None
    end_ms: float | None = None
    word_end_ms: float | None = None
    has_words: bool = False


@dataclass(slots=True)
class Tally:
    """Results of one detector on one group."""

    recordings: int = 0
    audio_s: float = 0.0
    cpu_s: float = 0.0
    loud_ms: float = 0.0
    missed_ms: float = 0.0
    lost_ms: float = 0.0
    with_words: int = 0
    never: int = 0
    words: int = 0
    words_missed: int = 0
    starts: int = 0
    opens_ms: list[float] = field(default_factory=list)
    end_error_ms: list[float] = field(default_factory=list)
    closes_ms: list[float] = field(default_factory=list)

    def add_recording(self, recording: Recording, stretches: Sequence[Stretch], cpu_s: float) -> None:
        """Compares the reports with the references."""
        self.recordings += 1
        self.audio_s += len(recording.pcm) / MIC_RATE_HZ
        self.cpu_s += cpu_s
        self.starts += len(stretches)
        reported = np.zeros(len(recording.loud), dtype=np.bool_)
        for stretch in stretches:
            reported[round(stretch.onset / HOP_MS) : round(stretch.end / HOP_MS)] = True
        self.loud_ms += HOP_MS * float(recording.loud.sum())
        self.missed_ms += HOP_MS * float((recording.loud & ~reported).sum())
        self.lost_ms += HOP_MS * float((recording.loud & kept(~reported, int(LONG_GAP_MS / HOP_MS))).sum())
        self.with_words += recording.has_words
        self.never += recording.has_words and not stretches
        if recording.word_end_ms is not None:
            self.words += 1
            first, last = recording.word_end_ms - WORD_REACH_MS, recording.word_end_ms
            self.words_missed += not any(s.onset < last and s.end > first for s in stretches)
        self._add_dates(recording, stretches)

    def _add_dates(self, recording: Recording, stretches: Sequence[Stretch]) -> None:
        end_ms = recording.end_ms if recording.word_end_ms is None else recording.word_end_ms
        first = [s for s in stretches if recording.start_ms is not None and s.end > recording.start_ms]
        if first and recording.start_ms is not None:
            self.opens_ms.append(first[0].opened_at - recording.start_ms)
        last = [s for s in stretches if end_ms is not None and s.onset < end_ms]
        if last and end_ms is not None:
            self.end_error_ms.append(last[-1].end - end_ms)
            self.closes_ms.append(last[-1].closed_at - end_ms)


Found = list[tuple[str, Callable[[], Recording]]]
"""Recordings as pairs of a group and a function that reads one."""


def labelled(manifest: Path) -> Found:
    """Finds the speech of one voice and the noise of a manifest of `bench.vad`."""
    recordings: Found = []
    for line in manifest.read_text().splitlines():
        row = json.loads(line)
        if row["tag"] == "noise":
            voices = bool(row.get("contains_voices") or row.get("silero_speech_s"))
            group = "noise with voices" if voices else "noise"
            recordings.append((group, partial(_wordless, group, manifest.parent / row["file"])))
        elif row["tag"] == "speech" and row["kind"] not in SEVERAL_VOICES and "+" not in row["speaker"]:
            recordings.append(("labelled by eye", partial(_spoken, "labelled by eye", row, manifest.parent)))
    return recordings


def field_recordings(folder: Path, use: str) -> Found:
    """Finds the recordings of one voice in the field."""
    recordings: Found = []
    for line in (folder / "manifest.jsonl").read_text().splitlines():
        row = json.loads(line)
        if row["use"] != use:
            continue
        source = row["source_repo"].split("/")[1]
        if row["kind"] == "vocal burst":
            recordings.append(("vocal bursts", partial(_wordless, "vocal bursts", folder / row["file"])))
        elif row["kind"] in ONE_VOICE:
            telephone = any(name in source for name in TELEPHONE_SOURCES)
            group = f"{source} {TELEPHONE}" if telephone else source
            recordings.append((group, partial(_spoken, group, row, folder)))
    return recordings


def _wordless(group: str, path: Path) -> Recording:
    pcm = read_pcm(path)
    return Recording(group, pcm, np.zeros(int(len(pcm) / MIC_RATE_HZ * 1000 / HOP_MS), dtype=np.bool_))


def _spoken(group: str, row: dict[str, Any], folder: Path) -> Recording:
    pcm = padded(read_pcm(folder / row["file"]), zlib.crc32(row["id"].encode()))
    if TELEPHONE in group:  # noise at full band does not come over a telephone
        pad = int(PAD_S * MIC_RATE_HZ)
        pcm[:pad], pcm[-pad:] = landline(pcm[:pad]), landline(pcm[-pad:])

    def in_ms(name: str) -> float | None:
        return None if row.get(name) is None else (row[name] + PAD_S) * 1000

    return Recording(
        group=group,
        pcm=pcm,
        loud=loud_voiced(pcm),
        start_ms=in_ms("speech_start_s"),
        end_ms=None if row.get("cut_at_end") else in_ms("speech_end_s"),
        word_end_ms=in_ms("human_end_s"),
        has_words=bool(row.get("transcript") or row.get("prompt_value"))
        or "speech" in row
        or row.get("tag") == "speech",
    )


HEAD = (
    "| line | recordings | engine | n | loud voiced s | missed | lost | never heard | marked words missed "
    "| opens after p50/95 ms | end error p5/50/95 ms | closes after p50/95 ms | CPU ms per s |\n" + "|---" * 13 + "|"
)
NOISE_HEAD = "| line | noise | engine | n | minutes | starts per min | starts |\n" + "|---" * 7 + "|"


def speech_row(line: str, group: str, engine: str, tally: Tally) -> str:
    """Returns one line of the table about speech."""
    loud_ms = max(tally.loud_ms, 1)
    return (
        f"| {line} | {group} | {engine} | {tally.recordings} | {tally.loud_ms / 1000:.0f} "
        f"| {100 * tally.missed_ms / loud_ms:.1f} % | {100 * tally.lost_ms / loud_ms:.1f} % "
        f"| {tally.never} of {tally.with_words} | {f'{tally.words_missed} of {tally.words}' if tally.words else '—'} "
        f"| {percentiles(tally.opens_ms, (50, 95))} | {percentiles(tally.end_error_ms, (5, 50, 95))} "
        f"| {percentiles(tally.closes_ms, (50, 95))} | {1000 * tally.cpu_s / max(tally.audio_s, 1e-9):.1f} |"
    )


def noise_row(line: str, group: str, engine: str, tally: Tally) -> str:
    """Returns one line of the table about sound that is no speech."""
    minutes = max(tally.audio_s / 60, 1e-9)
    return (
        f"| {line} | {group} | {engine} | {tally.recordings} | {minutes:.1f} | {tally.starts / minutes:.1f} "
        f"| {tally.starts} |"
    )


def lines_of(group: str) -> list[str]:
    """Returns the lines over which a group is measured: a telephone recording passed one already."""
    return [name for name in LINES if name.startswith("wide band")] if TELEPHONE in group else list(LINES)


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description="Compares detectors on wide-band and telephone speech.")
    parser.add_argument("--manifest", type=Path, default=Path("tests/recordings/manifest.jsonl"))
    parser.add_argument("--field", type=Path, help="folder with a manifest.jsonl of speech from the field")
    parser.add_argument("--use", choices=("judge", "train"), default="judge", help="which recordings of the field")
    parser.add_argument("--engines", nargs="+", help="names of detectors; by default all")
    parser.add_argument("--limit", type=int, help="at most this many recordings of each group, evenly spaced")
    parser.add_argument("--lines", nargs="+", choices=LINES, default=list(LINES), help="lines to measure")
    options = parser.parse_args()
    network = SileroNetwork()
    engines: dict[str, Callable[[], Vad]] = {
        "webrtc": WebrtcVad,
        "silero": lambda: SileroVad(network),
        "cascade": lambda: CascadeVad(network),
    }
    recordings = labelled(options.manifest)
    if options.field is not None:
        recordings += field_recordings(options.field, options.use)
    groups: dict[str, list[Callable[[], Recording]]] = {}
    for group, read in recordings:
        groups.setdefault(group, []).append(read)
    rows: dict[str, list[str]] = {"speech": [HEAD], "noise": [NOISE_HEAD]}
    for group, readers in sorted(groups.items()):
        count = min(options.limit or len(readers), len(readers))
        chosen = [readers[place * len(readers) // count]() for place in range(count)]
        for line in (line for line in lines_of(group) if line in options.lines):
            heard = [LINES[line](recording.pcm) for recording in chosen]
            for name in options.engines or engines:
                tally = measured(engines[name](), chosen, heard)
                if any(recording.loud.any() for recording in chosen):
                    rows["speech"].append(speech_row(line, group, name, tally))
                else:
                    rows["noise"].append(noise_row(line, group, name, tally))
    print("\n\n".join("\n".join(table) for table in rows.values()))


def measured(vad: Vad, recordings: Sequence[Recording], heard: Sequence[Pcm]) -> Tally:
    """Runs one detector on recordings as they arrive, with a new conversation for each."""
    tally = Tally()
    for recording, pcm in zip(recordings, heard, strict=True):
        vad.reset()
        tally.add_recording(recording, *listen(vad, pcm))
    return tally


if __name__ == "__main__":
    main()
