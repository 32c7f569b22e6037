"""Measures the voice activity detectors on labelled recordings; prints the tables of docs/lab/vad.md.

    python -m bench.vad [--manifest FILE] [--conversations FILE] [--speakers even|odd]

The manifest is JSON Lines: `file` (beside it), `tag` ("speech" or "noise"), and for speech `speech_start_s`,
`speech_end_s`, `internal_pauses`, `speaker`, `kind`; for noise `silero_speech_s` or `contains_voices` if it contains
voices. The conversations are a JSON list of `file`, `snr_db` and `events` with `start_s`, `end_s`.
"""

import argparse
import itertools
import json
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from audio.frame import Frame
from audio.units import FRAME_SAMPLES, MIC_RATE_HZ, Pcm, Samples
from audio.vad import Vad
from audio.vad.cascade.detector import CascadeVad
from audio.vad.silero.detector import SileroVad
from audio.vad.silero.network import SileroNetwork
from audio.vad.webrtc.detector import WebrtcVad
from bench.conversations.recordings import SEVERAL_VOICES, read_pcm

# Many clips start or end within 100 ms of the speech. Noise at their own floor extends them.
PAD_S = 0.6


@dataclass(frozen=True, slots=True)
class Clip:
    """A recording and its labels, in ms from its first sample; spans of speech without longer pauses."""

    id: str
    pcm: Pcm
    turns: tuple[tuple[float, float], ...]
    pauses: tuple[tuple[float, float], ...]
    ends_are_timed: bool
    has_voices: bool


@dataclass(frozen=True, slots=True)
class Stretch:
    """Speech as reported by a detector, in ms: dated onset and end, and when each was reported (frame ends)."""

    onset: float
    end: float
    opened_at: float
    closed_at: float


@dataclass(slots=True)
class Tally:
    """Results of one detector on one set."""

    speech_ms: float = 0
    missed_ms: float = 0
    turns: int = 0
    never: int = 0
    split: int = 0
    clipped_ms: list[float] = field(default_factory=list)
    onset_delay_ms: list[float] = field(default_factory=list)
    end_error_ms: list[float] = field(default_factory=list)
    close_delay_ms: list[float] = field(default_factory=list)
    outside_ms: float = 0
    outside_starts: int = 0
    outside_speech_ms: float = 0
    audio_s: float = 0
    cpu_s: float = 0


def padded(pcm: Pcm, seed: int) -> Pcm:
    """Adds PAD_S of white noise at the clip's floor (5th percentile of 10 ms levels) on both sides."""
    blocks = pcm[: len(pcm) // 160 * 160].reshape(-1, 160).astype(np.float64)
    floor = float(np.percentile(np.sqrt((blocks**2).mean(axis=1)), 5))
    noise = np.random.default_rng(seed).normal(0, floor, (2, int(PAD_S * MIC_RATE_HZ))).round()
    return np.concatenate([noise[0], pcm, noise[1]]).clip(-32_768, 32_767).astype(np.int16)


def clips(manifest: Path, speakers: str) -> Iterator[Clip]:
    """Yields the single-voice speech and the noise of a manifest."""
    for line in manifest.read_text().splitlines():
        row = json.loads(line)
        if row["tag"] == "noise":
            voices = bool(row.get("contains_voices") or row.get("silero_speech_s"))
            yield Clip(row["id"], read_pcm(manifest.parent / row["file"]), (), (), False, voices)
        if row["tag"] != "speech" or row["kind"] in SEVERAL_VOICES or "+" in row["speaker"]:
            continue
        half = zlib.crc32(row["speaker"].encode()) % 2
        if speakers != "all" and half != (speakers == "odd"):
            continue
        pcm = padded(read_pcm(manifest.parent / row["file"]), zlib.crc32(row["id"].encode()))
        turn = ((row["speech_start_s"] + PAD_S) * 1000, (row["speech_end_s"] + PAD_S) * 1000)
        pauses = tuple(((a + PAD_S) * 1000, (b + PAD_S) * 1000) for a, b in row["internal_pauses"])
        yield Clip(row["id"], pcm, (turn,), pauses, not row.get("cut_at_end", False), False)


def conversations(path: Path) -> dict[str, list[Clip]]:
    """Returns conversations by their signal-to-noise ratio. Files are relative to the parent of the list's folder."""
    sets: dict[str, list[Clip]] = {}
    for row in json.loads(path.read_text()):
        turns = tuple((event["start_s"] * 1000, event["end_s"] * 1000) for event in row["events"])
        pauses = tuple((a * 1000, b * 1000) for event in row["events"] for a, b in event["internal_pauses"])
        name = "clean" if row["snr_db"] is None else f"{row['snr_db']} dB"
        pcm = read_pcm(path.parent.parent / row["file"])
        sets.setdefault(name, []).append(Clip(row["file"], pcm, turns, pauses, True, False))
    return sets


def listen(vad: Vad, pcm: Pcm) -> tuple[list[Stretch], float]:
    """Returns the detector's reports and its CPU time in seconds."""
    stretches: list[Stretch] = []
    onset_ms = opened_ms = 0.0
    speaking = False
    began_s = time.process_time()
    for start in range(0, len(pcm) - FRAME_SAMPLES + 1, FRAME_SAMPLES):
        frame = Frame(Samples(start), pcm[start : start + FRAME_SAMPLES])
        vad_result = vad.process(frame)
        if vad_result.speaking != speaking:
            speaking = vad_result.speaking
            edge_ms, now_ms = vad_result.boundary * 1000 / MIC_RATE_HZ, frame.end * 1000 / MIC_RATE_HZ
            if speaking:
                onset_ms, opened_ms = edge_ms, now_ms
            else:
                stretches.append(Stretch(onset_ms, edge_ms, opened_ms, now_ms))
    cpu_s = time.process_time() - began_s
    if speaking:
        end_ms = len(pcm) * 1000 / MIC_RATE_HZ
        stretches.append(Stretch(onset_ms, end_ms, opened_ms, end_ms))
    return stretches, cpu_s


def frames_in(spans: Sequence[tuple[float, float]], count: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Returns which of `count` 5 ms steps lie inside the spans (ms)."""
    inside = np.zeros(count, dtype=np.bool_)
    for begin, end in spans:
        inside[round(begin / 5) : round(end / 5)] = True
    return inside


def judge(clip: Clip, stretches: Sequence[Stretch], tally: Tally) -> None:
    """Compares the reports with the labels."""
    count = len(clip.pcm) // (MIC_RATE_HZ // 200)
    reported = frames_in([(s.onset, s.end) for s in stretches], count)
    speech = frames_in(clip.turns, count) & ~frames_in(clip.pauses, count)
    tally.audio_s += len(clip.pcm) / MIC_RATE_HZ
    tally.speech_ms += 5 * float(speech.sum())
    tally.missed_ms += 5 * float((speech & ~reported).sum())
    # 200 ms around a turn are ignored: breaths, lip sounds and reverberation are neither speech nor noise.
    outside = ~frames_in([(begin - 200, end + 200) for begin, end in clip.turns], count)
    tally.outside_ms += 5 * float(outside.sum())
    tally.outside_speech_ms += 5 * float((outside & reported).sum())
    tally.outside_starts += sum(bool(outside[min(int(s.onset / 5), count - 1)]) for s in stretches)
    for turn in clip.turns:
        judge_turn(clip, turn, [s for s in stretches if s.onset < turn[1] and s.end > turn[0]], tally)


def judge_turn(clip: Clip, turn: tuple[float, float], heard: Sequence[Stretch], tally: Tally) -> None:
    """Compares the reports that overlap one turn with it."""
    begin, end = turn
    tally.turns += 1
    if not heard:
        tally.never += 1
        return
    tally.clipped_ms.append(max(heard[0].onset - begin, 0))
    tally.onset_delay_ms.append(heard[0].opened_at - begin)
    if clip.ends_are_timed:
        tally.end_error_ms.append(heard[-1].end - end)
        tally.close_delay_ms.append(heard[-1].closed_at - end)
    for before, after in itertools.pairwise(heard):
        middle = (before.end + after.onset) / 2
        tally.split += not any(a - 50 <= middle <= b + 50 for a, b in clip.pauses)


def measure(make: Callable[[], Vad], chosen: Sequence[Clip]) -> Tally:
    """Runs one detector on one set, with a new conversation per clip."""
    tally = Tally()
    vad = make()
    for clip in chosen:
        vad.reset()
        stretches, cpu_s = listen(vad, clip.pcm)
        tally.cpu_s += cpu_s
        judge(clip, stretches, tally)
    return tally


def percentiles(values: Sequence[float], which: Sequence[float]) -> str:
    """Formats percentiles as "a / b / c" in whole ms."""
    return " / ".join(f"{value:.0f}" for value in np.percentile(values, which)) if values else "—"


def speech_row(name: str, tally: Tally) -> str:
    """Returns one line of the table about speech."""
    return (
        f"| {name} | {100 * tally.missed_ms / max(tally.speech_ms, 1):.1f} % | {tally.never} of {tally.turns} "
        f"| {percentiles(tally.clipped_ms, (50, 95, 100))} | {percentiles(tally.onset_delay_ms, (50, 95))} "
        f"| {percentiles(tally.end_error_ms, (5, 50, 95))} | {percentiles(tally.close_delay_ms, (50, 95))} "
        f"| {tally.split / max(tally.turns, 1):.2f} "
        f"| {60_000 * tally.outside_starts / max(tally.outside_ms, 1):.1f} "
        f"| {1000 * tally.cpu_s / max(tally.audio_s, 1e-9):.1f} |"
    )


SPEECH_HEAD = (
    "| engine | missed | never heard | onset clipped p50/95/max ms | opens after p50/95 ms | end error p5/50/95 ms "
    "| closes after p50/95 ms | false splits per turn | starts per min outside turns | CPU ms per s |\n"
    + "|---" * 10
    + "|"
)
NOISE_HEAD = "| engine | noise | false starts per min | false speech s per min | CPU ms per s |\n" + "|---" * 5 + "|"


def noise_row(name: str, kind: str, tally: Tally) -> str:
    """Returns one line of the table about noise."""
    minutes = max(tally.outside_ms / 60_000, 1e-9)
    return (
        f"| {name} | {kind} | {tally.outside_starts / minutes:.1f} | {tally.outside_speech_ms / 1000 / minutes:.1f} "
        f"| {1000 * tally.cpu_s / max(tally.audio_s, 1e-9):.1f} |"
    )


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description="Compares voice activity detectors on labelled recordings.")
    parser.add_argument("--manifest", type=Path, default=Path("tests/recordings/manifest.jsonl"))
    parser.add_argument("--conversations", type=Path, help="file with a JSON list of noisy conversations")
    parser.add_argument(
        "--speakers", choices=("all", "even", "odd"), default="all", help="all speakers, or half of them by hash"
    )
    options = parser.parse_args()
    network = SileroNetwork()
    engines: dict[str, Callable[[], Vad]] = {
        "webrtc": WebrtcVad,
        "silero": lambda: SileroVad(network),
        "cascade": lambda: CascadeVad(network),
    }
    chosen = list(clips(options.manifest, options.speakers))
    speech = [clip for clip in chosen if clip.turns]
    print(f"Speech: {len(speech)} clips\n\n{SPEECH_HEAD}")
    for name, make in engines.items():
        print(speech_row(name, measure(make, speech)))
    print(f"\nNoise\n\n{NOISE_HEAD}")
    for has_voices, kind in ((False, "without voices"), (True, "with voices in it")):
        noise = [clip for clip in chosen if not clip.turns and clip.has_voices == has_voices]
        for name, make in engines.items() if noise else ():
            print(noise_row(name, f"{kind} ({len(noise)})", measure(make, noise)))
    for title, some in conversations(options.conversations).items() if options.conversations else ():
        print(f"\nConversations, {title}: {len(some)} files\n\n{SPEECH_HEAD}")
        for name, make in engines.items():
            print(speech_row(name, measure(make, some)))


if __name__ == "__main__":
    main()
