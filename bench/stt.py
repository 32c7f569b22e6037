"""Measures pocketsphinx on recordings: word errors, exact commands, transcript latency, processor time.

    python -m bench.stt [--manifest FILE] [--after MS | --whole] [--snr DB] [--pace TIMES] [--commands FILE]

Each clip is one segment as a VAD would cut it: from 300 ms before its labelled first sample of speech to 130 ms
(`--after`) after the last, in 20 ms frames in real time. The transcript is requested after the last frame. `--whole`
uses the complete recording, as in file transcription.
"""

import argparse
import asyncio
import json
import os
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict, cast

import numpy as np

from assistant.commands.engine_bench.words import plain_words, word_errors
from assistant.skills.skills import understood_sentences
from audio.stt import SegmentId, Transcript
from audio.stt.pocketsphinx import PocketsphinxRecognizer
from audio.units import FRAME_MS, FRAME_SAMPLES, Pcm, s_of_samples, samples_of_ms, samples_of_s
from bench.recordings import read_pcm

_BEFORE_MS = 300
_MAX_S = 12.0


class Clip(TypedDict, total=False):
    """The used fields of a manifest line."""

    file: str
    tag: str
    transcript: str
    speech_start_s: float
    speech_end_s: float


@dataclass
class Tally:
    """One row of the table."""

    clips: int = 0
    exact: int = 0
    said: int = 0
    errors: int = 0
    taken: int = 0
    with_words: int = 0
    wait_ms: list[float] = field(default_factory=list)

    def row(self, name: str) -> str:
        wer = f"{self.errors / self.said:.2f}" if self.said else "-"
        p50, p95 = np.percentile(self.wait_ms, [50, 95])
        cells = (name, self.clips, wer, self.exact, self.taken, self.with_words, f"{p50:.0f} / {p95:.0f}")
        return "| " + " | ".join(str(cell) for cell in cells) + " |"


def with_noise(pcm: Pcm, noise: Pcm, snr_db: float) -> Pcm:
    """Adds noise to the clip at this ratio of mean powers."""
    sound, added = pcm.astype(np.float64), np.resize(noise, len(pcm)).astype(np.float64)
    gain = np.sqrt(np.mean(sound**2) / np.mean(added**2) / 10 ** (snr_db / 10))
    mixed: Pcm = np.clip(sound + gain * added, -32768, 32767).astype(np.int16)
    return mixed


def segment_of(clip: Clip, pcm: Pcm, after_ms: float) -> Pcm:
    """Returns the clip's speech with a margin; for noise, the first two seconds."""
    if "speech_end_s" not in clip:
        return pcm[: samples_of_s(2.0)]
    start = max(0, samples_of_s(clip["speech_start_s"]) - samples_of_ms(_BEFORE_MS))
    end = samples_of_s(clip["speech_end_s"]) + samples_of_ms(after_ms)
    return pcm[start : min(end, start + samples_of_s(_MAX_S))]


def processor_s(pid: int) -> float:
    """Returns the processor time of a process in seconds (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mb(pid: int) -> float:
    """Returns the memory of a process in megabytes (Linux)."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


async def hear(transcriber: PocketsphinxRecognizer, pcm: Pcm, pace: float) -> tuple[Transcript, float]:
    """Transcribes one segment. Returns the words and the time after the last frame, in ms."""
    hearing = transcriber.open(SegmentId(0), lambda _words: None)
    due = time.perf_counter()
    for at in range(0, len(pcm), FRAME_SAMPLES):
        due += FRAME_MS / 1000 / pace
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        hearing.feed(pcm[at : at + FRAME_SAMPLES])
    asked = time.perf_counter()
    async with asyncio.timeout(10):
        words = await hearing.transcript()
    wait_ms = (time.perf_counter() - asked) * 1000
    hearing.close()
    return words, wait_ms


def count(tally: Tally, clip: Clip, words: Transcript, wait_ms: float) -> None:
    """Adds a clip to its row."""
    tally.clips += 1
    tally.wait_ms.append(wait_ms)
    tally.with_words += bool(words.text)
    tally.taken += bool(words.text) and not words.low_confidence
    transcript = clip.get("transcript", "")
    found = word_errors([(transcript, words.text)] if transcript else [], "en")
    tally.said += found.said
    tally.errors += found.errors
    tally.exact += found.said > 0 and found.errors == 0


async def measure(clips: list[Clip], options: argparse.Namespace, commands: tuple[str, ...]) -> None:
    """Prints the table."""
    folder: Path = options.manifest.parent
    snr_db: float | None = options.snr
    noise = next((read_pcm(folder / clip["file"]) for clip in clips if clip["tag"] == "noise"), None)
    if snr_db is not None and noise is None:
        raise SystemExit("--snr needs a clip with the tag noise in the manifest")
    known, transcriber = set(commands), PocketsphinxRecognizer(commands)
    began = time.perf_counter()
    await transcriber.load()
    print(f"{transcriber.detail}\nloaded in {time.perf_counter() - began:.1f} s, {resident_mb(transcriber.pid):.0f} MB")
    tallies: dict[str, Tally] = defaultdict(Tally)
    used_s, heard_s = processor_s(transcriber.pid), 0.0
    for clip in clips:
        if clip["tag"] not in {"speech", "noise"}:
            continue
        pcm = read_pcm(folder / clip["file"])
        if not options.whole:
            pcm = segment_of(clip, pcm, options.after)
        if snr_db is not None and noise is not None and clip["tag"] == "speech":
            pcm = with_noise(pcm, noise, snr_db)
        words, wait_ms = await hear(transcriber, pcm, options.pace)
        said = " ".join(plain_words(clip.get("transcript", ""), "en"))
        name = "command" if said in known else "other speech"
        count(tallies["noise" if clip["tag"] == "noise" else name], clip, words, wait_ms)
        heard_s += s_of_samples(len(pcm))
    used_s = processor_s(transcriber.pid) - used_s
    await transcriber.aclose()
    print("\n| | clips | WER | exact | taken as command | with words | ms to the words p50 / p95 |")
    print("|---|---|---|---|---|---|---|")
    for name, tally in sorted(tallies.items()):
        print(tally.row(name))
    print(f"\n{used_s / heard_s:.2f} s of processor time per second of sound ({heard_s:.0f} s)")


def main() -> None:
    """Measures."""
    parser = argparse.ArgumentParser(description="Measures word errors and times of pocketsphinx on recordings.")
    parser.add_argument("--manifest", type=Path, default=Path("tests/recordings/manifest.jsonl"))
    asked = parser.add_mutually_exclusive_group()
    asked.add_argument("--after", type=float, default=130.0, help="ms from the end of speech to the transcript request")
    asked.add_argument("--whole", action="store_true", help="use the whole recording, not only its speech")
    parser.add_argument("--snr", type=float, help="mix in the manifest's first noise clip at this ratio, in dB")
    parser.add_argument("--pace", type=float, default=1.0, help="speed as a multiple of real time")
    parser.add_argument(
        "--commands", type=Path, help="file of sentences, one a line; default: what the skills understand"
    )
    args = parser.parse_args()
    commands = tuple(args.commands.read_text().splitlines()) if args.commands else understood_sentences()
    lines = args.manifest.read_text().splitlines()
    clips = [cast("Clip", json.loads(line)) for line in lines if line]
    asyncio.run(measure(clips, args, commands))


if __name__ == "__main__":
    main()
